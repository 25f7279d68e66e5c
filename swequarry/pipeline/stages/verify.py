"""Stage `verify`: run the hidden tests in every state, more than once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from swequarry.config import meaning_of
from swequarry.errors import ObjectMissingError
from swequarry.ledger.keys import StoredOutcome
from swequarry.pipeline.stage import StageContext, StageItem
from swequarry.pipeline.stages.environment import environment_world
from swequarry.pipeline.stages.house import House, stored
from swequarry.pipeline.stages.scopes import widening
from swequarry.pipeline.stages.worlds import deltas_of, missing_objects
from swequarry.records import Candidate, ContentHash, Environment, Snapshot, State
from swequarry.verify.lfs import blame_pointers
from swequarry.verify.verifier import verify


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyInput:
    """A candidate in its world."""

    candidate: Candidate
    snapshot: Snapshot
    environment: Environment


@dataclass(frozen=True, slots=True)
class VerifyStage:
    """Asks the Execution Verifier for FAIL_TO_PASS and PASS_TO_PASS."""

    house: House
    name: ClassVar[str] = "verify"
    version: ClassVar[int] = 4

    @property
    def settings_hash(self) -> ContentHash:
        """How tests are run, and within which limits."""
        return meaning_of(self.house.settings.verify, self.house.settings.sandbox)

    def run(self, item: StageItem[VerifyInput], context: StageContext) -> Sequence[StoredOutcome]:
        """Return what the runs measured."""
        house, known = self.house, item.value
        try:
            deltas = deltas_of(house, known.candidate)
        except ObjectMissingError as error:
            return [stored(item.key, missing_objects(error))]
        world = environment_world(house, known.candidate, known.snapshot, known.environment)
        outcome, observed = verify(
            known.candidate,
            world,
            known.environment,
            deltas,
            house.backend,
            house.settings.verify,
            house.test_limits,
            context.blobs.put,
            widen=widening(house, known.candidate, world, known.environment.recipe, deltas),
        )
        context.observe(**observed)
        outcome = blame_pointers(outcome, known.snapshot.lfs_pointers, deltas[State.AFTER])
        return [stored(item.key, outcome)]
