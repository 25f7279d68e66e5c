"""What runs said: states, outcomes, reports and what they add up to."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from swequarry.records.base import BlobHash, Record, TestId


class State(StrEnum):
    """The three states in which tests run."""

    BASE = "base"
    BEFORE = "before"
    AFTER = "after"


class TestOutcome(StrEnum):
    """How one test ended in one run; the worst phase wins."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    NOT_RUN = "not_run"
    MISSING = "missing"

    __test__ = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult(Record):
    """The outcome of one test, with the last line of its error where it has one."""

    id: TestId
    outcome: TestOutcome
    detail: str = ""

    __test__: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TestReport(Record):
    """What one test run reported through its private channel.

    `complete` is false when the report has no end record that agrees with the exit status. `exit_status`
    is None when the process was killed. `collection_errors` are (path, last line of the error),
    `collection_skips` are modules that skip themselves as (path, reason).
    """

    framework: str
    results: tuple[TestResult, ...] = ()
    collected: tuple[TestId, ...] = ()
    collection_errors: tuple[tuple[str, str], ...] = ()
    collection_skips: tuple[tuple[str, str], ...] = ()
    complete: bool = False
    exit_status: int | None = None
    ended_by: str = "exited"

    __test__: ClassVar[bool] = False

    def outcome_of(self, test: TestId) -> TestOutcome:
        """Return the outcome of a test; MISSING where the report doesn't name it."""
        return next((r.outcome for r in self.results if r.id == test), TestOutcome.MISSING)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedTest(Record):
    """A test that isn't stable, the reason, and its outcomes in each state, run by run."""

    id: TestId
    reason: str
    before: tuple[TestOutcome, ...] = ()
    after: tuple[TestOutcome, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Record):
    """What the runs measured. `matrix` names a blob: every test's outcome in every run, as JSON.

    `scope` says how `test_files` were chosen: `touched`, `related` or `full`; `left_out_files` counts those
    of the scope for which there was no time.
    """

    backend: str
    scope: str
    test_command: tuple[str, ...]
    test_files: tuple[str, ...]
    runs_before: int
    runs_after: int
    fail_to_pass: tuple[TestId, ...]
    pass_to_pass: tuple[TestId, ...]
    quarantined: tuple[QuarantinedTest, ...] = ()
    causes: tuple[tuple[TestId, str], ...] = ()
    matrix: BlobHash | None = None
    left_out_files: int = 0
