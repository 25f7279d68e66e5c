"""Removes the stored worlds that no result of some workspaces names, and indexes that nobody uses.

Worlds can be made again from locks, indexes from worlds.
"""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reconstruct.leaks.groups import prune_indexes
from swequarry.errors import SandboxError
from swequarry.ledger.queries import accepted_of_stage
from swequarry.pipeline.stages.environment import EnvironmentStage
from swequarry.pipeline.stages.snapshot import SnapshotStage
from swequarry.pipeline.stages.worlds import base_key, environment_key
from swequarry.pipeline.workspace import Workspace
from swequarry.records import Environment, Snapshot
from swequarry.sandbox.contract import SandboxBackend
from swequarry.sandbox.world_files import stored_keys

DEFAULT_GRACE_S = 24 * 3600.0
"""Longer than a search for an environment takes: its worlds have no result yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What was done in one backend: worlds removed, kept since named, kept since young, kept since in use.

    The indexes of the leak audit are told as those of a backend `leaks`; young are those used of late.
    `swept` counts what went with them: layers and trees that no world has, remains of dead processes.
    """

    backend: str
    removed: int = 0
    named: int = 0
    young: int = 0
    in_use: int = 0
    swept: int = 0


def named_worlds(workspaces: Iterable[Workspace]) -> frozenset[str]:
    """Return the keys of all worlds that results of the workspaces stand for."""
    return frozenset(key for workspace in workspaces for key in _named(workspace))


def _named(workspace: Workspace) -> Iterator[str]:
    bases: dict[str, set[str]] = {}
    for item, value in accepted_of_stage(workspace.ledger, SnapshotStage.name):
        bases.setdefault(item, set()).add(base_key(Snapshot.from_json(value)))
    for item, value in accepted_of_stage(workspace.ledger, EnvironmentStage.name):
        environment = Environment.from_json(value)
        yield from (environment_key(base, environment) for base in bases.get(item, ()))
    yield from (base for found in bases.values() for base in found)


def prune_worlds(
    backend: SandboxBackend,
    store: Path,
    named: frozenset[str],
    *,
    now: float | None = None,
    grace_s: float = DEFAULT_GRACE_S,
    dry_run: bool = False,
) -> Pruned:
    """Remove the worlds of a backend's `store` that aren't named and are older than the grace.

    Raises:
        SandboxError: the store or the engine can't be used.
    """
    limit = (time.time() if now is None else now) - grace_s
    found = list(stored_keys(store))
    unnamed = [(key, made) for key, made in found if key not in named]
    old = [key for key, made in unnamed if made <= limit]
    in_use = 0 if dry_run else _remove(backend, old)
    return Pruned(
        backend=backend.name,
        removed=len(old) - in_use,
        named=len(found) - len(unnamed),
        young=len(unnamed) - len(old),
        in_use=in_use,
        swept=0 if dry_run else backend.sweep(),
    )


def prune_leaks(
    folder: Path,
    worlds: Iterable[Pruned],
    *,
    now: float | None = None,
    grace_s: float = DEFAULT_GRACE_S,
    dry_run: bool = False,
) -> Pruned:
    """Remove the indexes that no audit used within the grace; all of them where worlds were removed.

    An index knows files by their numbers on disk, which the file system gives to others once files are gone.

    Raises:
        StorageError: the folder can't be changed.
    """
    limit = (time.time() if now is None else now) - grace_s
    unused_since = math.inf if any(one.removed for one in worlds) else limit
    done = prune_indexes(folder, unused_since, dry_run=dry_run)
    return Pruned(backend="leaks", removed=done.removed, young=done.kept)


def _remove(backend: SandboxBackend, keys: Sequence[str]) -> int:
    """Remove worlds; return how many can't be now, since a container runs on their image."""
    kept = 0
    for key in keys:
        try:
            backend.remove_world(key)
        except SandboxError:
            kept += 1
    return kept
