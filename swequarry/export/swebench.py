"""SWE-bench 5 style datasets: JSONL and parquet in two forms, a card, a manifest.

```
README.md                  the card that `datasets.load_dataset(FOLDER)` reads; configs `lists` and `strings`
data/{form}.jsonl          one row a line, ASCII, for `swebench eval` and text tools
data/{form}.parquet        the same rows under an explicit schema
records/tasks.jsonl        every released task as its record (see `published`), also those that can't be rows
records/environments/*.lock, *.json     locked requirements and recipe of each environment, by its hash
manifest.json              files and tasks with their hashes, tasks left out with the reason
```
"""

import io
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from swequarry.config import ExportSettings
from swequarry.errors import InputError
from swequarry.export.card import make_card
from swequarry.export.columns import RowForm, arrow_schema, to_columns
from swequarry.export.folder import replaced_folder
from swequarry.export.interface import ExportedFile, Exporter, GetBlob, LeaveOutReason, LeftOut, Surroundings
from swequarry.export.manifest import MANIFEST, describe_folder, make_manifest
from swequarry.export.rows import Row, make_row
from swequarry.records import StatementKind, Task, canonical_json

DATA = "data"
RECORDS = "records"
_BLOCK = 1 << 20
_NOTHING_AROUND = Surroundings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What becomes of the given tasks: released ones, those among them that are rows, those left out."""

    released: tuple[Task, ...]
    rows: tuple[Row, ...]
    left_out: tuple[LeftOut, ...]


def _commit_statement(task: Task) -> LeftOut:
    return LeftOut(
        instance_id=task.instance_id,
        content_sha256=task.content_hash(),
        reason=LeaveOutReason.STATEMENT_FROM_COMMITS,
        detail="its statement was made from commit messages; "
        "set export.include_statement_from_commits to let it in",
    )


def select(
    tasks: Sequence[Task], get_blob: GetBlob, settings: ExportSettings, surroundings: Surroundings
) -> Selection:
    """Return rows and left-out tasks, sorted by instance id; each given task is exactly one of them.

    Raises:
        InputError: two tasks share an instance id.
        StorageError: a patch is missing from the blob store.
    """
    released: list[Task] = []
    rows: list[Row] = []
    left_out: list[LeftOut] = []
    ordered = sorted(tasks, key=lambda task: task.instance_id)
    for earlier, later in itertools.pairwise(ordered):
        if earlier.instance_id == later.instance_id:
            raise InputError(f"two tasks have the id {later.instance_id}; a dataset holds each id once")
    for task in map(published, ordered):
        from_commits = task.instruction.kind is StatementKind.COMMITS
        if from_commits and not settings.include_statement_from_commits:
            left_out.append(_commit_statement(task))
            continue
        released.append(task)
        made = make_row(task, get_blob, surroundings.images.get(task.instance_id))
        if isinstance(made, Row):
            rows.append(made)
        else:
            left_out.append(made)
    return Selection(released=tuple(released), rows=tuple(rows), left_out=tuple(left_out))


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


def _json_lines(rows: Sequence[Row], form: RowForm) -> list[bytes]:
    # ASCII: readers that split lines at U+2028 or NEL, as str.splitlines does, must not cut a row.
    return [json.dumps(to_columns(row, form), ensure_ascii=True).encode("ascii") + b"\n" for row in rows]


def _table(lines: Sequence[bytes], form: RowForm) -> pa.Table:
    """Return JSON lines as a table of the form's schema.

    Arrow reads the JSON itself: its conversion of Python objects imports pandas wherever that is installed.
    """
    schema = arrow_schema(form)
    if not lines:
        return schema.empty_table()
    whole_lines = pj.ReadOptions(
        use_threads=False, block_size=max(_BLOCK, *(len(line) + 1 for line in lines))
    )
    as_declared = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    table = pj.read_json(io.BytesIO(b"".join(lines)), whole_lines, as_declared)
    return table.select(schema.names).combine_chunks()


def _write_data(folder: Path, rows: Sequence[Row], form: RowForm) -> None:
    lines = _json_lines(rows, form)
    (folder / f"{form.value}.jsonl").write_bytes(b"".join(lines))
    table = _table(lines, form)
    pq.write_table(
        table, folder / f"{form.value}.parquet", compression="zstd", row_group_size=1000, version="2.6"
    )


def _write_records(folder: Path, tasks: Sequence[Task], get_blob: GetBlob) -> None:
    environments = folder / "environments"
    environments.mkdir(parents=True)
    lines = [canonical_json(task.to_json()) + b"\n" for task in tasks]
    (folder / "tasks.jsonl").write_bytes(b"".join(lines))
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


class SwebenchExporter:
    """The dataset format described at the top of this module."""

    name = "swebench"

    def write(
        self,
        tasks: Sequence[Task],
        get_blob: GetBlob,
        destination: Path,
        settings: ExportSettings,
        surroundings: Surroundings = _NOTHING_AROUND,
    ) -> tuple[ExportedFile, ...]:
        """Write the dataset; see `Exporter.write`."""
        selection = select(tasks, get_blob, settings, surroundings)
        with replaced_folder(destination) as folder:
            _write_records(folder / RECORDS, selection.released, get_blob)
            (folder / DATA).mkdir()
            for form in RowForm:
                _write_data(folder / DATA, selection.rows, form)
            card = make_card(selection.rows, selection.left_out, settings, surroundings)
            (folder / "README.md").write_text(card, encoding="utf-8", newline="\n")
            manifest = make_manifest(
                released=selection.released,
                rows=[row.instance_id for row in selection.rows],
                left_out=selection.left_out,
                files=describe_folder(folder),
                settings=settings,
            )
            (folder / MANIFEST).write_bytes(manifest)
            return describe_folder(folder)


EXPORTER: Exporter = SwebenchExporter()
"""Every format's module offers its exporter under this name."""
