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

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from swequarry.config import ExportSettings
from swequarry.errors import InputError
from swequarry.export.arrow import json_lines, parquet
from swequarry.export.card import make_card
from swequarry.export.columns import RowForm, arrow_schema, to_columns
from swequarry.export.folder import replaced_folder
from swequarry.export.interface import (
    NOTHING_AROUND,
    ExportedFile,
    GetBlob,
    LeftOut,
    PublicTask,
    Surroundings,
)
from swequarry.export.manifest import write_manifest
from swequarry.export.public import public_of_row
from swequarry.export.reader import read_rows
from swequarry.export.rows import Row, make_row, row_problems
from swequarry.export.selection import released, write_records
from swequarry.records import Task

DATA = "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What becomes of the given tasks: released ones, those among them that are rows, those left out."""

    released: tuple[Task, ...]
    rows: tuple[Row, ...]
    left_out: tuple[LeftOut, ...]


def select(
    tasks: Sequence[Task], get_blob: GetBlob, settings: ExportSettings, surroundings: Surroundings
) -> Selection:
    """Return rows and left-out tasks, sorted by instance id; each given task is exactly one of them.

    Raises:
        InputError: two tasks share an instance id.
        StorageError: a patch is missing from the blob store.
    """
    let_in, out = released(tasks, settings, surroundings)
    made = [make_row(task, get_blob, surroundings.images.get(task.instance_id)) for task in let_in]
    out = (*out, *(row for row in made if not isinstance(row, Row)))
    return Selection(
        released=let_in,
        rows=tuple(row for row in made if isinstance(row, Row)),
        left_out=tuple(sorted(out, key=lambda item: item.instance_id)),
    )


def _data(name: str, rows: Sequence[Row]) -> bytes:
    """Return the bytes of a data file, whose name says form and kind."""
    path = Path(name)
    form = RowForm(path.stem)
    lines = json_lines(to_columns(row, form) for row in rows)
    return b"".join(lines) if path.suffix == ".jsonl" else parquet(lines, arrow_schema(form))


@dataclass(frozen=True, slots=True)
class SwebenchExporter:
    """The dataset format described at the top of this module; fewer forms and no JSONL make it smaller."""

    name: str = "swebench"
    forms: tuple[RowForm, ...] = tuple(RowForm)
    json_lines: bool = True

    def write(
        self,
        tasks: Sequence[Task],
        get_blob: GetBlob,
        destination: Path,
        settings: ExportSettings,
        surroundings: Surroundings = NOTHING_AROUND,
    ) -> tuple[ExportedFile, ...]:
        """Write the dataset; see `Exporter.write`."""
        selection = select(tasks, get_blob, settings, surroundings)
        with replaced_folder(destination) as folder:
            write_records(folder, selection.released, get_blob)
            (folder / DATA).mkdir()
            for name in self._data_files():
                (folder / name).write_bytes(_data(name, selection.rows))
            card = make_card(
                selection.rows,
                selection.left_out,
                settings,
                surroundings,
                self.forms,
                json_lines=self.json_lines,
            )
            (folder / "README.md").write_text(card, encoding="utf-8", newline="\n")
            return write_manifest(
                folder,
                released=selection.released,
                rows=[row.instance_id for row in selection.rows],
                left_out=selection.left_out,
                settings=settings,
                format_name=self.name,
            )

    def _data_files(self) -> tuple[str, ...]:
        kinds = ("jsonl", "parquet") if self.json_lines else ("parquet",)
        return tuple(f"{DATA}/{form.value}.{kind}" for form in self.forms for kind in kinds)

    def read_back(self, folder: Path) -> tuple[PublicTask, ...]:
        """Return the public fields of the rows; see `Exporter.read_back`."""
        path = folder / DATA / f"{self.forms[0].value}.parquet"
        return tuple(public_of_row(row) for row in read_rows(path))

    def problems(self, folder: Path) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with the rows; see `Exporter.problems`."""
        path = f"{DATA}/{self.forms[0].value}.parquet"
        yield from row_problems(path, read_rows(folder / path))

    def restore(self, folder: Path, path: str) -> Iterator[bytes]:
        """Yield a data file made again from each of the others; see `Exporter.restore`."""
        if path not in self._data_files():
            return
        for other in self._data_files():
            with contextlib.suppress(InputError):
                yield _data(path, read_rows(folder / other))
