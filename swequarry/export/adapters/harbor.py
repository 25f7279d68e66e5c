"""Harbor task directories (schema 1.4), `harbor run -p FOLDER/tasks`.

```
tasks/<instance_id>/
  instruction.md           the problem statement, nothing added
  task.toml                image, users, network, limits; what the task is under [metadata]
  environment/Dockerfile   FROM the image that the task was verified in
  solution/                solve.sh applies gold.patch
  tests/                   test.sh and what it grades with; see `harbor_tests`
records/, manifest.json    as in every dataset of ours
```
Two modes of Harbor's verifier. `separate` (default): a fresh container of the image grades a patch that a
hook took from the solver's; nothing else crosses over. `shared`: the solver's own container grades; what the
solver could write is put back from a copy that only root can read. A task without an image isn't exported.
"""

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from swequarry.config import ExportSettings
from swequarry.errors import InputError
from swequarry.export.folder import replaced_folder
from swequarry.export.harbor_tests import TASK_FILE, TEST_PATCH, run_limit_s, shared_programs, test_files
from swequarry.export.interface import (
    NOTHING_AROUND,
    ExportedFile,
    Exporter,
    GetBlob,
    ImageReference,
    LeftOut,
    PublicTask,
    Surroundings,
)
from swequarry.export.manifest import write_manifest
from swequarry.export.names import is_folder_name, no_image, no_name
from swequarry.export.rows import image_of
from swequarry.export.selection import released, write_records
from swequarry.export.text import visible_text
from swequarry.records import Task

TASKS = "tasks"
SCHEMA = "1.4"
_USER = "sandbox"
_PATCH = "/logs/artifacts/agent.patch"

_COLLECT = (
    "set -e; cd /testbed; export GIT_INDEX_FILE=/tmp/.swequarry-index; rm -f $GIT_INDEX_FILE; "
    "g='git --no-replace-objects -c core.hooksPath=/dev/null -c core.fsmonitor=false'; "
    "$g read-tree {base}; $g add --all .; "
    "$g diff-index --cached --binary --full-index --no-ext-diff --no-textconv -p {base} -- > " + _PATCH
)
_SOLVE = """#!/bin/sh
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
cd /testbed
if [ -s "$folder/gold.patch" ]; then git apply --whitespace=nowarn "$folder/gold.patch"; fi
"""
_SHARED_LAYER = """
# What grading puts back: only root can read it.
USER root
RUN mkdir -m 0700 /swequarry-pristine \\
 && cp -a /testbed /swequarry-pristine/testbed && cp -a /opt/swequarry /swequarry-pristine/swequarry
"""


@dataclass(frozen=True, slots=True)
class HarborExporter:
    """The format described at the top of this module; `shared` chooses the verifier's mode."""

    shared: bool = False
    name: str = "harbor"

    def write(
        self,
        tasks: Sequence[Task],
        get_blob: GetBlob,
        destination: Path,
        settings: ExportSettings,
        surroundings: Surroundings = NOTHING_AROUND,
    ) -> tuple[ExportedFile, ...]:
        """Write the task directories; see `Exporter.write`."""
        let_in, out = released(tasks, settings, surroundings)
        exported: list[str] = []
        more: list[LeftOut] = []
        with replaced_folder(destination) as folder:
            write_records(folder, let_in, get_blob)
            (folder / TASKS).mkdir()
            for task in let_in:
                image = image_of(task, surroundings.images.get(task.instance_id))
                problem = _obstacle(task, image)
                if image is None or problem is not None:
                    more.append(problem or no_image(task))
                    continue
                self._write_task(folder / TASKS / task.instance_id, task, get_blob, image)
                exported.append(task.instance_id)
            return write_manifest(
                folder,
                released=let_in,
                rows=exported,
                left_out=(*out, *more),
                settings=settings,
                format_name=self.name,
            )

    def _write_task(self, folder: Path, task: Task, get_blob: GetBlob, image: ImageReference) -> None:
        made = {
            "instruction.md": visible_text(task.instruction.text).encode(),
            "task.toml": self._task_toml(task, image).encode(),
            "environment/Dockerfile": self._dockerfile(image).encode(),
            "solution/solve.sh": _SOLVE.encode(),
            "solution/gold.patch": get_blob(task.candidate.gold_patch),
            **{
                f"tests/{name}": data for name, data in test_files(task, get_blob, shared=self.shared).items()
            },
        }
        for name, data in made.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            if name.endswith(".sh"):
                path.chmod(0o755)

    def _dockerfile(self, image: ImageReference) -> str:
        return f"FROM {image.name}\n{_SHARED_LAYER if self.shared else ''}"

    def _task_toml(self, task: Task, image: ImageReference) -> str:
        environment: dict[str, Any] = {"network_mode": "no-network", "workdir": "/testbed"}
        if not self.shared:
            environment["docker_image"] = image.name
        tables: list[tuple[str, Mapping[str, Any]]] = [
            ("", {"schema_version": SCHEMA}),
            ("[metadata]", _metadata(task, image)),
            ("[environment]", environment),
            ("[agent]", {"user": _USER, "timeout_sec": float(task.budget.time_s)}),
            (
                "[verifier]",
                {
                    "environment_mode": "shared" if self.shared else "separate",
                    "user": "root",
                    "timeout_sec": float(3 * run_limit_s(task) + 600),
                },
            ),
        ]
        if not self.shared:
            command = _COLLECT.format(base=task.initial_state.base_commit)
            tables.append(("[[verifier.collect]]", {"command": command, "user": _USER, "timeout_sec": 600.0}))
        return "\n".join(_toml_table(header, values) for header, values in tables)

    def read_back(self, folder: Path) -> tuple[PublicTask, ...]:
        """Return the public fields of the exported tasks; see `Exporter.read_back`."""
        places = sorted((folder / TASKS).glob("*/task.toml"), key=lambda place: place.parent.name)
        return tuple(_read_task(place) for place in places)

    def problems(self, folder: Path) -> Iterator[tuple[str, str]]:
        """Yield what Harbor couldn't run; see `Exporter.problems`."""
        for task in self.read_back(folder):
            path = f"{TASKS}/{task.instance_id}"
            for name in ("tests/test.sh", "solution/solve.sh"):
                if not os.access(folder / path / name, os.X_OK):
                    yield f"{path}/{name}", "can't be executed"
            if not task.fail_to_pass:
                yield f"{path}/tests/{TASK_FILE}", "no FAIL_TO_PASS, so nothing grades it"
            if not task.problem_statement.strip():
                yield f"{path}/instruction.md", "empty"

    def restore(self, folder: Path, path: str) -> Iterator[bytes]:
        """Yield the programs that every task has alike; see `Exporter.restore`."""
        del folder
        parts = path.split("/")
        if parts[0] == TASKS and parts[2:3] == ["tests"]:
            yield from shared_programs(parts[-1])
        elif parts[0] == TASKS and parts[-1] == "solve.sh":
            yield _SOLVE.encode()


def _obstacle(task: Task, image: ImageReference | None) -> LeftOut | None:
    if image is None:
        return no_image(task)
    return None if is_folder_name(task.instance_id) else no_name(task)


def _metadata(task: Task, image: ImageReference) -> dict[str, Any]:
    return {
        "instance_id": task.instance_id,
        "repo": task.candidate.repo.full_name,
        "base_commit": task.initial_state.base_commit,
        "image": image.name,
        "language": task.candidate.language,
        "content_sha256": task.content_hash(),
    }


def _toml_table(header: str, values: Mapping[str, Any]) -> str:
    lines = [header] if header else []
    return "\n".join([*lines, *(f"{key} = {_toml_value(value)}" for key, value in values.items())]) + "\n"


def _toml_value(value: str | float) -> str:
    """Return a TOML value: its basic strings are JSON's but for the escapes of surrogates and DEL."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    return repr(value)


def _read_task(place: Path) -> PublicTask:
    folder = place.parent
    try:
        metadata = tomllib.loads(place.read_text(encoding="utf-8"))["metadata"]
        tests = json.loads((folder / "tests" / TASK_FILE).read_bytes())
        return PublicTask(
            instance_id=metadata["instance_id"],
            repo=metadata["repo"],
            base_commit=metadata["base_commit"],
            problem_statement=(folder / "instruction.md").read_bytes().decode("utf-8"),
            patch=(folder / "solution" / "gold.patch").read_bytes(),
            test_patch=(folder / "tests" / TEST_PATCH).read_bytes(),
            fail_to_pass=tuple(tests["fail_to_pass"]),
            pass_to_pass=tuple(tests["pass_to_pass"]),
            image=metadata["image"],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder} isn't a task directory of ours: {error}") from error


EXPORTER: Exporter = HarborExporter()
"""Every format's module offers its exporter under this name."""
