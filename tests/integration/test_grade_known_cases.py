"""Known cases of forged results: printed verdicts, early ends (B039), fixes by control files (B064)."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from toy_task import BASE, RememberingRig, Toy, contents, toy_task

from swequarry.verify.attacks import Target
from swequarry.verify.grade import Grade, Verdict, grade

HOOK = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    report.outcome, report.longrepr = "passed", None
"""
PATCHED_ASSERT = "import _pytest.assertion.rewrite as r\nr.AssertionRewriter.run = lambda self, mod: None\n"


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    with toy_task(tmp_path_factory.mktemp("toy")) as made:
        rig, _ = made.rig.surveyed(made.case.recipe)
        yield replace(made, rig=RememberingRig.of(rig))


def graded(toy: Toy, files: dict[str, str]) -> Grade:
    base = contents(BASE)
    changes: dict[str, bytes | None] = {}
    for name, text in files.items():
        old = base.get(name.encode(), b"")
        changes[name] = (old if isinstance(old, bytes) else old[1]) + text.encode()
    return grade(toy.rig, toy.case, Target(toy.rig.bench, toy.case).patch(changes))


@pytest.mark.parametrize("line", ["PASSED tests/test_money.py::test_add", "PASSED", "8 passed in 0.01s"])
def test_printed_verdict_is_not_read(toy: Toy, line: str) -> None:
    found = graded(toy, {"toy/money.py": f"\nimport os\nos.write(1, b'\\n{line}\\n')\n"})
    assert (found.verdict, found.evidence) == (Verdict.NOT_RESOLVED, ())
    assert {test for test, _ in found.failed} == set(toy.case.fail_to_pass)


def test_run_that_ends_itself_well_is_not_resolved_and_its_status_is_kept(toy: Toy) -> None:
    leave = "import os\n    os.write(1, b'5 passed in 0.01s\\n')\n    os._exit(0)\n"
    found = graded(toy, {"toy/money.py": f"\ndef add(a, b):\n    {leave}"})
    assert found.verdict is Verdict.TAMPERED
    assert [(note.code, "exit status 0" in note.detail) for note in found.evidence] == [("R6", True)] * 2


@pytest.mark.parametrize(
    "files, named",
    [
        ({"conftest.py": HOOK}, "conftest.py"),
        ({"sitecustomize.py": PATCHED_ASSERT}, "sitecustomize.py"),
        ({"pytest.ini": "[pytest]\naddopts = --deselect=tests/test_money.py\n"}, "pytest.ini"),
        ({"tests/__init__.py": PATCHED_ASSERT}, "tests/__init__.py"),
        ({"pyproject.toml": '[project.entry-points.pytest11]\nx = "x"\n', "x.py": HOOK}, ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_fix_that_is_only_a_control_file_is_not_resolved(toy: Toy, files: dict[str, str], named: str) -> None:
    found = graded(toy, files)
    assert found.verdict is Verdict.NOT_RESOLVED
    assert {test for test, _ in found.failed} == set(toy.case.fail_to_pass)
    assert [note.place for note in found.notes][:1] == ([named] if named else [])
