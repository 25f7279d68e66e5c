"""Stage `testwriter`: proven tests for a candidate that has none, or whose tests let wrong fixes pass."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from swequarry.config import WritingSettings, meaning_of
from swequarry.git.trees import TreeWorkbench
from swequarry.ledger.keys import StoredOutcome
from swequarry.outcome import Accepted, Outcome, RejectCode, Rejected
from swequarry.pipeline.model_writing import ModelDesk
from swequarry.pipeline.stage import StageContext, StageItem
from swequarry.pipeline.stages.environment import environment_world
from swequarry.pipeline.stages.house import House, stored
from swequarry.records import Candidate, ContentHash, Environment, Snapshot, Strength, Writing
from swequarry.verify.perturbations import Clock, find_clock
from swequarry.verify.rig import Rig
from swequarry.verify.states import state_trees
from testwriter.engine import Put
from testwriter.interface import Writer
from testwriter.proof.runs import Stand
from testwriter.write import Allowed, Assignment, write_tests
from testwriter.writers.differential import DifferentialWriter
from testwriter.writers.issue import IssueWriter
from testwriter.writers.neighbours import NeighbourWriter

WRITERS: tuple[tuple[str, Callable[[Stand], Writer]], ...] = (
    ("issue", lambda _: IssueWriter()),
    ("neighbours", NeighbourWriter),
    ("differential", DifferentialWriter),
)
"""Who is asked, in this order: the issue's own words first, runs of gold last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingInput:
    """A candidate in its world, and the strength of its tests: None where it has no tests yet."""

    candidate: Candidate
    snapshot: Snapshot
    environment: Environment
    strength: Strength | None = None


@dataclass(frozen=True, slots=True)
class TestWriterStage:
    """Asks the TestWriter; a candidate without tests for which nothing is proven is rejected."""

    house: House
    name: ClassVar[str] = "testwriter"
    version: ClassVar[int] = 1
    __test__: ClassVar[bool] = False

    @property
    def settings_hash(self) -> ContentHash:
        """What may be written, and how tests are run."""
        settings = self.house.settings
        model = ModelDesk(self.house, settings.llm)
        return meaning_of(settings.testwriter, settings.verify, settings.sandbox, *model.meaning())

    def run(self, item: StageItem[WritingInput], context: StageContext) -> Sequence[StoredOutcome]:
        """Return what was written, or NO_TEST_CHANGE with why nothing was admitted."""
        known, settings = item.value, self.house.settings.testwriter
        if not settings.enabled:
            off = Writing(left_out=("tests: testwriter.enabled is off",))
            return [stored(item.key, judged(Accepted(value=off), known.candidate))]
        model = ModelDesk(self.house, self.house.settings.llm)
        try:
            outcome, observed = written(
                self.house, known, settings, context.blobs.put, (*WRITERS, *model.writers())
            )
        finally:
            context.observe(**model.observed())
        context.observe(**observed)
        return [stored(item.key, judged(outcome, known.candidate))]


def written(
    house: House,
    known: WritingInput,
    settings: WritingSettings,
    put_blob: Put,
    writers: Sequence[tuple[str, Callable[[Stand], Writer]]] = WRITERS,
) -> tuple[Outcome[Writing], dict[str, object]]:
    """Return what the TestWriter makes of a candidate, and what was observed.

    Raises:
        SandboxError: its world isn't stored any more, and can't be made again.
        PatchError, ObjectMissingError, StorageError, RepositoryError: its trees can't be made.
    """
    candidate, get_blob = known.candidate, house.workspace.blobs.get
    world = environment_world(house, candidate, known.snapshot, known.environment)
    with TreeWorkbench(house.repository(candidate.repo)) as bench:
        before, after = state_trees(bench, candidate, get_blob)
        rig = Rig(
            world=world,
            bench=bench,
            backend=house.backend,
            limits=house.test_limits,
            get_blob=get_blob,
            test_timeout_s=float(house.settings.verify.test_timeout_s),
        )
        given = Assignment(
            candidate=candidate,
            recipe=known.environment.recipe,
            base=candidate.base_tree,
            before=before,
            after=after,
            strength=known.strength,
        )

        def clock() -> Clock:
            return find_clock(house.backend, world, house.test_limits, datetime.now(UTC))

        allowed = Allowed(budget_runs=settings.budget_runs, runs=settings.runs, added=settings.added)
        return write_tests(rig, given, clock, writers, put_blob, allowed)


def judged(outcome: Outcome[Writing], candidate: Candidate) -> Outcome[Writing]:
    """Reject a candidate that has no test, and got none."""
    if candidate.test_files or not isinstance(outcome, Accepted) or outcome.value.added:
        return outcome
    refused = outcome.value.refused
    told = [f"{one.method}: {', '.join(one.reasons)}" for one in refused] or list(outcome.value.left_out)
    return Rejected(
        code=RejectCode.NO_TEST_CHANGE,
        message=f"the pull request changes no test, and none of {len(refused)} that were written is proven",
        evidence=tuple(dict.fromkeys(told))[:20],
    )
