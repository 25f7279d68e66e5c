"""Make lists of tests out of runs: pure, and the only place where a verdict about a test is made.

FAIL_TO_PASS: failed in every run of `before` (failed, error, crashed, timed out, or missing because its
module can't be imported or doesn't make it yet) and passed in every run of `after`. PASS_TO_PASS: passed in
every run of both. Skipped, xfailed and xpassed never count as passed. A test that differs between runs
of one state, or whose failing may come from a limit, is quarantined: it leaves the lists.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from swequarry.records import QuarantinedTest, TestId, TestOutcome, TestResult
from swequarry.verify.passes import FAILING, RunProblem
from swequarry.verify.runner import RunResult
from swequarry.verify.signs import tells_of_network, tells_of_resources


class Reason(StrEnum):
    """Why a test is quarantined."""

    FLAKY = "flaky"
    UNSTABLE_ID = "unstable_id"
    RESOURCE_LIMIT = "resource_limit"
    TIME_LIMIT = "time_limit"
    NOT_RUN = "not_run"
    UNSOUND_REPORT = "unsound_report"


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,}")
_SAME = dict.fromkeys(FAILING, TestOutcome.FAILED)
_GONE = {
    TestOutcome.SKIPPED: "skipped after the fix",
    TestOutcome.XFAILED: "skipped after the fix (xfail)",
    TestOutcome.XPASSED: "passes after the fix though marked xfail",
    TestOutcome.FAILED: "fails after the fix",
    TestOutcome.MISSING: "gone after the fix",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """What the runs of before and after say of each test; all tuples are sorted by id.

    `causes` says of a FAIL_TO_PASS test how it failed before, and of a test that passed before and not after
    what became of it. `turning` are the quarantined tests that may turn: they failed in some run of
    before, and passed in some run of after or are in doubt. `fail_after` are those that fail or are missing
    in before and fail in after, `need_network` those of them that fail for want of a network. `matrix` holds
    the outcomes by run.
    """

    fail_to_pass: tuple[TestId, ...]
    pass_to_pass: tuple[TestId, ...]
    quarantined: tuple[QuarantinedTest, ...]
    causes: tuple[tuple[TestId, str], ...]
    turning: tuple[QuarantinedTest, ...]
    fail_after: tuple[TestId, ...]
    need_network: tuple[TestId, ...]
    matrix: Mapping[TestId, tuple[tuple[TestOutcome, ...], tuple[TestOutcome, ...]]]


class _Run:
    """One run with its tests by id, and what is missing explained."""

    def __init__(self, run: RunResult) -> None:
        self.tests: dict[TestId, TestResult] = {result.id: result for result in run.report.results}
        self.problems = run.problems
        self.suspects = run.suspects
        self.errors = run.report.collection_errors
        self.skips = run.report.collection_skips

    def outcome(self, test: TestId) -> TestOutcome:
        result = self.tests.get(test)
        if result is not None:
            return result.outcome
        return TestOutcome.SKIPPED if _covering(test, self.skips) else TestOutcome.MISSING

    def detail(self, test: TestId) -> str:
        result = self.tests.get(test)
        return result.detail if result is not None else ""

    def doubt(self, test: TestId) -> Reason | None:
        """Return why the outcome of a test in this run says nothing about the code."""
        outcome = self.outcome(test)
        if RunProblem.UNSOUND_REPORT in self.problems:
            return Reason.UNSOUND_REPORT
        if RunProblem.WALL_LIMIT in self.problems and outcome is not TestOutcome.PASSED:
            return Reason.TIME_LIMIT
        if test in self.suspects or (outcome in FAILING and tells_of_resources(self.detail(test))):
            return Reason.RESOURCE_LIMIT
        return Reason.NOT_RUN if outcome is TestOutcome.NOT_RUN else None

    def cause(self, test: TestId) -> str:
        """Return how a test failed here, in words that are the same whenever it is run."""
        outcome = self.outcome(test)
        if outcome is not TestOutcome.MISSING:
            return outcome.value
        path = _covering(test, self.errors)
        if path is None:
            return "missing: not collected before the fix"
        return (
            f"missing: collection error in {path}"
            if path
            else "missing: the test runner can't start before the fix"
        )


def _covering(test: TestId, places: Iterable[tuple[str, str]]) -> str | None:
    """Return the path of the collection error (or skip) that hides a test, None if there is none."""
    for path, _ in places:
        folder = path.removesuffix("__init__.py").removesuffix("conftest.py").rstrip("/")
        if test == path or test.startswith((f"{path}::", f"{path}/")) or _is_of_module(test, path):
            return path
        if folder != path.rstrip("/") and (not folder or test.startswith(f"{folder}/")):
            return path
        if path in {"", "."}:
            return path
    return None


def _is_of_module(test: TestId, path: str) -> bool:
    """Whether an id of unittest's form, `test_x (dotted.module.Class)`, is of a test in a file.

    How much of the path is in the dotted name depends on where imports begin.
    """
    method, bracket, place = test.partition(" (")
    if not bracket or "::" in method or not path.endswith(".py"):
        return False
    parts = path.removesuffix(".py").split("/")
    return any(place.startswith(".".join(parts[start:]) + ".") for start in range(len(parts)))


def classify(
    before: Sequence[RunResult], after: Sequence[RunResult], left_out: frozenset[TestId] = frozenset()
) -> Classification:
    """Return what the runs say of every test that occurs in any of them; needs one run of each at least.

    Tests `left_out` of all runs but the first of each state failed after the fix: one run says it. The
    matrix has the first runs only of every test that always fails after the fix, so that it is the same
    where a slow machine left it out; one that would have differed between runs is then no longer seen to.
    """
    befores, afters = [_Run(run) for run in before], [_Run(run) for run in after]
    unstable = _unstable_ids(befores) | _unstable_ids(afters)
    every = {test for run in (*befores, *afters) for test in run.tests}
    lists = _Lists()
    for test in sorted(every - unstable):
        seen = 1 if test in left_out else None
        lists.judge(test, befores[:seen], afters[:seen])
    for function in sorted({_function(test) for test in unstable}):
        members = [test for test in unstable if _function(test) == function]
        lists.quarantine_function(function, members, befores, afters)
    return lists.result()


class _Lists:
    def __init__(self) -> None:
        self.fail_to_pass: list[TestId] = []
        self.pass_to_pass: list[TestId] = []
        self.quarantined: list[QuarantinedTest] = []
        self.turning: list[QuarantinedTest] = []
        self.causes: list[tuple[TestId, str]] = []
        self.fail_after: list[TestId] = []
        self.need_network: list[TestId] = []
        self.matrix: dict[TestId, tuple[tuple[TestOutcome, ...], tuple[TestOutcome, ...]]] = {}

    def judge(self, test: TestId, before: Sequence[_Run], after: Sequence[_Run]) -> None:
        was = tuple(run.outcome(test) for run in before)
        became = tuple(run.outcome(test) for run in after)
        self.matrix[test] = (was, became)
        doubts = [doubt for run in (*before, *after) if (doubt := run.doubt(test)) is not None]
        old, new = _stable(was), _stable(became)
        if doubts or old is None or new is None:
            self._quarantine(test, doubts[0] if doubts else Reason.FLAKY, was, became)
        elif new is TestOutcome.PASSED and old is TestOutcome.PASSED:
            self.pass_to_pass.append(test)
        elif new is TestOutcome.PASSED and old in (TestOutcome.FAILED, TestOutcome.MISSING):
            self.fail_to_pass.append(test)
            self.causes.append((test, before[0].cause(test)))
        elif old is TestOutcome.PASSED:
            self.causes.append((test, _GONE[new]))
        elif new is TestOutcome.FAILED and old in (TestOutcome.FAILED, TestOutcome.MISSING):
            self.fail_after.append(test)
            if all(tells_of_network(run.detail(test)) for run in after):
                self.need_network.append(test)
        if not doubts and old is not None and new is TestOutcome.FAILED:
            self.matrix[test] = (was[:1], became[:1])

    def _quarantine(
        self, test: TestId, reason: Reason, was: tuple[TestOutcome, ...], became: tuple[TestOutcome, ...]
    ) -> None:
        entry = QuarantinedTest(id=test, reason=reason.value, before=was, after=became)
        self.quarantined.append(entry)
        failed = any(_like(outcome) in (TestOutcome.FAILED, TestOutcome.MISSING) for outcome in was)
        unknown = TestOutcome.NOT_RUN in was or TestOutcome.NOT_RUN in became
        if unknown or (failed and reason is not Reason.FLAKY) or (failed and TestOutcome.PASSED in became):
            self.turning.append(entry)

    def quarantine_function(
        self, function: TestId, members: Sequence[TestId], before: Sequence[_Run], after: Sequence[_Run]
    ) -> None:
        """Quarantine a test function as a whole: ids that change in each run can't be named in a record."""
        entry = QuarantinedTest(id=function, reason=Reason.UNSTABLE_ID.value)
        self.quarantined.append(entry)
        was = {run.tests[test].outcome for run in before for test in members if test in run.tests}
        became = {run.tests[test].outcome for run in after for test in members if test in run.tests}
        if (was & FAILING or not was) and TestOutcome.PASSED in became:
            self.turning.append(entry)

    def result(self) -> Classification:
        return Classification(
            fail_to_pass=tuple(self.fail_to_pass),
            pass_to_pass=tuple(self.pass_to_pass),
            quarantined=tuple(sorted(self.quarantined, key=lambda entry: (entry.id, entry.reason))),
            causes=tuple(self.causes),
            turning=tuple(self.turning),
            fail_after=tuple(self.fail_after),
            need_network=tuple(self.need_network),
            matrix=self.matrix,
        )


def _like(outcome: TestOutcome) -> TestOutcome:
    """Take all ways of failing for one: a test may fail here by an assertion and there by a crash."""
    return _SAME.get(outcome, outcome)


def _stable(outcomes: Sequence[TestOutcome]) -> TestOutcome | None:
    """Return what a test did in every run, None where it did different things."""
    kinds = {_like(outcome) for outcome in outcomes}
    return kinds.pop() if len(kinds) == 1 else None


def _function(test: TestId) -> TestId:
    return TestId(test.partition("[")[0])


def _unstable_ids(runs: Sequence[_Run]) -> set[TestId]:
    """Return ids that name something else in each run: addresses, times, random values.

    An id is one of them if it holds an address, or if runs of the same state have each made ids of the
    same function that the others haven't. (Ids that only some runs have, while the others have none in
    their place, are missing there: that is another matter.)
    """
    unstable = {test for run in runs for test in run.tests if _ADDRESS.search(test)}
    by_function: dict[TestId, list[set[TestId]]] = {}
    for number, run in enumerate(runs):
        for test in run.tests:
            by_function.setdefault(_function(test), [set() for _ in runs])[number].add(test)
    for sets in by_function.values():
        present = [ids for ids in sets if ids]
        common = set[TestId].intersection(*present)
        if sum(1 for ids in present if ids - common) > 1:
            unstable |= set[TestId].union(*present) - common
    return unstable
