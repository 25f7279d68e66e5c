"""Stage `strength`: which wrong fixes the hidden tests reject, and which they let pass.

Nothing is rejected here: how strong a task's tests are is for its readers to judge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from swequarry.config import meaning_of
from swequarry.ledger.keys import StoredOutcome
from swequarry.outcome import Accepted
from swequarry.pipeline.stage import StageContext, StageItem
from swequarry.pipeline.stages.house import House, stored
from swequarry.pipeline.stages.stability import matrix_of
from swequarry.pipeline.stages.verified import VerifiedInput, room_of
from swequarry.records import (
    ContentHash,
    Strength,
    TestId,
)
from swequarry.verify.mutation_fixes import FixLimits
from swequarry.verify.strength import measure_strength


@dataclass(frozen=True, slots=True)
class StrengthStage:
    """Tries wrong fixes on a candidate's hidden tests, within a budget of time."""

    house: House
    name: ClassVar[str] = "strength"
    version: ClassVar[int] = 1

    @property
    def settings_hash(self) -> ContentHash:
        """How many wrong fixes are tried for how long, and how tests are run."""
        settings = self.house.settings
        return meaning_of(settings.strength, settings.verify, settings.sandbox)

    def run(self, item: StageItem[VerifiedInput], context: StageContext) -> Sequence[StoredOutcome]:
        """Return the strength; one without wrong fixes where it is switched off."""
        settings, house, known = self.house.settings.strength, self.house, item.value
        if not settings.enabled:
            return [stored(item.key, Accepted(value=Strength(wrong_fixes=())))]
        with room_of(house, known) as (rig, case):
            outcome, observed = measure_strength(
                rig,
                case,
                context.blobs.put,
                FixLimits(mutants=settings.mutants),
                budget_s=settings.budget_s,
                gold_s=known.test_s,
                ignored=frozenset(TestId(test) for test in matrix_of(house, known.verification)["tests"]),
            )
        context.observe(**observed)
        return [stored(item.key, outcome)]
