"""Opens a verified task of a workspace for grading: its world is found and asked once for all."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from swequarry.errors import InputError
from swequarry.ledger.queries import accepted_of_stage
from swequarry.pipeline.reasons import find_task
from swequarry.pipeline.reporting import last_run, tasks_of
from swequarry.pipeline.stages.environment import environment_world
from swequarry.pipeline.stages.grading import grading_room
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.stages.snapshot import SnapshotStage
from swequarry.records import Snapshot, Task
from swequarry.sandbox.contract import World
from swequarry.verify.candidate import Case
from swequarry.verify.rig import Rig
from swequarry.verify.survey import Survey, survey

Room = TypeVar("Room")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTask:
    """A task whose world is here, with what the pristine world offers; shared by any number of gradings."""

    house: House
    task: Task
    world: World
    survey: Survey

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


class Rooms(Generic[Room]):
    """Rooms that threads enter in turn: one that nobody is in is used again, and all are left by `close`."""

    def __init__(self, make: Callable[[], AbstractContextManager[Room]]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._free: list[Room] = []
        self._held = ExitStack()

    @contextmanager
    def enter(self) -> Iterator[Room]:
        """Yield a room that no other thread is in; a new one where all are taken.

        Raises:
            PatchError, GitError, StorageError, RepositoryError: as `OpenTask.room`.
        """
        with self._lock:
            room = self._free.pop() if self._free else None
        if room is None:
            made = self._make()
            room = made.__enter__()
            with self._lock:
                self._held.push(made)
        try:
            yield room
        finally:
            with self._lock:
                self._free.append(room)

    def close(self) -> None:
        """Leave all rooms; nobody is in one."""
        self._held.close()


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
    world = environment_world(house, task.candidate, _snapshot_of(house, task), environment)
    found = survey(house.backend, world, environment.recipe, house.test_limits)
    return OpenTask(house=house, task=task, world=world, survey=found)


def _first_task(house: House) -> Task:
    tasks = tasks_of(house.workspace, last_run(house.workspace).number)
    if not tasks:
        raise InputError(
            f"the newest run of {house.workspace.root} has no task; `swequarry status` says why, "
            "`swequarry demo` makes some"
        )
    return tasks[0]


def _snapshot_of(house: House, task: Task) -> Snapshot:
    for _, value in accepted_of_stage(house.workspace.ledger, SnapshotStage.name, item=task.instance_id):
        snapshot = Snapshot.from_json(value)
        if snapshot.content_hash() == task.provenance.snapshot:
            return snapshot
    raise InputError(
        f"the ledger has no snapshot {task.provenance.snapshot} of {task.instance_id}; run it again"
    )
