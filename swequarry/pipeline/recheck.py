"""Runs gold and nothing again over a released set, and says what changed.

OUTPUT/tasks/<instance id>.json    what came of each task
OUTPUT/recheck.json                the summary, and what it is about
OUTPUT/deprecated.json, .txt       the tasks that changed, for `--deprecated` of `release` and `export`

The same call again checks only what has no answer yet; what the machinery broke has none, and is in no list.
A new output folder is a new check.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from swequarry import __version__
from swequarry.errors import (
    GitError,
    IndexUnavailableError,
    PatchError,
    RepositoryError,
    SandboxError,
    SandboxUnavailableError,
    StorageError,
    UsageError,
    WorldChangedError,
)
from swequarry.export.releases.deprecated import Deprecation, write_deprecated
from swequarry.export.releases.read import Dataset
from swequarry.pipeline.grade_reports import file_name, write_json
from swequarry.pipeline.released_task import ReleasedTasks, supply_blobs
from swequarry.pipeline.stages.house import House
from swequarry.records import ContentHash, Record, State, Task, TestId
from swequarry.sandbox.contract import World
from swequarry.verify.drift import DriftReason, Known, find_drift

RECHECK_SCHEMA = 1
_KIND = "recheck"
_SUMMARY = "recheck.json"
_WORLD_TRIES = 2
_BROKEN = (SandboxError, GitError, PatchError, RepositoryError, IndexUnavailableError, StorageError, OSError)


class Status(StrEnum):
    """What a check says of a task; INFRA_FAILED says nothing of it: check again."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    INFRA_FAILED = "infra_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rechecked(Record):
    """What came of one task. `state` is where the change shows; None where no world could be made."""

    instance_id: str
    content_sha256: ContentHash
    verified_sha256: str
    rounds: int
    status: Status
    reason: DriftReason | None = None
    state: State | None = None
    detail: str = ""
    tests: tuple[TestId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecheckOptions:
    """How to check: tasks at a time, and runs of each state at least; more where something is odd."""

    workers: int = 2
    rounds: int = 2


def recheck(
    house: House,
    dataset: Dataset,
    output: Path,
    options: RecheckOptions,
    tell: Callable[[Rechecked], None],
) -> tuple[Rechecked, ...]:
    """Check the tasks of a released set, write what came of it, and return it by instance id.

    `tell` is told of each task as it ends; those that an earlier call checked are told first.

    Raises:
        UsageError: the output folder is about another set.
        InputError: a task was verified in another backend, or files of the set can't be read.
        SandboxUnavailableError: no sandbox can run here.
        StorageError: results can't be written.
    """
    _begin(dataset, output)
    supply_blobs(dataset, house.workspace.blobs)
    checker = _Checker(ReleasedTasks(house), dataset, options.rounds)
    found: dict[str, Rechecked] = {}
    for name, task in dataset.tasks.items():
        known = _known(_place(output, name), task, options.rounds)
        if known is not None:
            found[name] = known
            tell(known)
    left = [task for name, task in sorted(dataset.tasks.items()) if name not in found]
    for done in _in_parallel(checker, left, options.workers):
        found[done.instance_id] = done
        write_json(_place(output, done.instance_id), done.to_json())
        tell(done)
    ordered = tuple(found[name] for name in sorted(found))
    write_json(output / _SUMMARY, summary(dataset, ordered))
    changed = [_deprecation(one) for one in ordered if one.status is Status.CHANGED]
    write_deprecated(output, changed, _about(dataset))
    return ordered


def _in_parallel(checker: "_Checker", tasks: Sequence[Task], workers: int) -> Iterator[Rechecked]:
    """Yield what comes of tasks as they end; where the caller stops, those at work end and no more start."""
    pool = ThreadPoolExecutor(workers, thread_name_prefix="recheck")
    try:
        for ended in as_completed([pool.submit(checker.check, task) for task in tasks]):
            yield ended.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _Checker:
    tasks: ReleasedTasks
    dataset: Dataset
    rounds: int

    def check(self, task: Task) -> Rechecked:
        """Return what comes of a task; broken machinery is a result too, of which nothing follows."""
        try:
            return self._measured(task, self._world(task))
        except SandboxUnavailableError:
            raise
        except WorldChangedError as error:
            return self._result(task, Status.CHANGED, reason=DriftReason.ENVIRONMENT, detail=str(error))
        except _BROKEN as error:
            return self._result(task, Status.INFRA_FAILED, detail=str(error))

    def _world(self, task: Task) -> World:
        for _ in range(_WORLD_TRIES - 1):
            try:
                return self.tasks.world(task)
            except WorldChangedError:
                continue
        return self.tasks.world(task)

    def _measured(self, task: Task, world: World) -> Rechecked:
        known = Known(
            now=datetime.now(UTC),
            moments=self.tasks.moments(task),
            differences=lambda: self.tasks.differences(task, world),
        )
        gold = self.tasks.house.workspace.blobs.get(task.candidate.gold_patch)
        with self.tasks.room(task, world) as (rig, case):
            drift = find_drift(rig, case, gold, known, self.rounds)
        if drift is None:
            return self._result(task, Status.UNCHANGED)
        return self._result(
            task,
            Status.CHANGED,
            reason=drift.reason,
            state=drift.state,
            detail=drift.detail,
            tests=drift.tests,
        )

    def _result(self, task: Task, status: Status, **more: Any) -> Rechecked:
        return Rechecked(
            instance_id=task.instance_id,
            content_sha256=task.content_hash(),
            verified_sha256=self.dataset.verified_sha256(task.instance_id),
            rounds=self.rounds,
            status=status,
            **more,
        )


def summary(dataset: Dataset, found: Sequence[Rechecked]) -> dict[str, Any]:
    """Return the summary of a check; when it ended is observed."""
    statuses = Counter(one.status for one in found)
    reasons = Counter(one.reason.value for one in found if one.reason is not None)
    return {
        **_head(dataset),
        "counts": {"tasks": len(found), **{status.value: statuses[status] for status in Status}},
        "changed_by_reason": dict(sorted(reasons.items())),
        "tasks": [one.to_json() for one in found],
        "observed": {"ended_at": datetime.now(UTC).isoformat(timespec="seconds")},
    }


def _head(dataset: Dataset) -> dict[str, Any]:
    return {
        "kind": _KIND,
        "schema_version": RECHECK_SCHEMA,
        "swequarry_version": __version__,
        "of": _about(dataset),
    }


def _about(dataset: Dataset) -> Mapping[str, str | None]:
    return dataset.identity()


def _place(output: Path, instance_id: str) -> Path:
    return output / "tasks" / f"{file_name(instance_id)}.json"


def _begin(dataset: Dataset, output: Path) -> None:
    """Say in the output folder what it is about, so that no other set goes on in it.

    Raises:
        UsageError: it is about another one, or holds something else.
    """
    path = output / _SUMMARY
    if not path.exists():
        if output.is_dir() and any(output.iterdir()):
            raise UsageError(f"{output} holds something else than a check; name a new folder with -o")
        write_json(path, _head(dataset))
        return
    try:
        about = json.loads(path.read_bytes())["of"]
    except (OSError, ValueError, KeyError, TypeError):
        about = None
    if about != dict(_about(dataset)):
        raise UsageError(f"{output} is a check of {about or 'something else'}; name another folder with -o")


def _known(place: Path, task: Task, rounds: int) -> Rechecked | None:
    """Return what an earlier call found of this version of a task, with as many runs at least."""
    try:
        known = Rechecked.from_json(json.loads(place.read_bytes()))
    except (OSError, ValueError, TypeError, ValidationError):
        return None
    same = known.content_sha256 == task.content_hash() and known.rounds >= rounds
    return known if same and known.status is not Status.INFRA_FAILED else None


def _deprecation(one: Rechecked) -> Deprecation:
    return Deprecation(
        instance_id=one.instance_id,
        reason=one.reason.value if one.reason is not None else DriftReason.UNKNOWN.value,
        verified_sha256=one.verified_sha256,
        detail=one.detail,
        tests=tuple(one.tests),
    )
