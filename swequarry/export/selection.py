"""Which of the given tasks a dataset holds, and the records that every format keeps beside its files."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from swequarry.config import ExportSettings
from swequarry.errors import InputError
from swequarry.export.interface import NOTHING_AROUND, GetBlob, LeaveOutReason, LeftOut, Surroundings
from swequarry.records import StatementKind, Task, canonical_json

RECORDS = "records"


def left_out(task: Task, reason: LeaveOutReason, detail: str) -> LeftOut:
    """Return the note about a task that isn't exported."""
    return LeftOut(
        instance_id=task.instance_id, content_sha256=task.content_hash(), reason=reason, detail=detail
    )


def released(
    tasks: Sequence[Task], settings: ExportSettings, surroundings: Surroundings = NOTHING_AROUND
) -> tuple[tuple[Task, ...], tuple[LeftOut, ...]]:
    """Return the tasks that are let in, as they go out, and those left out; sorted by instance id.

    Raises:
        InputError: two tasks share an instance id.
    """
    ordered = sorted(map(published, tasks), key=lambda task: task.instance_id)
    for earlier, later in itertools.pairwise(ordered):
        if earlier.instance_id == later.instance_id:
            raise InputError(f"two tasks have the id {later.instance_id}; a dataset holds each id once")
    judged = [(task, _kept_out(task, settings, surroundings)) for task in ordered]
    return tuple(task for task, out in judged if out is None), tuple(out for _, out in judged if out)


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


def _kept_out(task: Task, settings: ExportSettings, surroundings: Surroundings) -> LeftOut | None:
    if task.instance_id in surroundings.deprecated:
        return left_out(task, LeaveOutReason.DEPRECATED, surroundings.deprecated[task.instance_id])
    if task.instruction.kind is StatementKind.COMMITS and not settings.include_statement_from_commits:
        detail = (
            "its statement was made from commit messages; "
            "set export.include_statement_from_commits to let it in"
        )
        return left_out(task, LeaveOutReason.STATEMENT_FROM_COMMITS, detail)
    return None


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
