"""Which of the given tasks a dataset holds, and the records that every format keeps beside its files."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from swequarry.config import ExportSettings
from swequarry.errors import InputError
from swequarry.export.interface import GetBlob, LeaveOutReason, LeftOut
from swequarry.records import StatementKind, Task, canonical_json

RECORDS = "records"


def left_out(task: Task, reason: LeaveOutReason, detail: str) -> LeftOut:
    """Return the note about a task that isn't exported."""
    return LeftOut(
        instance_id=task.instance_id, content_sha256=task.content_hash(), reason=reason, detail=detail
    )


def released(tasks: Sequence[Task], settings: ExportSettings) -> tuple[tuple[Task, ...], tuple[LeftOut, ...]]:
    """Return the tasks that the settings let in, as they go out, and those left out; sorted by instance id.

    Raises:
        InputError: two tasks share an instance id.
    """
    ordered = sorted(map(published, tasks), key=lambda task: task.instance_id)
    for earlier, later in itertools.pairwise(ordered):
        if earlier.instance_id == later.instance_id:
            raise InputError(f"two tasks have the id {later.instance_id}; a dataset holds each id once")
    let_in = tuple(task for task in ordered if _let_in(task, settings))
    detail = (
        "its statement was made from commit messages; set export.include_statement_from_commits to let it in"
    )
    out = [task for task in ordered if not _let_in(task, settings)]
    return let_in, tuple(left_out(task, LeaveOutReason.STATEMENT_FROM_COMMITS, detail) for task in out)


def published(task: Task) -> Task:
    """Return a task as it goes out: without canaries and twins, which are worth nothing once they are known.

    Every `content_sha256` of a dataset is that of this form: how many of them a machine had time for, or
    whether they were wanted at all, changes no dataset.
    """
    return replace(
        task,
        verifier=replace(task.verifier, canaries=None, held_out=None),
        provenance=replace(task.provenance, checks=None),
    )


def _let_in(task: Task, settings: ExportSettings) -> bool:
    return task.instruction.kind is not StatementKind.COMMITS or settings.include_statement_from_commits


def write_records(folder: Path, tasks: Sequence[Task], get_blob: GetBlob) -> None:
    """Write task records, environments and tables of stability below `records/` of a dataset folder.

    Raises:
        StorageError: a lock or a table is missing from the blob store.
    """
    environments = folder / RECORDS / "environments"
    environments.mkdir(parents=True)
    lines = [canonical_json(task.to_json()) + b"\n" for task in tasks]
    (folder / RECORDS / "tasks.jsonl").write_bytes(b"".join(lines))
    for environment in {task.environment.identity(): task.environment for task in tasks}.values():
        name = environment.identity()
        (environments / f"{name}.lock").write_bytes(get_blob(environment.lock))
        identity = {
            "backend": environment.backend,
            "python_version": environment.python_version,
            "recipe": environment.recipe.to_json(),
        }
        text = json.dumps(identity, indent=2, sort_keys=True, ensure_ascii=True) + "\n"
        (environments / f"{name}.json").write_text(text, encoding="ascii")
    _write_tables(folder / RECORDS / "stability", tasks, get_blob)


def _write_tables(folder: Path, tasks: Sequence[Task], get_blob: GetBlob) -> None:
    """Write what every test did under each perturbation, a file for each task of which that is known."""
    for task in tasks:
        if task.stability is not None and task.stability.table is not None:
            folder.mkdir(exist_ok=True)
            (folder / f"{task.stability.table}.json").write_bytes(get_blob(task.stability.table))
