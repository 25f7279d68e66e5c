"""What runs showed beside their verdict, and how long those took that verified a task."""

from collections.abc import Sequence
from dataclasses import replace

from swequarry.ledger.attempts import AttemptStatus
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.queries import attempts_of
from swequarry.records import Reviewed, ReviewFinding, ReviewSeverity, State

VERIFY = "verify"
SLOW = "slow-tests"
_SLOW_TIMES, _SLOW_MORE_S, _SPREADS = 2.0, 2.0, 3.0


def measured_times(ledger: Ledger, item: str) -> tuple[float, ...]:
    """Return the seconds of each run after the fix, as the newest verification of an item saw them.

    Raises:
        StorageError: the ledger can't be read.
    """
    for attempt in reversed(attempts_of(ledger, [item])):
        if attempt.key.stage == VERIFY and attempt.status is AttemptStatus.DONE:
            runs = [run for run in attempt.observed.get("runs", ()) if run["state"] == State.AFTER.value]
            return tuple(float(run["duration_s"]) for run in runs)
    return ()


def slow_tests(took_s: float | None, gold_s: Sequence[float]) -> ReviewFinding | None:
    """Return a finding where the hidden tests took much longer than with the fix: beyond what runs differ by.

    Seconds of one run with the patch and of those that verified the task. Much is more than twice the slowest
    of these, two seconds more, and beyond it by three times what they differ by: they were made at another
    time, so this wants a look and stops nothing.
    """
    if took_s is None or not gold_s:
        return None
    slowest, spread = max(gold_s), max(gold_s) - min(gold_s)
    if took_s <= max(_SLOW_TIMES * slowest, slowest + _SLOW_MORE_S, slowest + _SPREADS * spread):
        return None
    said = f"the hidden tests took {took_s:.1f} s, with the fix {min(gold_s):.1f} to {slowest:.1f} s"
    return ReviewFinding(rule=SLOW, severity=ReviewSeverity.WARN, message=said)


def with_observed(review: Reviewed, observed: Sequence[ReviewFinding]) -> Reviewed:
    """Return a review with what was observed beside what the rules say, worst first."""
    order = list(ReviewSeverity)
    found = sorted((*review.findings, *observed), key=lambda one: order.index(one.severity))
    return replace(review, findings=tuple(found))
