"""What a workspace knows of the environment of one item: candidate, snapshot, result, and the story of it.

Read from the ledger under the keys that the newest run's settings give; where those name nothing (the
settings or the program changed since) the newest try of the item counts. Stages are loaded where their keys
are needed: they bring the whole line along, and grading asks for nothing but the house.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from swequarry.config import parse_settings
from swequarry.errors import InputError
from swequarry.ledger.attempts import Attempt, AttemptStatus
from swequarry.ledger.keys import StageKey, StoredValue
from swequarry.ledger.queries import accepted_of_stage, attempts_of
from swequarry.outcome import Accepted
from swequarry.pipeline.reasons import explain, resolve_item
from swequarry.pipeline.reporting import last_run
from swequarry.pipeline.stage import Stage
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.stages.search_story import OBSERVED, SearchStory
from swequarry.pipeline.workspace import Workspace
from swequarry.records import BlobHash, Candidate, ContentHash, Environment, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownItem:
    """An item of the newest run as far as it got. `outcome` and what follows are those of its environment.

    `story` is None for what was built before searches left one; `observed` is what the try observed.
    """

    item: str
    candidate: Candidate
    snapshot: Snapshot | None
    outcome: StoredValue | None
    attempts: tuple[Attempt, ...]
    story: SearchStory | None
    observed: Mapping[str, Any]

    @property
    def environment(self) -> Environment | None:
        """The environment that was found."""
        return Environment.from_json(self.outcome.value) if isinstance(self.outcome, Accepted) else None


def house_of_last_run(workspace: Workspace) -> House:
    """Return the surroundings of the newest run, with the workspace where it lies now."""
    saved = dict(last_run(workspace).settings)
    return House(
        parse_settings({**saved, "workspace": str(workspace.root)}, "settings of the run"), workspace
    )


def know_item(house: House, name: str) -> KnownItem:
    """Return what is known of an item of the newest run.

    Raises:
        InputError: no such item, or it never became a candidate; says why.
    """
    workspace = house.workspace
    item = resolve_item(workspace, name)
    tries = attempts_of(workspace.ledger, [item])
    best: KnownItem | None = None
    for _, value in accepted_of_stage(workspace.ledger, "mine", item=item):
        known = _know(house, item, Candidate.from_json(value), tries)
        if best is None or _newest(known) > _newest(best):
            best = known
    if best is None:
        raise InputError(f"{item} has no environment: {explain(workspace, item).verdict}")
    return best


def _newest(known: KnownItem) -> int:
    return max((attempt.number for attempt in known.attempts), default=0)


def _know(house: House, item: str, candidate: Candidate, tries: Sequence[Attempt]) -> KnownItem:
    from swequarry.pipeline.line import joint_hash  # noqa: PLC0415 - see the top of the file
    from swequarry.pipeline.stages.environment import EnvironmentStage, with_override  # noqa: PLC0415
    from swequarry.pipeline.stages.snapshot import SnapshotStage  # noqa: PLC0415

    ledger = house.workspace.ledger
    frozen = _chosen(tries, key_of(SnapshotStage(house), candidate.content_hash()))
    result = ledger.result(frozen) if frozen else None
    snapshot = _accepted_snapshot(result[0].outcome) if result else None
    built = None
    if snapshot is not None:
        plain = joint_hash(candidate.content_hash(), snapshot.content_hash())
        wanted = with_override(plain, house.settings, candidate.repo)
        built = _chosen(tries, key_of(EnvironmentStage(house), wanted))
    outcomes = ledger.result(built) if built else None
    own = tuple(attempt for attempt in tries if built is not None and attempt.key == built)
    ended = [attempt for attempt in own if attempt.status in (AttemptStatus.DONE, AttemptStatus.FAILED)]
    observed = ended[-1].observed if ended else {}
    return KnownItem(
        item=item,
        candidate=candidate,
        snapshot=snapshot,
        outcome=outcomes[0].outcome if outcomes else None,
        attempts=own,
        story=_story(house.workspace, observed),
        observed=observed,
    )


def key_of(stage: Stage[Any], input_hash: ContentHash) -> StageKey:
    """Return the key of a stage's result for an input."""
    return StageKey(
        stage=stage.name, version=stage.version, input_hash=input_hash, settings_hash=stage.settings_hash
    )


def _chosen(tries: Sequence[Attempt], wanted: StageKey) -> StageKey | None:
    keys = [attempt.key for attempt in tries if attempt.key.stage == wanted.stage]
    if wanted in keys:
        return wanted
    return keys[-1] if keys else None


def _accepted_snapshot(outcome: StoredValue) -> Snapshot | None:
    return Snapshot.from_json(outcome.value) if isinstance(outcome, Accepted) else None


def _story(workspace: Workspace, observed: Mapping[str, Any]) -> SearchStory | None:
    name = observed.get(OBSERVED)
    return SearchStory.from_json(json.loads(workspace.blobs.get(BlobHash(name)))) if name else None
