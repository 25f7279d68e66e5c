"""Stage `snapshot`: the sealed repository at the base commit, stored as a world."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from swequarry.config import meaning_of
from swequarry.errors import SandboxError
from swequarry.git.snapshot import make_snapshot
from swequarry.ledger.keys import StoredOutcome
from swequarry.outcome import Accepted, Outcome, RejectCode, Rejected
from swequarry.pipeline.stage import StageContext, StageItem
from swequarry.pipeline.stages.house import House, stored
from swequarry.pipeline.stages.trees import complete_base, scratch_folder
from swequarry.pipeline.stages.worlds import base_key
from swequarry.records import Candidate, ContentHash, Snapshot
from swequarry.sandbox.contract import World


def take(house: House, candidate: Candidate) -> Snapshot:
    """Make the snapshot of a candidate and store it as a world, unless it is stored already.

    Raises:
        GitError: the repository can't be read.
        IndexUnavailableError: files are absent, and the index that may have them can't be reached.
        SandboxError: the world can't be stored.
    """
    repository = complete_base(house, candidate)
    with scratch_folder(house) as folder:
        tree = folder / "testbed"
        snapshot = make_snapshot(
            repository,
            candidate.base_commit,
            tree,
            candidate.repo,
            history=house.settings.history,
            fix=house.workspace.blobs.get(candidate.gold_patch),
            locate=house.locator.at_hand,
        )
        if not snapshot.audit.findings:
            house.backend.import_tree(tree, base_key(snapshot))
    return snapshot


def base_world(house: House, candidate: Candidate, snapshot: Snapshot) -> World:
    """Return the world of a snapshot, made again where it isn't stored any more.

    Raises:
        SandboxError: the repository now gives another snapshot.
    """
    key = base_key(snapshot)
    if not house.backend.has_world(key) and base_key(take(house, candidate)) != key:
        raise SandboxError(
            f"the snapshot of {candidate.instance_id} can't be made again as it was: the mirrors of the "
            "repository or of its submodules hold other objects than then; bring them back, or start anew"
        )
    return World(backend=house.backend.name, key=key)


@dataclass(frozen=True, slots=True)
class SnapshotStage:
    """Freezes the repository at the base commit, and rejects what isn't sealed."""

    house: House
    name: ClassVar[str] = "snapshot"
    version: ClassVar[int] = 3

    @property
    def settings_hash(self) -> ContentHash:
        """How much history stays."""
        return meaning_of(str(self.house.settings.history))

    def run(self, item: StageItem[Candidate], context: StageContext) -> Sequence[StoredOutcome]:
        """Return the snapshot, or LEAK with what the audit found."""
        snapshot = take(self.house, item.value)
        context.observe(objects=snapshot.audit.objects)
        return [stored(item.key, judge(snapshot))]


def judge(snapshot: Snapshot) -> Outcome[Snapshot]:
    """Reject a snapshot in which the audit found a way forward."""
    if snapshot.audit.findings:
        return Rejected(
            code=RejectCode.LEAK,
            message="the closure audit of the snapshot found a way to later history",
            evidence=snapshot.audit.findings,
        )
    return Accepted(value=snapshot)
