"""Why two graders may say different things of one patch: rules, each with a name, and what they look at.

A difference that no rule explains is a defect of one of the graders or of the export.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from benchmarks.harnesses import Told
from swequarry.pipeline.grader import Graded
from swequarry.records import TestId, TestOutcome
from swequarry.verify.grade import Reason, Verdict

_BEYOND = frozenset({Reason.CANARY, Reason.HELD_OUT, Reason.REPORT})
_SETTINGS = "R2 at "


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """What ours and another grader said of a patch. `dropped` are the tests that its export lacks."""

    ours: Graded
    tool: str
    theirs: Told
    dropped: frozenset[TestId] = frozenset()

    @property
    def same(self) -> bool:
        """Whether both say the same; who can't say anything agrees with nobody."""
        return self.ours.verdict is not Verdict.INFRA_FAILED and self.theirs.resolved is self.ours.resolved

    @property
    def only_theirs(self) -> bool:
        """Whether the other one resolves it and ours doesn't."""
        return bool(self.theirs.resolved) and not self.ours.resolved

    def failed_only(self, outcome: TestOutcome, tests: Collection[TestId]) -> bool:
        """Whether all tests that failed in ours are some of these, with one outcome."""
        failed = self.ours.failed
        return bool(failed) and all(test in tests and found is outcome for test, found in failed)


def explain(pair: Pair, fail_to_pass: Collection[TestId], pass_to_pass: Collection[TestId]) -> str | None:
    """Return the rule that explains a difference; `same` where there is none, None without a rule."""
    if pair.same:
        return "same"
    both = (*fail_to_pass, *pass_to_pass)
    rules: dict[str, Callable[[], bool]] = {
        "machinery": lambda: pair.ours.verdict is Verdict.INFRA_FAILED or pair.theirs.resolved is None,
        "beyond the hidden tests": lambda: pair.only_theirs and pair.ours.reason in _BEYOND,
        "patch taken with fuzz": lambda: (
            pair.tool == "swebench" and pair.only_theirs and pair.ours.reason is Reason.NO_PATCH
        ),
        "skipped PASS_TO_PASS counts there": lambda: (
            pair.tool == "swebench"
            and pair.only_theirs
            and pair.failed_only(TestOutcome.SKIPPED, pass_to_pass)
        ),
        "xfail counts there": lambda: (
            pair.tool == "swebench" and pair.only_theirs and pair.failed_only(TestOutcome.XFAILED, both)
        ),
        "test dropped from the export": lambda: (
            pair.only_theirs
            and bool(pair.ours.failed)
            and {test for test, _ in pair.ours.failed} <= pair.dropped
        ),
        "settings of pytest": lambda: any(note.startswith(_SETTINGS) for note in pair.ours.notes),
    }
    return next((name for name, holds in rules.items() if holds()), None)
