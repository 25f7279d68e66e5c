import json

import pytest

from swequarry.records import (
    Fate,
    Strength,
    TestId,
    TestOutcome,
    TestReport,
    TestResult,
    WrongFix,
    WrongFixKind,
)
from swequarry.verify.coverage_of_gold import units
from swequarry.verify.passes import RunProblem
from swequarry.verify.runner import RunResult
from swequarry.verify.strength_runs import judge


def test_share_counts_only_what_has_a_verdict():
    def fix(fate):
        return WrongFix(kind=WrongFixKind.MUTANT, fate=fate, path="a.py", diff="0" * 64)

    fixes = [fix(fate) for fate in Fate]
    assert Strength(wrong_fixes=tuple(fixes)).share == 0.5
    assert Strength(wrong_fixes=(fix(Fate.EQUIVALENT), fix(Fate.UNMEASURED))).share is None
    record = Strength(wrong_fixes=tuple(fixes))
    assert Strength.from_json(json.loads(json.dumps(record.to_json()))) == record


def result(*pairs, problems=()):
    results = tuple(TestResult(id=TestId(test), outcome=outcome) for test, outcome in pairs)
    return RunResult(report=TestReport(framework="pytest", results=results), problems=problems)


@pytest.mark.parametrize(
    ("run_result", "fate"),
    [
        (result(("a", TestOutcome.PASSED), ("b", TestOutcome.PASSED)), Fate.SURVIVED),
        (result(("a", TestOutcome.PASSED), ("b", TestOutcome.SKIPPED)), Fate.KILLED),
        (result(("a", TestOutcome.PASSED)), Fate.KILLED),
        (result(("a", TestOutcome.TIMEOUT), ("b", TestOutcome.NOT_RUN)), Fate.TIMED_OUT),
        (result(("a", TestOutcome.NOT_RUN), ("b", TestOutcome.NOT_RUN)), Fate.UNMEASURED),
        (result(("a", TestOutcome.FAILED), problems=(RunProblem.UNSOUND_REPORT,)), Fate.UNMEASURED),
    ],
)
def test_run_that_says_nothing_is_no_verdict(run_result, fate):
    assert judge(run_result, [TestId("a"), TestId("b")])[0] is fate


def test_build_that_a_limit_ended_says_nothing_of_the_fix():
    ended = RunResult(report=TestReport(framework="pytest"), passes=0, problems=(RunProblem.WALL_LIMIT,))
    refused = RunResult(report=TestReport(framework="pytest"), passes=0)
    assert judge(ended, [TestId("a")])[0] is Fate.UNMEASURED
    assert judge(refused, [TestId("a")])[0] is Fate.KILLED


def test_head_of_a_statement_isnt_its_body():
    source = (
        b"if (a and\n        b):\n    x = 1\nelse:\n    y = [\n        1,\n    ]\nwhile True:\n    pass\n"
    )
    assert [(u.first, u.last, u.body) for u in units(source)] == [
        (1, 2, (3, 3)), (3, 3, None), (5, 7, None), (8, 8, None), (9, 9, None),
    ]  # fmt: skip
