"""The `tests/` folder of a Harbor task: the hidden tests, and the program that grades with them.

Harbor uploads it into the verifier's container when grading begins; the solver's never has it. The grader is
`inside/grade.py`; the recorder that it runs the tests with is the one that verified the task.
"""

import json
import shlex
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from swequarry.export.interface import GetBlob
from swequarry.export.restored import restored_paths
from swequarry.export.text import visible_text
from swequarry.git.patches import end_last_line, parse_patch
from swequarry.git.paths import path_bytes
from swequarry.records import Recipe, Task
from swequarry.sandbox.contract import REPORT_FD
from swequarry.verify.frameworks import ADAPTERS, invocation
from swequarry.verify.payload import BOOTSTRAP, GUARDED_BOOTSTRAP, shipped_program, survey_program
from swequarry.verify.pytestconfig import is_config
from swequarry.verify.survey import Survey

TASK_FILE, TEST_PATCH, TRUSTED_PATCH = "task.json", "test.patch", "trusted.patch"
_SEED = 50_000
_TEST_TIMEOUT_S = 300.0
_CONTROL = (b"conftest.py", b".gitattributes")

_TEST_SH = """#!/bin/sh
# Grades what the solver did; the reward goes to /logs/verifier/reward.json.
set -eu
cd /
exec /opt/swequarry/env/bin/python -BESs "$(dirname "$0")/grade.py"
"""
_SHARED_TEST_SH = """#!/bin/sh
# Grades what the solver did; the reward goes to /logs/verifier/reward.json.
# This container was the solver's: its processes end, and what it could write makes room for the image's own.
set -eu
cd /
for round in 1 2 3; do
  for process in /proc/[0-9]*; do
    owner=$(stat -c %u "$process" 2>/dev/null || echo 0)
    if [ "$owner" = 1000 ]; then kill -9 "${process#/proc/}" 2>/dev/null || true; fi
  done
done
find /tmp /var/tmp /dev/shm /home/sandbox -mindepth 1 -user 1000 -delete 2>/dev/null || true
if [ -d /swequarry-pristine ]; then
  mv /testbed /swequarry-solved
  rm -rf /opt/swequarry
  mv /swequarry-pristine/testbed /testbed
  mv /swequarry-pristine/swequarry /opt/swequarry
  rmdir /swequarry-pristine
fi
exec /opt/swequarry/env/bin/python -BESs "$(dirname "$0")/grade.py"
"""


def test_files(task: Task, get_blob: GetBlob, *, shared: bool) -> dict[str, bytes]:
    """Return the files of `tests/` by name.

    Raises:
        PatchError: a patch of the task can't be parsed.
        StorageError: a blob is missing from the store.
    """
    inside = files("swequarry.export") / "inside"
    how = invocation(task.environment.recipe)
    data = _orders(task)
    return {
        "test.sh": (_SHARED_TEST_SH if shared else _TEST_SH).encode("ascii"),
        "grade.py": (inside / "grade.py").read_bytes(),
        "grade_report.py": (inside / "grade_report.py").read_bytes(),
        "recorder.py": shipped_program(how.adapter).encode("ascii"),
        "survey.py": survey_program(),
        TASK_FILE: (json.dumps(data, indent=1, ensure_ascii=True) + "\n").encode("ascii"),
        TEST_PATCH: get_blob(task.verifier.test_patch),
        TRUSTED_PATCH: _trusted(get_blob(task.candidate.gold_patch)),
    }


def shared_programs(name: str) -> Iterator[bytes]:
    """Yield what a file of `tests/` holds in every task that has it, by each mode and test framework."""
    match name:
        case "grade.py" | "grade_report.py":
            yield (files("swequarry.export") / "inside" / name).read_bytes()
        case "survey.py":
            yield survey_program()
        case "test.sh":
            yield from (_TEST_SH.encode("ascii"), _SHARED_TEST_SH.encode("ascii"))
        case "recorder.py":
            yield from (shipped_program(adapter).encode("ascii") for adapter in ADAPTERS)
        case _:
            return


def _trusted(gold: bytes) -> bytes:
    """Return what of the gold patch a solver may not decide about: settings of pytest, conftest files."""
    parts = [
        end_last_line(file.raw)
        for file in parse_patch(gold)
        if any(is_config(path) or path.rsplit(b"/", 1)[-1] in _CONTROL for path in file.paths)
    ]
    return b"".join(parts)


def run_limit_s(task: Task) -> int:
    """Return the seconds that one run of the hidden tests may take: as measured runs say, else by policy."""
    return task.budget.test_time_s or task.budget.time_s


def _orders(task: Task) -> dict[str, Any]:
    recipe = task.environment.recipe
    how = invocation(recipe)
    variables, options = _variables(recipe)
    return {
        "instance_id": task.instance_id,
        "content_sha256": task.content_hash(),
        "repo": task.candidate.repo.full_name,
        "base_commit": task.initial_state.base_commit,
        "fail_to_pass": [visible_text(test) for test in task.verifier.fail_to_pass],
        "pass_to_pass": [visible_text(test) for test in task.verifier.pass_to_pass],
        "leave_out": [visible_text(test.id) for test in task.verification.quarantined],
        "test_paths": [_plain(path) for path in restored_paths(task)],
        "gold_files": [_plain(path) for path in task.candidate.gold_files],
        "flags": list(how.flags),
        "variables": variables,
        "start": GUARDED_BOOTSTRAP,
        "plain_start": BOOTSTRAP,
        "guard": json.loads(Survey(names=frozenset()).guard(recipe.test_framework)),
        "wall_s": run_limit_s(task),
        "config": {
            "report_fd": REPORT_FD,
            "targets": [_target(path) for path in task.verifier.test_files],
            "script": how.script,
            "options": [*options, *how.options],
            "watch": [],
            "seed": _SEED,
            "test_timeout_s": _TEST_TIMEOUT_S,
        },
    }


def _variables(recipe: Recipe) -> tuple[dict[str, str], list[str]]:
    """Return the variables of a run, and the options of pytest that the recipe passes by one of them."""
    variables = dict(recipe.variables)
    inherited = shlex.split(variables.pop("PYTEST_ADDOPTS", ""))
    variables.update(PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED=str(_SEED))
    return variables, inherited if recipe.test_framework == "pytest" else []


def _plain(path: str) -> str:
    """Return a path as the grader's Python names it: bytes that aren't UTF-8 as surrogates."""
    return path_bytes(path).decode("utf-8", "surrogateescape")


def _target(path: str) -> str:
    plain = _plain(path)
    return f"./{plain}" if plain.startswith("-") else plain
