"""Opens tasks of a released set for runs: from the workspace that made them, or from the release alone.

Patches, locks and snapshots that the workspace lacks come from the release and the mirror, and count only if
they have the hashes of the record. A world that isn't stored is built again from its lock.
"""

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from reconstruct.environment.locks import LockedPackage, compare, parse_lock
from swequarry.delta import TreeDelta
from swequarry.errors import InputError, SandboxError
from swequarry.export.formats import exporter_of
from swequarry.export.releases.read import Dataset
from swequarry.export.selection import RECORDS
from swequarry.ledger.attempts import AttemptStatus
from swequarry.ledger.blobs import Blobs
from swequarry.ledger.queries import accepted_of_stage, attempts_of
from swequarry.pipeline.stages.environment import environment_world
from swequarry.pipeline.stages.grading import grading_room
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.stages.snapshot import SnapshotStage, take
from swequarry.pipeline.stages.verify import VerifyStage
from swequarry.records import BlobHash, Snapshot, Task, sha256_hex
from swequarry.sandbox.contract import PYTHON, Command, World
from swequarry.sandbox.index_pages import normalise
from swequarry.verify.candidate import Case
from swequarry.verify.rig import Rig
from swequarry.verify.survey import survey

_INVENTORY = """
import json, platform
try:
    from importlib.metadata import distributions
    found = {d.metadata["Name"]: d.version for d in distributions() if d.metadata["Name"]}
except ImportError:
    import pkg_resources
    found = {d.project_name: d.version for d in pkg_resources.working_set}
print()
print(json.dumps({"python": platform.python_version(), "packages": found}))
"""


def supply_blobs(dataset: Dataset, blobs: Blobs) -> None:
    """Put what the release holds of patches and locks where a workspace lacks it.

    Raises:
        InputError: files of the release can't be read.
        StorageError: the blob store can't be written.
    """
    absent = {blob for task in dataset.tasks.values() for blob in _blobs_of(task) if not blobs.has(blob)}
    if not absent:
        return
    for data in _contents(dataset):
        if sha256_hex(data) in absent:
            blobs.put(data)


def _blobs_of(task: Task) -> tuple[BlobHash, ...]:
    return task.candidate.gold_patch, task.candidate.test_patch, task.environment.lock


def _contents(dataset: Dataset) -> Iterator[bytes]:
    exporter = exporter_of(dataset.format)
    for folder in dataset.folders.values():
        for task in exporter.read_back(folder):
            yield task.patch
            yield task.test_patch
        for path in sorted((folder / RECORDS / "environments").glob("*.lock")):
            yield path.read_bytes()


@dataclass(frozen=True, slots=True)
class ReleasedTasks:
    """The way to the worlds of released tasks, for several threads; `making` lets one build at a time."""

    house: House
    making: threading.Lock = field(default_factory=threading.Lock)

    def world(self, task: Task) -> World:
        """Return the world of a task, made again where it isn't stored.

        Raises:
            WorldChangedError: the index no longer gives what the lock names.
            InputError: it was verified in another backend than the settings name.
            SandboxError, GitError, RepositoryError, IndexUnavailableError, StorageError: the machinery broke.
        """
        if task.environment.backend != self.house.backend.name:
            raise InputError(
                f"{task.instance_id} was verified in {task.environment.backend}, the settings name "
                f"{self.house.backend.name}; set sandbox.backend"
            )
        with self.making:
            snapshot = self._snapshot(task)
            return environment_world(self.house, task.candidate, snapshot, task.environment)

    def _snapshot(self, task: Task) -> Snapshot:
        wanted, ledger = task.initial_state.snapshot, self.house.workspace.ledger
        for _, value in accepted_of_stage(ledger, SnapshotStage.name, item=task.instance_id):
            snapshot = Snapshot.from_json(value)
            if snapshot.content_hash() == wanted:
                return snapshot
        for house in (self.house, _with_history(self.house, task.initial_state.history)):
            snapshot = take(house, task.candidate)
            if snapshot.content_hash() == wanted:
                return snapshot
        raise SandboxError(
            f"the mirror of {task.candidate.repo.full_name} here gives another snapshot of "
            f"{task.candidate.base_commit} than {wanted}: is it whole, with those of its submodules, and is "
            "`history` what it was?"
        )

    @contextmanager
    def room(self, task: Task, world: World) -> Iterator[tuple[Rig, Case]]:
        """Yield rig and case of a task, for one thread; nothing beside the hidden tests is in the case.

        Raises:
            SandboxError, GitError, PatchError, StorageError, RepositoryError: as `grading_room` and `survey`.
        """
        house = self.house
        found = survey(house.backend, world, task.environment.recipe, house.test_limits)
        with grading_room(house, world, task.candidate, task.environment, task.verification, found) as (
            rig,
            case,
        ):
            yield rig, replace(case, canaries=None, held_out=None)

    def differences(self, task: Task, world: World) -> Sequence[str]:
        """Return how the packages of a world differ from the task's lock.

        Raises:
            SandboxError: the world runs with another Python than the task's: this machine's, and no verdict.
        """
        command = Command(argv=(PYTHON, "-c", _INVENTORY), variables=dict(task.environment.recipe.variables))
        result = self.house.backend.run_once(world, TreeDelta(), command, self.house.test_limits)
        try:
            found = json.loads(result.output.strip().splitlines()[-1])
            python, packages = str(found["python"]), dict(found["packages"])
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise SandboxError("the world's Python doesn't say what is installed") from error
        if python != task.environment.python_version:
            raise SandboxError(
                f"verified with Python {task.environment.python_version}, the world now runs {python}; "
                "check on a machine that has the former"
            )
        lock = self.house.workspace.blobs.get(task.environment.lock).decode("utf-8", "replace")
        return _told(parse_lock(lock), packages)

    def moments(self, task: Task) -> tuple[datetime, ...]:
        """Return when a task is known to have done what it should: verified here, and merged."""
        cutoff = task.candidate.cutoff
        merged = cutoff if cutoff.tzinfo else cutoff.replace(tzinfo=UTC)
        return (*self._verified_at(task), merged)

    def _verified_at(self, task: Task) -> Iterable[datetime]:
        for attempt in reversed(attempts_of(self.house.workspace.ledger, [task.instance_id])):
            if attempt.key.stage == VerifyStage.name and attempt.status is AttemptStatus.DONE:
                return (datetime.fromtimestamp(attempt.started_at, UTC),)
        return ()


def _with_history(house: House, history: str) -> House:
    kept: str | int = int(history) if history.isdigit() else history
    return House(house.settings.model_copy(update={"history": kept}), house.workspace)


def _told(locked: Sequence[LockedPackage], packages: Mapping[str, str]) -> tuple[str, ...]:
    """Return what of a lock isn't installed as it says; the project itself is in no lock."""
    present = {normalise(name): version for name, version in packages.items()}
    found = compare(locked, packages, frozenset())
    wanted = {package.name: package.version for package in locked}
    return (
        *(f"{name} {wanted[name]} is gone" for name in found.missing),
        *(f"{name} is {present[name]} instead of {wanted[name]}" for name in found.other_version),
    )
