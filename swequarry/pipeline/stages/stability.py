"""Stage `stability`: which hidden tests depend on what they shouldn't, and what that leaves of the task."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from swequarry.config import meaning_of
from swequarry.ledger.keys import StoredOutcome
from swequarry.outcome import Accepted, Outcome, RejectCode, Rejected
from swequarry.pipeline.stage import StageContext, StageItem
from swequarry.pipeline.stages.house import House, stored
from swequarry.pipeline.stages.verified import VerifiedInput, room_of
from swequarry.pipeline.stages.worlds import deltas_of
from swequarry.records import (
    ContentHash,
    Stability,
    State,
    TestId,
    Verification,
)
from swequarry.verify.perturbations import find_clock
from swequarry.verify.stability_measure import known_runs, measure_stability, without_unstable
from swequarry.verify.stability_runs import DEEP, DEFAULT, Known

_BUDGETS = {"default": DEFAULT, "deep": DEEP}
_LOOKED_AT = (State.AFTER, State.BEFORE)
_LONG_RUN_S = 60.0
"""From this on tests that fail after the fix aren't run: no list has them; they may wait for a network."""
_EVIDENCE = 20


@dataclass(frozen=True, slots=True)
class StabilityStage:
    """Perturbs runs of a candidate's tests; rejects it where every test that the fix turns is unstable."""

    house: House
    name: ClassVar[str] = "stability"
    version: ClassVar[int] = 2

    @property
    def settings_hash(self) -> ContentHash:
        """How much is spent, and how tests are run."""
        settings = self.house.settings
        return meaning_of(settings.stability, settings.verify, settings.sandbox)

    def run(self, item: StageItem[VerifiedInput], context: StageContext) -> Sequence[StoredOutcome]:
        """Return the stability, or UNSTABLE with what each test depends on."""
        budget = _BUDGETS.get(self.house.settings.stability.budget)
        if budget is None:
            return [stored(item.key, Accepted(value=Stability(complete=False)))]
        house, known = self.house, item.value
        deltas = deltas_of(house, known.candidate)
        matrix = matrix_of(house, known.verification)
        with room_of(house, known) as (rig, case):
            outcome, observed = measure_stability(
                rig,
                case.recipe,
                {state: deltas[state] for state in _LOOKED_AT},
                case.test_files,
                find_clock(house.backend, rig.world, house.test_limits, datetime.now(UTC)),
                context.blobs.put,
                budget,
                known_of(known, matrix),
            )
        context.observe(**observed)
        return [stored(item.key, judge(outcome, known.verification, matrix))]


def matrix_of(house: House, verification: Verification) -> Mapping[str, Any]:
    """Return every test's outcome in every run of a verification.

    Raises:
        StorageError: it isn't in the blob store.
    """
    if verification.matrix is None:
        return {"tests": {}}
    found: dict[str, Any] = json.loads(house.workspace.blobs.get(verification.matrix))
    return found


def known_of(known: VerifiedInput, matrix: Mapping[str, Any]) -> Known:
    """Return what the verification tells a search."""
    verification = known.verification
    aside = {test.id for test in verification.quarantined}
    judged = frozenset((*verification.fail_to_pass, *verification.pass_to_pass)) | aside
    rest = frozenset(TestId(test) for test in matrix["tests"]) - judged
    return Known(
        seen=known_runs(matrix, _LOOKED_AT),
        bare_s=known.test_s or 0.0,
        judged=judged,
        turning=frozenset(verification.fail_to_pass),
        left_out=rest if (known.test_s or 0.0) > _LONG_RUN_S else frozenset(),
    )


def judge(
    outcome: Outcome[Stability], verification: Verification, matrix: Mapping[str, Any]
) -> Outcome[Stability]:
    """Reject a candidate of which no test that the fix turns is stable."""
    if not isinstance(outcome, Accepted):
        return outcome
    left = without_unstable(verification, outcome.value, matrix)
    if left.fail_to_pass:
        return outcome
    lost = frozenset(verification.fail_to_pass)
    reasons = {test.id: test.reason for test in left.quarantined if test.id in lost}
    named = ", ".join(sorted(set(reasons.values())))
    return Rejected(
        code=RejectCode.UNSTABLE,
        message=f"every test that the fix turns is unstable: {named}",
        evidence=tuple(evidence_of(outcome.value, frozenset(reasons))[:_EVIDENCE]),
    )


def evidence_of(stability: Stability, tests: frozenset[TestId]) -> list[str]:
    """Return a line for each unstable test of some: its reason, and what it did under which perturbation."""
    lines = []
    for test in stability.unstable:
        if test.id in tests and test.reason is not None:
            done = (
                f"{label}: {' '.join(outcome.value for outcome in each)}" for label, each in test.outcomes
            )
            lines.append(f"{test.id} ({test.state.value}): {test.reason.value}; {', '.join(done)}")
    return lines
