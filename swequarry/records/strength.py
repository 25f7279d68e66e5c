"""What wrong fixes of a task were tried, and which of them its hidden tests let pass."""

from dataclasses import dataclass
from enum import StrEnum

from swequarry.records.base import BlobHash, Record


class WrongFixKind(StrEnum):
    """How a wrong fix is made of the gold patch."""

    NO_OP = "no_op"
    FILE_LEFT_OUT = "file_left_out"
    HUNK_LEFT_OUT = "hunk_left_out"
    EMPTY_BODY = "empty_body"
    MUTANT = "mutant"


class Fate(StrEnum):
    """What became of a wrong fix.

    KILLED and TIMED_OUT were rejected; SURVIVED passed every hidden test, UNREACHED too, because no test runs
    the line. EQUIVALENT does the same as gold, provably, or is about texts that nobody runs. UNMEASURED says
    nothing: the machinery broke twice.
    """

    KILLED = "killed"
    TIMED_OUT = "timed_out"
    SURVIVED = "survived"
    UNREACHED = "unreached"
    EQUIVALENT = "equivalent"
    UNMEASURED = "unmeasured"


REJECTED = frozenset({Fate.KILLED, Fate.TIMED_OUT})
PASSED = frozenset({Fate.SURVIVED, Fate.UNREACHED})


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongFix(Record):
    """One wrong fix: where it differs from gold, and what the hidden tests said.

    `operator` says more of mutants; `line` is of the file after the fix, 0 where the fix isn't about a line.
    `diff` names a blob: the patch from gold to the wrong fix.
    """

    kind: WrongFixKind
    fate: Fate
    path: str
    line: int = 0
    operator: str = ""
    diff: BlobHash
    likely_equivalent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldCoverage(Record):
    """Which changed lines and branches of gold the hidden tests ran.

    Lines are those that gold wrote and that hold code, branches the two ways out of each condition on them.
    `uncovered` are (path, line). `whole` is false where tests start processes of their own or take the
    tracing away: more may have run than was seen.
    """

    lines: int = 0
    covered_lines: int = 0
    branches: int = 0
    covered_branches: int = 0
    uncovered: tuple[tuple[str, int], ...] = ()
    whole: bool = True

    @property
    def line_share(self) -> float:
        """The share of changed lines that ran; 1 where gold wrote none that hold code."""
        return self.covered_lines / self.lines if self.lines else 1.0

    @property
    def branch_share(self) -> float:
        """The share of branches that were taken; 1 where there are none."""
        return self.covered_branches / self.branches if self.branches else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Strength(Record):
    """The strength of a task's hidden tests, with all that it was computed from.

    `coverage` is None where it couldn't be measured. `more_mutants` counts those that could be made and
    weren't chosen, `not_tried` the chosen wrong fixes for which there was no time.
    """

    wrong_fixes: tuple[WrongFix, ...]
    coverage: GoldCoverage | None = None
    more_mutants: int = 0
    not_tried: int = 0

    @property
    def share(self) -> float | None:
        """Rejected wrong fixes per wrong fix with a verdict; None where there is none."""
        rejected, passed = self.count(REJECTED), self.count(PASSED)
        return rejected / (rejected + passed) if rejected + passed else None

    @property
    def survivors(self) -> tuple[WrongFix, ...]:
        """The wrong fixes that every hidden test lets pass."""
        return tuple(fix for fix in self.wrong_fixes if fix.fate in PASSED)

    @property
    def needless_hunks(self) -> tuple[WrongFix, ...]:
        """The hunks of gold that no hidden test needs."""
        return tuple(fix for fix in self.survivors if fix.kind is WrongFixKind.HUNK_LEFT_OUT)

    @property
    def hunks_needed(self) -> tuple[int, int]:
        """How many hunks of gold the hidden tests need, of how many that were left out in turn.

        Where gold is one hunk, leaving it out is doing nothing, and counted as that.
        """
        needed = self.count(REJECTED, WrongFixKind.HUNK_LEFT_OUT)
        return needed, needed + self.count(PASSED, WrongFixKind.HUNK_LEFT_OUT)

    def count(self, fates: frozenset[Fate], kind: WrongFixKind | None = None) -> int:
        """Count the wrong fixes with one of some fates, of one kind or of all."""
        return sum(1 for fix in self.wrong_fixes if fix.fate in fates and kind in (None, fix.kind))
