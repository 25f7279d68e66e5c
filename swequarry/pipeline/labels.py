"""Labels of a workspace: what people said of its tasks and of patches for them, as sets to calibrate with."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from patchreview.calibration import Labelled
from patchreview.rules import all_rules
from swequarry.errors import InputError, UsageError
from swequarry.ledger.labels import OF_PATCHES, Label, LabelVerdict, add_label, labels_of, newest
from swequarry.pipeline.reasons import find_task
from swequarry.pipeline.reporting import last_run, tasks_of
from swequarry.pipeline.reviewing import ground_of, subject_of
from swequarry.pipeline.workspace import Workspace
from swequarry.records import Task


def label(
    workspace: Workspace, name: str, verdict: LabelVerdict, *, patch: bytes | None, rule: str, note: str
) -> Label:
    """Keep what a person says of a task of the newest run, or of a patch for it, and return it.

    Raises:
        UsageError: the verdict is one of patches and none is given, or the other way round; no such rule.
        InputError: there is no such task.
        StorageError: it can't be written.
    """
    if (patch is not None) != (verdict in OF_PATCHES):
        raise UsageError("honest and cheat are said of a patch (--patch FILE), sound and flawed of a task")
    if rule and patch is not None and rule not in {one.code for one in all_rules()}:
        raise UsageError(f"there is no rule {rule!r}; docs/review-rules.md lists them")
    task = find_task(workspace, name)
    found = Label(
        item=task.instance_id,
        verdict=verdict,
        patch=None if patch is None else workspace.blobs.put(patch),
        rule=rule,
        note=note,
    )
    add_label(workspace.ledger, found)
    return found


def labelled_patches(workspace: Workspace) -> Iterator[Labelled]:
    """Yield the patches that people labelled, held against their tasks; the newest word on each counts.

    Raises:
        StorageError: ledger or blobs can't be read.
    """
    tasks = {task.instance_id: task for task in _tasks(workspace)}
    for one in newest(labels_of(workspace.ledger)):
        task = tasks.get(one.item)
        if one.patch is not None and task is not None:
            yield Labelled(
                name=one.item,
                patch=workspace.blobs.get(one.patch),
                honest=one.verdict is LabelVerdict.HONEST,
                source="labels",
                ground=ground_of(subject_of(task, workspace.blobs.get)),
                rule=one.rule,
            )


def gold_of_run(workspace: Workspace) -> Iterator[Labelled]:
    """Yield the gold patches of the newest run's tasks as honest ones, as if the fix weren't known.

    Raises:
        StorageError: ledger or blobs can't be read.
    """
    for task in _tasks(workspace):
        subject = subject_of(task, workspace.blobs.get)
        yield Labelled(
            name=task.instance_id,
            patch=workspace.blobs.get(task.candidate.gold_patch),
            honest=True,
            source="gold patches of the run",
            ground=ground_of(subject, with_gold=False),
        )


def _tasks(workspace: Workspace) -> Sequence[Task]:
    return tasks_of(workspace, last_run(workspace).number)


def read_patch(path: Path) -> bytes:
    """Return the bytes of a patch file.

    Raises:
        InputError: it can't be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}; name a file with a patch") from error
