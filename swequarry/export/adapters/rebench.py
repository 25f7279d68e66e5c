"""Rows with the columns of SWE-rebench V2, as JSONL and parquet, with a card.

```
README.md                  the card; one config, `default`
data/tasks.jsonl, .parquet the same rows: test lists are lists, `install_config` and `meta` are structs
records/, manifest.json    as in every dataset of ours
```
`pr_description` and a model's judgements in `meta` are null: nothing here measures them. That project's own
evaluator works in a folder named as the repository, our images have /testbed: `install_config.test_cmd` says
where it runs.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from swequarry.config import ExportSettings
from swequarry.errors import InputError
from swequarry.export.arrow import json_lines, parquet
from swequarry.export.card import table_cell
from swequarry.export.columns import read_test_list
from swequarry.export.folder import replaced_folder
from swequarry.export.interface import (
    NOTHING_AROUND,
    ExportedFile,
    Exporter,
    GetBlob,
    PublicTask,
    Surroundings,
)
from swequarry.export.manifest import write_manifest
from swequarry.export.parsers import PYTEST_PARSER, drop_reason
from swequarry.export.rows import Row
from swequarry.export.selection import write_records
from swequarry.export.swebench import select
from swequarry.records import Task, TestId

JSON_LINES, PARQUET = "data/tasks.jsonl", "data/tasks.parquet"
_TEXT, _TEXTS = pa.string(), pa.list_(pa.string())
_PARSERS = {PYTEST_PARSER: "parse_log_pytest"}
"""Names of our parsers in SWE-rebench V2; the others have none there."""
_SCHEMA = pa.schema(
    {
        "instance_id": _TEXT,
        "repo": _TEXT,
        "base_commit": _TEXT,
        "patch": _TEXT,
        "test_patch": _TEXT,
        "problem_statement": _TEXT,
        "pr_description": _TEXT,
        "created_at": _TEXT,
        "image_name": _TEXT,
        "language": _TEXT,
        "interface": _TEXT,
        "license": _TEXT,
        "FAIL_TO_PASS": _TEXTS,
        "PASS_TO_PASS": _TEXTS,
        "install_config": pa.struct(
            [("base_image_name", _TEXT), ("install", _TEXTS), ("log_parser", _TEXT), ("test_cmd", _TEXTS)]
        ),
        "meta": pa.struct(
            [
                ("content_sha256", _TEXT),
                ("environment_id", _TEXT),
                ("python_version", _TEXT),
                ("llm_metadata", _TEXT),
            ]
        ),
    }
)


def _columns(row: Row) -> dict[str, Any]:
    where = "cd /testbed && export PATH=/opt/swequarry/env/bin:$PATH"
    command = f"{row.test_cmd} -rA --color=no {shlex.join(row.test_files)}"
    pytest = row.test_framework == "pytest"
    return {
        "instance_id": row.instance_id,
        "repo": row.repo,
        "base_commit": row.base_commit,
        "patch": row.patch,
        "test_patch": row.test_patch,
        "problem_statement": row.problem_statement,
        "pr_description": None,
        "created_at": row.created_at,
        "image_name": row.image,
        "language": row.language,
        "interface": row.interface,
        "license": row.license_spdx,
        "FAIL_TO_PASS": list(row.fail_to_pass),
        "PASS_TO_PASS": list(row.pass_to_pass),
        "install_config": {
            "base_image_name": None,
            "install": [],
            "log_parser": _PARSERS.get(row.log_parser),
            "test_cmd": [f"{where} && {command}"] if pytest else [],
        },
        "meta": {
            "content_sha256": row.content_sha256,
            "environment_id": row.environment_id,
            "python_version": row.python_version,
            "llm_metadata": None,
        },
    }


def _card(name: str, count: int) -> str:
    front = {
        "pretty_name": name,
        "license": "other",
        "license_name": "per-row",
        "configs": [
            {"config_name": "default", "data_files": [{"split": "train", "path": PARQUET}], "default": True}
        ],
    }
    return (
        f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True)}---\n\n# {table_cell(name)}\n\n"
        f"{count} tasks with the columns of SWE-rebench V2. The licence of each row is in `license`.\n"
    )


@dataclass(frozen=True, slots=True)
class RebenchExporter:
    """The format described at the top of this module."""

    name: str = "rebench"

    def write(
        self,
        tasks: Sequence[Task],
        get_blob: GetBlob,
        destination: Path,
        settings: ExportSettings,
        surroundings: Surroundings = NOTHING_AROUND,
    ) -> tuple[ExportedFile, ...]:
        """Write the dataset; see `Exporter.write`."""
        selection = select(tasks, get_blob, settings, surroundings)
        lines = json_lines(map(_columns, selection.rows))
        with replaced_folder(destination) as folder:
            write_records(folder, selection.released, get_blob)
            (folder / "data").mkdir()
            (folder / JSON_LINES).write_bytes(b"".join(lines))
            (folder / PARQUET).write_bytes(parquet(lines, _SCHEMA))
            card = _card(settings.name, len(selection.rows))
            (folder / "README.md").write_text(card, encoding="utf-8", newline="\n")
            return write_manifest(
                folder,
                released=selection.released,
                rows=[row.instance_id for row in selection.rows],
                left_out=selection.left_out,
                settings=settings,
                format_name=self.name,
            )

    def read_back(self, folder: Path) -> tuple[PublicTask, ...]:
        """Return the public fields of the rows; see `Exporter.read_back`."""
        return tuple(_public(columns, f"{folder / PARQUET}: row {n}") for n, columns in _rows(folder))

    def problems(self, folder: Path) -> Iterator[tuple[str, str]]:
        """Yield ids that the named parser loses; see `Exporter.problems`."""
        for number, columns in _rows(folder):
            task = _public(columns, f"{folder / PARQUET}: row {number}")
            if (columns.get("install_config") or {}).get("log_parser") != _PARSERS[PYTEST_PARSER]:
                continue
            for test in (*task.fail_to_pass, *task.pass_to_pass):
                reason = drop_reason(test)
                if reason is not None:
                    yield PARQUET, f"{task.instance_id}: the log parser loses {test!r} ({reason.value})"

    def restore(self, folder: Path, path: str) -> Iterator[bytes]:
        """Yield a data file made again from the other; see `Exporter.restore`."""
        if path == PARQUET and (folder / JSON_LINES).is_file():
            yield parquet((folder / JSON_LINES).read_bytes().splitlines(keepends=True), _SCHEMA)
        if path == JSON_LINES and (folder / PARQUET).is_file():
            yield b"".join(json_lines(columns for _, columns in _rows(folder)))


def _rows(folder: Path) -> list[tuple[int, dict[str, Any]]]:
    try:
        return list(enumerate(pq.ParquetFile(folder / PARQUET).read().to_pylist(), 1))
    except (OSError, ValueError) as error:
        raise InputError(f"can't read {folder / PARQUET} as parquet: {error}") from error


def _public(columns: dict[str, Any], where: str) -> PublicTask:
    try:
        return PublicTask(
            instance_id=columns["instance_id"],
            repo=columns["repo"],
            base_commit=columns["base_commit"],
            problem_statement=columns["problem_statement"],
            patch=columns["patch"].encode(),
            test_patch=columns["test_patch"].encode(),
            fail_to_pass=_ids(columns, "FAIL_TO_PASS", where),
            pass_to_pass=_ids(columns, "PASS_TO_PASS", where),
            image=columns["image_name"],
        )
    except (KeyError, AttributeError) as error:
        raise InputError(f"{where}: not a row of this format: {error}") from error


def _ids(columns: dict[str, Any], name: str, where: str) -> tuple[TestId, ...]:
    return tuple(TestId(test) for test in read_test_list(columns[name], f"{where}: {name}"))


EXPORTER: Exporter = RebenchExporter()
"""Every format's module offers its exporter under this name."""
