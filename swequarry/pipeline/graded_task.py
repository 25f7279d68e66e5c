"""Opens a verified task of a workspace for grading: its world is found and asked once for all."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from swequarry.errors import InputError
from swequarry.ledger.queries import accepted_of_stage
from swequarry.pipeline.observed import measured_times
from swequarry.pipeline.reasons import find_task
from swequarry.pipeline.reporting import SNAPSHOT, last_run, tasks_of
from swequarry.pipeline.stages.grading import grading_room
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.stages.worlds import world_named
from swequarry.records import Snapshot, Task
from swequarry.sandbox.contract import World
from swequarry.verify.candidate import Case
from swequarry.verify.rig import Rig
from swequarry.verify.survey import Survey, survey


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTask:
    """A task whose world is here, with what the pristine world offers; shared by any number of gradings.

    `gold_s` are the seconds of the runs with the fix that verified it; empty where they aren't known.
    """

    house: House
    task: Task
    world: World
    survey: Survey
    gold_s: tuple[float, ...] = ()

    @contextmanager
    def room(self) -> Iterator[tuple[Rig, Case]]:
        """Yield what gradings of one thread need, one after the other; every thread opens its own.

        Raises:
            PatchError, GitError, StorageError, RepositoryError: as `grading_room`.
        """
        task = self.task
        with grading_room(
            self.house, self.world, task.candidate, task.environment, task.verification, self.survey
        ) as (rig, case):
            verifier = task.verifier
            yield rig, replace(case, canaries=verifier.canaries, held_out=verifier.held_out)


def open_task(house: House, name: str | None = None) -> OpenTask:
    """Open a task of the newest run by its id or a unique part of it; the first one where none is named.

    Raises:
        InputError: there is no such task, or it was verified in another backend than the run's settings name.
        SandboxError: its world can't be made again, or doesn't answer.
    """
    task = _first_task(house) if name is None else find_task(house.workspace, name)
    environment = task.environment
    if environment.backend != house.backend.name:
        raise InputError(
            f"{task.instance_id} was verified in {environment.backend}, but the newest run's settings name "
            f"{house.backend.name}; run it again with these settings"
        )
    world = _world_of(house, task)
    found = survey(house.backend, world, environment.recipe, house.test_limits)
    gold_s = measured_times(house.workspace.ledger, task.instance_id)
    return OpenTask(house=house, task=task, world=world, survey=found, gold_s=gold_s)


def _world_of(house: House, task: Task) -> World:
    snapshot = _snapshot_of(house, task)
    world = world_named(house, snapshot, task.environment)
    if house.backend.has_world(world.key):
        return world
    from swequarry.pipeline.stages.environment import environment_world  # noqa: PLC0415 - seldom needed, and slow

    return environment_world(house, task.candidate, snapshot, task.environment)


def _first_task(house: House) -> Task:
    tasks = tasks_of(house.workspace, last_run(house.workspace).number)
    if not tasks:
        raise InputError(
            f"the newest run of {house.workspace.root} has no task; `swequarry status` says why, "
            "`swequarry demo` makes some"
        )
    return tasks[0]


def _snapshot_of(house: House, task: Task) -> Snapshot:
    for _, value in accepted_of_stage(house.workspace.ledger, SNAPSHOT, item=task.instance_id):
        snapshot = Snapshot.from_json(value)
        if snapshot.content_hash() == task.provenance.snapshot:
            return snapshot
    raise InputError(
        f"the ledger has no snapshot {task.provenance.snapshot} of {task.instance_id}; run it again"
    )
