"""Stage `checks`: canaries and held-out twins for a verified candidate, as far as its budget goes.

Nothing is rejected here: a task without canaries is a task. How much is made follows from the time that the
tests took when they were verified, which is looked up and not measured again, so that a second run of the
stage makes the same. A clock ends single runs only that take far longer than those did; the record says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from swequarry.config import ChecksSettings, meaning_of
from swequarry.ledger.keys import StoredOutcome
from swequarry.ledger.ledger import Ledger
from swequarry.outcome import Accepted
from swequarry.pipeline.observed import measured_times
from swequarry.pipeline.stage import StageContext, StageItem
from swequarry.pipeline.stages.house import House, stored
from swequarry.pipeline.stages.verified import VerifiedInput, room_of
from swequarry.records import (
    Checks,
    ContentHash,
)
from swequarry.verify.passes import RunProblem
from swequarry.verify.proofs import prove
from swequarry.verify.rig import Rig, WatchedRig

_COSTS = ((2, 22), (1, 15), (0, 8))
"""Turns of twins, and how many runs of the tests they and the canaries cost at most: one for each of the four
ways of a canary; in each turn three probes, and two runs of two files for every file; the same for copies."""
_LEFT_OUT = {
    1: ("a second turn of held-out twins",),
    0: ("held-out twins with other inputs",),
    None: ("canaries", "held-out twins"),
}
_SLOW, _SLOW_S = 10.0, 120.0
"""A run is ended after this many times the time of the tests, and not before so many seconds."""


def measured_time(ledger: Ledger, item: str) -> float | None:
    """Return the seconds of the quickest run after the fix, as the newest verification of an item saw it.

    Raises:
        StorageError: the ledger can't be read.
    """
    return min(measured_times(ledger, item), default=None)


def affordable_turns(settings: ChecksSettings, test_s: float | None) -> int | None:
    """Return how many turns of twins the budget allows; 0 is canaries alone, None nothing at all."""
    if test_s is None:
        return _COSTS[0][0]
    return next((turns for turns, runs in _COSTS if runs * test_s <= settings.budget_s), None)


def _watched(rig: Rig, test_s: float | None) -> WatchedRig:
    if test_s is not None:
        wall_s = min(rig.limits.wall_s, max(_SLOW_S, _SLOW * test_s))
        rig = replace(rig, limits=replace(rig.limits, wall_s=wall_s))
    return WatchedRig.of(rig)


@dataclass(frozen=True, slots=True)
class ChecksStage:
    """Makes the checks that grading has beside the hidden tests, and proves them on the gold patch."""

    house: House
    name: ClassVar[str] = "checks"
    version: ClassVar[int] = 1

    @property
    def settings_hash(self) -> ContentHash:
        """What may be made, and how tests are run."""
        settings = self.house.settings
        return meaning_of(settings.checks, settings.verify, settings.sandbox)

    def run(self, item: StageItem[VerifiedInput], context: StageContext) -> Sequence[StoredOutcome]:
        """Return the checks, which may be none."""
        settings, known = self.house.settings.checks, item.value
        turns = affordable_turns(settings, known.test_s)
        if not settings.enabled:
            checks = Checks(left_out=("canaries and held-out twins: checks.enabled is off",))
        elif turns is None:
            checks = Checks(left_out=_for_the_budget(turns))
        else:
            checks = self._make(known, turns, context)
        context.observe(test_s=known.test_s, turns=turns, left_out=list(checks.left_out))
        return [stored(item.key, Accepted(value=checks))]

    def _make(self, known: VerifiedInput, turns: int, context: StageContext) -> Checks:
        with room_of(self.house, known) as (rig, case):
            watched = _watched(rig, known.test_s)
            proven = prove(watched, case, context.blobs.put, turns=turns)
        context.observe(runs_s=[round(run.duration_s, 3) for run in watched.seen])
        left_out = _for_the_budget(turns)
        if any(RunProblem.WALL_LIMIT in run.problems for run in watched.seen):
            left_out = (*left_out, "what a run would have shown that was ended since it took too long")
        return Checks(canaries=proven.canaries, held_out=proven.held_out, left_out=left_out)


def _for_the_budget(turns: int | None) -> tuple[str, ...]:
    why = "checks.budget_s is too little for tests that take this long"
    return tuple(f"{what}: {why}" for what in _LEFT_OUT.get(turns, ()))
