"""SWE-bench 5 task repositories: the tree that `swebench dataset check` and `swebench eval --task-repo` read.

```
sweb.yaml                  the dataset that the tree publishes, and its split
tasks/<instance_id>/       task.yaml, tests.json, problem_statement.md, hints.md (where there are any),
                           gold.patch, test.patch, eval.sh, Dockerfile (FROM the verified image)
records/, manifest.json    as in every dataset of ours
```
swebench lets no task name its image: it must be `swebench/sweb.eval.x86_64.<id>:latest`, with `__` as
`_1776_`. So `task.yaml` has that name and the Dockerfile the real one.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from swequarry.config import ExportSettings
from swequarry.errors import InputError
from swequarry.export.folder import replaced_folder
from swequarry.export.interface import (
    NOTHING_AROUND,
    ExportedFile,
    Exporter,
    GetBlob,
    LeftOut,
    PublicTask,
    Surroundings,
)
from swequarry.export.manifest import write_manifest
from swequarry.export.names import is_folder_name, no_image, no_name
from swequarry.export.parsers import drop_reason
from swequarry.export.rows import Row
from swequarry.export.selection import write_records
from swequarry.export.swebench import select
from swequarry.records import Task

CONFIG, TASKS, SPLIT = "sweb.yaml", "tasks", "test"


def derived_image(instance_id: str) -> str:
    """Return the one image name that swebench accepts for an instance."""
    return f"swebench/sweb.eval.x86_64.{instance_id}:latest".lower().replace("__", "_1776_")


@dataclass(frozen=True, slots=True)
class SwebenchRepoExporter:
    """The format described at the top of this module."""

    name: str = "swebench-repo"

    def write(
        self,
        tasks: Sequence[Task],
        get_blob: GetBlob,
        destination: Path,
        settings: ExportSettings,
        surroundings: Surroundings = NOTHING_AROUND,
    ) -> tuple[ExportedFile, ...]:
        """Write the tree; see `Exporter.write`."""
        selection = select(tasks, get_blob, settings, surroundings)
        by_id = {task.instance_id: task for task in selection.released}
        obstacles = {row.instance_id: _obstacle(by_id[row.instance_id], row) for row in selection.rows}
        rows = [row for row in selection.rows if obstacles[row.instance_id] is None]
        more = [item for item in obstacles.values() if item is not None]
        with replaced_folder(destination) as folder:
            write_records(folder, selection.released, get_blob)
            (folder / TASKS).mkdir()
            config = {"datasets": [settings.name], "splits": [SPLIT]}
            (folder / CONFIG).write_text(yaml.safe_dump(config), encoding="utf-8")
            for row in rows:
                _write_task(folder / TASKS / row.instance_id, row, settings.name)
            return write_manifest(
                folder,
                released=selection.released,
                rows=[row.instance_id for row in rows],
                left_out=(*selection.left_out, *more),
                settings=settings,
                format_name=self.name,
            )

    def read_back(self, folder: Path) -> tuple[PublicTask, ...]:
        """Return the public fields of the tasks; see `Exporter.read_back`."""
        return tuple(_read_task(place.parent)[0] for place in _places(folder))

    def problems(self, folder: Path) -> Iterator[tuple[str, str]]:
        """Yield what swebench wouldn't grade; see `Exporter.problems`."""
        if not (folder / CONFIG).is_file():
            yield CONFIG, "missing, so no tool takes the folder for a task repository"
        for place in _places(folder):
            task, meta = _read_task(place.parent)
            path = f"{TASKS}/{place.parent.name}/task.yaml"
            if task.instance_id != place.parent.name:
                yield path, f"its instance_id is {task.instance_id!r}"
            if meta.get("image") != derived_image(task.instance_id):
                yield path, f"image {meta.get('image')!r} isn't {derived_image(task.instance_id)!r}"
            for test in (*task.fail_to_pass, *task.pass_to_pass):
                reason = drop_reason(test, parser=str(meta.get("log_parser")))
                if reason is not None:
                    yield path, f"{meta.get('log_parser')} loses {test!r} ({reason.value})"

    def restore(self, folder: Path, path: str) -> Iterator[bytes]:
        """Nothing in the tree is there twice; see `Exporter.restore`."""
        del folder, path
        yield from ()


def _places(folder: Path) -> list[Path]:
    return sorted((folder / TASKS).glob("*/task.yaml"), key=lambda place: place.parent.name)


def _obstacle(task: Task, row: Row) -> LeftOut | None:
    if row.image is None:
        return no_image(task)
    return None if is_folder_name(row.instance_id) else no_name(task)


def _write_task(folder: Path, row: Row, dataset: str) -> None:
    folder.mkdir()
    meta = {
        "instance_id": row.instance_id,
        "repo": row.repo,
        "version": row.version or "",
        "base_commit": row.base_commit,
        "environment_setup_commit": row.environment_setup_commit,
        "created_at": row.created_at,
        "split": SPLIT,
        "datasets": [dataset],
        "image": derived_image(row.instance_id),
        "log_parser": row.log_parser,
        "eval_type": row.eval_type,
        "license_spdx": row.license_spdx or "",
        "content_sha256": row.content_sha256,
    }
    tests = {"FAIL_TO_PASS": row.fail_to_pass, "PASS_TO_PASS": row.pass_to_pass}
    made = {
        "task.yaml": yaml.safe_dump(meta, allow_unicode=True),
        "tests.json": json.dumps(tests, indent=1, ensure_ascii=True) + "\n",
        "problem_statement.md": row.problem_statement,
        "hints.md": row.hints_text,
        "gold.patch": row.patch,
        "test.patch": row.test_patch,
        "eval.sh": row.eval_script,
        "Dockerfile": f"FROM {row.image}\n",
    }
    for name, text in made.items():
        if text or name != "hints.md":
            (folder / name).write_bytes(text.encode())


def _read_task(folder: Path) -> tuple[PublicTask, dict[str, Any]]:
    try:
        meta = yaml.safe_load((folder / "task.yaml").read_bytes())
        tests = json.loads((folder / "tests.json").read_bytes())
        task = PublicTask(
            instance_id=meta["instance_id"],
            repo=meta["repo"],
            base_commit=meta["base_commit"],
            problem_statement=(folder / "problem_statement.md").read_bytes().decode("utf-8"),
            patch=(folder / "gold.patch").read_bytes(),
            test_patch=(folder / "test.patch").read_bytes(),
            fail_to_pass=tuple(tests["FAIL_TO_PASS"]),
            pass_to_pass=tuple(tests["PASS_TO_PASS"]),
            image=(folder / "Dockerfile").read_text(encoding="utf-8").split()[1],
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError, yaml.YAMLError) as error:
        raise InputError(f"{folder} isn't a task of a task repository: {error}") from error
    return task, meta


EXPORTER: Exporter = SwebenchRepoExporter()
"""Every format's module offers its exporter under this name."""
