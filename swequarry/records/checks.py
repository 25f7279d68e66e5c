"""What grading has beside the hidden tests: canaries and held-out twins, as plain data of a task."""

from dataclasses import dataclass

from swequarry.records.base import BlobHash, Record, TestId


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFile(Record):
    """A test file of grading's own: its path below the checkout and its bytes."""

    path: str
    content: BlobHash


@dataclass(frozen=True, slots=True, kw_only=True)
class Canaries(Record):
    """Hidden test files with wrong expectations, each in the place of its original.

    `must_fail` are those of their tests that failed with the gold patch: whoever passes one of them, and
    the original too, wasn't judged by what the code does. `covered` counts the FAIL_TO_PASS tests among
    them, of `fail_to_pass` in all.
    """

    files: tuple[CheckFile, ...] = ()
    must_fail: tuple[TestId, ...] = ()
    covered: int = 0
    fail_to_pass: int = 0

    @property
    def share(self) -> float:
        """The share of FAIL_TO_PASS tests that have a canary; 0 where there are no such tests."""
        return self.covered / self.fail_to_pass if self.fail_to_pass else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut(Record):
    """Test files with other inputs than the hidden ones, expectations taken from runs of the gold patch.

    `twins` are pairs (twin, the FAIL_TO_PASS test that it was made of); every twin passed with gold in
    each of `runs` runs. Among them are plain copies of tests, whose new place alone tells them from the
    originals. `must_fail` are tests that want something else than gold gives. `opposites` are pairs (one that
    must fail, its twin): nobody can tell which is which, and whoever passes both has bent the judging.
    `other_inputs` are the twins that give the code something else than their originals do.
    """

    files: tuple[CheckFile, ...] = ()
    twins: tuple[tuple[TestId, TestId], ...] = ()
    must_fail: tuple[TestId, ...] = ()
    opposites: tuple[tuple[TestId, TestId], ...] = ()
    other_inputs: tuple[TestId, ...] = ()
    runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks(Record):
    """What was made for a task, None where it wasn't tried; `left_out` says what wasn't made, and why."""

    canaries: Canaries | None = None
    held_out: HeldOut | None = None
    left_out: tuple[str, ...] = ()
