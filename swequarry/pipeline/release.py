"""Makes a release of a finished run: what goes out, on which side, with which evidence and budgets.

A release is made from a run and not from an exported set: only the ledger knows what the runs took, and only
the mirrors what the bases hold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from swequarry.config import Settings
from swequarry.errors import UsageError
from swequarry.export.interface import Exporter, ImageReference, LeaveOutReason, LeftOut, Surroundings
from swequarry.export.releases.deprecated import Deprecation, choose_deprecated
from swequarry.export.releases.model import Release, ReleaseTask
from swequarry.export.releases.splits import Split, split_of, spoilt
from swequarry.export.releases.write import Released, write_release
from swequarry.export.selection import left_out, released
from swequarry.git.heldfixes import HeldFix
from swequarry.ledger.runs import Run
from swequarry.pipeline.publish import funnel_of, read_run
from swequarry.pipeline.release_evidence import Evidence, gather, measured_runs
from swequarry.pipeline.reporting import tasks_of
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.workspace import Workspace
from swequarry.records import Task

_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseOrder:
    """What a person asks for. `settings` are those of the run with what was asked for otherwise."""

    name: str
    version: str
    settings: Settings
    exporter: Exporter
    images: Mapping[str, ImageReference] = field(default_factory=dict)
    deprecated: Sequence[Deprecation] = ()


def release_run(workspace: Workspace, run: Run, order: ReleaseOrder, destination: Path) -> Released:
    """Write a release of a run.

    Raises:
        UsageError: the run isn't finished, or the folder has this version with other content.
        RepositoryError: a mirror isn't there, so what its bases hold can't be told.
        InputError, StorageError, GitError, PatchError: as `write_release` and `gather`.
    """
    _refuse_unfinished(workspace, run)
    release = make_release(workspace, run, order)
    return write_release(release, order.exporter, workspace.blobs.get, destination, order.images)


def _refuse_unfinished(workspace: Workspace, run: Run) -> None:
    selected, ended = workspace.ledger.selection(run.number), workspace.ledger.endings(run.number)
    still_open = len(selected) - len(ended)
    if still_open > 0 or not selected:
        what = f"{still_open} candidates are on their way" if selected else "it has no candidate"
        raise UsageError(f"run {run.number} isn't finished: {what}; run the same command again first")


def make_release(workspace: Workspace, run: Run, order: ReleaseOrder) -> Release:
    """Return what goes out of a finished run, before a format has its say.

    Raises:
        RepositoryError, GitError, PatchError, StorageError: as `gather`.
    """
    settings = order.settings
    tasks = tasks_of(workspace, run.number)
    chosen = choose_deprecated(tasks, order.deprecated)
    kept_out = Surroundings(deprecated=chosen.deprecated)
    let_in, out = released(tasks, settings.export, kept_out)
    splits = {task.instance_id: split_of(task.candidate, settings.release) for task in let_in}
    evidence = gather(let_in, splits, House(settings, workspace).repository, workspace.blobs.get)
    telling = spoilt(splits, evidence.held)
    spoiling = [_left_out(task, telling[task.instance_id]) for task in let_in if task.instance_id in telling]
    kept = [task for task in let_in if task.instance_id not in telling]
    return Release(
        name=order.name,
        version=order.version,
        tasks=_tasks(workspace, kept, splits, evidence),
        left_out=(*out, *spoiling),
        settings=settings.release,
        export=settings.export,
        unread=evidence.unread,
        unknown=tuple(sorted(entry.instance_id for entry in chosen.unknown)),
        funnel=funnel_of(read_run(workspace, run.number)),
    )


def _left_out(task: Task, told: Sequence[HeldFix]) -> LeftOut:
    shown = "; ".join(f"{one.fix}: {one.evidence}" for one in told[:_SHOWN])
    more = f"; and the fixes of {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    detail = f"its world tells the fix of {shown}{more}"
    return left_out(task, LeaveOutReason.HOLDS_TEST_ANSWER, detail)


def _tasks(
    workspace: Workspace, kept: Sequence[Task], splits: Mapping[str, Split], evidence: Evidence
) -> tuple[ReleaseTask, ...]:
    measured = measured_runs(workspace.ledger, kept)
    return tuple(
        ReleaseTask(
            task=task,
            split=splits[task.instance_id],
            places=evidence.places.get(task.instance_id, ()),
            measured=measured.get(task.instance_id),
        )
        for task in kept
    )
