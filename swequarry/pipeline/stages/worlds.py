"""What stages need to know of a candidate's worlds and states."""

from swequarry.delta import TreeDelta
from swequarry.errors import ObjectMissingError
from swequarry.git.trees import TreeWorkbench
from swequarry.outcome import RejectCode, Rejected
from swequarry.pipeline.stages.house import House
from swequarry.records import Candidate, Environment, Snapshot, State, canonical_json, sha256_hex
from swequarry.sandbox.contract import World
from swequarry.verify.states import state_deltas


def deltas_of(house: House, candidate: Candidate) -> dict[State, TreeDelta]:
    """Return what each state changes, from the candidate's patches.

    Raises:
        PatchError: a stored patch no longer applies.
        ObjectMissingError: a changed file is missing from the mirror.
    """
    with TreeWorkbench(house.repository(candidate.repo)) as workbench:
        return state_deltas(workbench, candidate, house.workspace.blobs.get)


def missing_objects(error: ObjectMissingError) -> Rejected:
    """Return the rejection of a candidate whose changed files a partial mirror lacks."""
    message = "a file that the change touches is missing from the mirror; use a full clone"
    return Rejected(code=RejectCode.MISSING_OBJECTS, message=message, evidence=(str(error),))


def base_key(snapshot: Snapshot) -> str:
    """Return the key of the world that a snapshot is stored as."""
    return f"base-{snapshot.content_hash()}"


def environment_key(base: str, environment: Environment) -> str:
    """Return the key that the builder stores an environment's world under."""
    return "environment-" + sha256_hex(canonical_json([base, environment.identity()]))


def world_named(house: House, snapshot: Snapshot, environment: Environment) -> World:
    """Return the world of an environment by its name, whether it is stored or not."""
    return World(backend=house.backend.name, key=environment_key(base_key(snapshot), environment))
