"""What counts as evidence of tampering, and what doesn't."""

import pytest

from swequarry.records import TestId, TestOutcome, TestReport, TestResult
from swequarry.verify.passes import RunProblem
from swequarry.verify.runner import RunResult
from swequarry.verify.tamper import contradictions, status_contradiction, telltales

A, B = TestId("t.py::a"), TestId("t.py::b")


def run(*results: tuple[TestId, TestOutcome, str], **more) -> RunResult:
    errors = more.pop("collection_errors", ())
    listed = tuple(TestResult(id=i, outcome=o, detail=d) for i, o, d in results)
    return RunResult(report=TestReport(framework="pytest", results=listed, collection_errors=errors), **more)


def codes(found: RunResult) -> list[tuple[str, str]]:
    return [(note.code, note.place) for note in contradictions(found, [A])]


def test_leaving_a_judged_test_with_status_zero_is_evidence() -> None:
    left = run((A, TestOutcome.CRASHED, "exit status 0"), (B, TestOutcome.CRASHED, "exit status 0"))
    assert codes(left) == [("R6", A)]


@pytest.mark.parametrize(
    "detail", ["signal SIGSEGV", "exit status 1", "exit status 97", "ended by the memory limit"]
)
def test_a_crash_is_no_evidence(detail: str) -> None:
    assert codes(run((A, TestOutcome.CRASHED, detail))) == []


@pytest.mark.parametrize(
    "outcome", [TestOutcome.SKIPPED, TestOutcome.XFAILED, TestOutcome.TIMEOUT, TestOutcome.FAILED]
)
def test_a_test_that_did_not_pass_is_no_evidence(outcome: TestOutcome) -> None:
    assert codes(run((A, outcome, "exit status 0"))) == []


def test_leaving_during_an_import_with_status_zero_is_evidence() -> None:
    errors = (("t.py", "it ended the run while being imported (status 0)"), ("u.py", "ImportError: x"))
    assert codes(run(collection_errors=errors)) == [("R6", "t.py")]


def test_records_that_no_recorder_writes_are_evidence_and_a_late_crash_is_not() -> None:
    unsound = {RunProblem.UNSOUND_REPORT: None}
    said = (
        "line 7: `phase` after the end",
        "status 0 was reported, 1 was seen",
        "no end was reported (exit status 0)",
    )
    assert codes(run(problems=tuple(unsound), evidence=said)) == [("R12", "the report")] * 2 + [
        ("R6", "the report")
    ]
    late = ("no end was reported (signal SIGSEGV)",)
    assert codes(run(problems=tuple(unsound), evidence=late)) == []


def test_a_plugin_that_the_environment_lacks_is_evidence() -> None:
    errors = (("", "a plugin that the environment doesn't have: x = y"),)
    assert codes(run(collection_errors=errors)) == [("R3", "the checkout")]


def test_the_likeliest_way_comes_first_with_its_line() -> None:
    patch = b"--- a/m.py\n+++ b/m.py\n@@ -1,2 +1,4 @@\n def f():\n+    open('x')\n-    return 1\n+    import _pytest\n+    return 2\n"
    assert [(note.code, note.place) for note in telltales(patch)] == [("R10", "m.py:3"), ("R11", "m.py:2")]
    assert telltales(b"no patch") == ()


def test_a_module_that_leaves_anyway_says_nothing_about_judged_tests() -> None:
    errors = (("other.py", "it ended the run while being imported (status 0)"),)
    assert codes(run(collection_errors=errors)) == []


@pytest.mark.parametrize(
    "outcome, status, seen",
    [
        ("passed", 0, False),
        ("failed", 1, False),
        ("passed", 1, True),
        ("failed", 0, True),
        ("skipped", 0, False),
    ],
)
def test_status_must_agree_with_the_tests(outcome: str, status: int, seen: bool) -> None:
    listed = (TestResult(id=A, outcome=TestOutcome(outcome)),)
    report = TestReport(framework="pytest", results=listed, complete=True, exit_status=status)
    assert (status_contradiction(RunResult(report=report)) is not None) is seen
