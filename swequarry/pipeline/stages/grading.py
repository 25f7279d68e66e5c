"""What grading runs a candidate's tests with: its world, a workbench over its repository, its case."""

from collections.abc import Iterator
from contextlib import contextmanager

from swequarry.git.trees import TreeWorkbench
from swequarry.pipeline.stages.house import House
from swequarry.records import Candidate, Environment, Verification
from swequarry.sandbox.contract import World
from swequarry.verify.candidate import Case
from swequarry.verify.rig import Rig
from swequarry.verify.survey import Survey


@contextmanager
def grading_room(
    house: House,
    world: World,
    candidate: Candidate,
    environment: Environment,
    verification: Verification,
    survey: Survey | None = None,
) -> Iterator[tuple[Rig, Case]]:
    """Yield rig and case of a verified candidate; for one thread, any number of runs one after the other.

    Raises:
        PatchError, ObjectMissingError, StorageError: the trees of the case can't be made.
        RepositoryError: the repository isn't there.
    """
    get_blob = house.workspace.blobs.get
    with TreeWorkbench(house.repository(candidate.repo)) as bench:
        rig = Rig(
            world=world,
            bench=bench,
            backend=house.backend,
            limits=house.test_limits,
            get_blob=get_blob,
            test_timeout_s=float(house.settings.verify.test_timeout_s),
            survey=survey,
        )
        yield rig, Case.make(bench, candidate, verification, environment.recipe, get_blob)
