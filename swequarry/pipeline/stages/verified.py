"""What the stages take that look closer at a verified candidate's tests, and the room they run them in."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from swequarry.pipeline.stages.environment import environment_world
from swequarry.pipeline.stages.grading import grading_room
from swequarry.pipeline.stages.house import House
from swequarry.records import Candidate, Environment, Snapshot, Verification
from swequarry.verify.candidate import Case
from swequarry.verify.rig import Rig


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedInput:
    """A verified candidate in its world. `test_s` is what a run of its tests took, where that is known.

    It isn't part of the input's hash: it only decides between what a long suite may cost and what not.
    """

    candidate: Candidate
    snapshot: Snapshot
    environment: Environment
    verification: Verification
    test_s: float | None = None


@contextmanager
def room_of(house: House, known: VerifiedInput) -> Iterator[tuple[Rig, Case]]:
    """Yield rig and case of a verified candidate.

    Raises:
        SandboxError: its world isn't stored any more, and can't be made again.
        PatchError, ObjectMissingError, StorageError, RepositoryError: as `grading_room`.
    """
    world = environment_world(house, known.candidate, known.snapshot, known.environment)
    with grading_room(house, world, known.candidate, known.environment, known.verification) as room:
        yield room
