"""Reading a dataset of ours back: rows in either form, task records, and a check against the manifest."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from pydantic import ValidationError

from swequarry.errors import InputError
from swequarry.export.columns import from_columns
from swequarry.export.manifest import MANIFEST, describe_folder
from swequarry.export.rows import Row
from swequarry.records import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProblem:
    """A file that isn't what the manifest says: `missing`, `changed` or `unknown`."""

    path: str
    problem: str


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, line
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror}") from error


def read_rows(path: Path) -> tuple[Row, ...]:
    """Return the rows of a .jsonl or .parquet file, whichever form its test lists have.

    Raises:
        InputError: the file can't be read, or a row isn't one of ours; names file, row and column.
    """
    if path.suffix == ".parquet":
        try:
            data = pq.ParquetFile(path).read().to_pylist()
        except (OSError, ValueError) as error:
            raise InputError(f"can't read {path} as parquet: {error}") from error
        return tuple(from_columns(columns, f"{path}: row {n}") for n, columns in enumerate(data, 1))
    rows = []
    for number, line in _lines(path):
        where = f"{path}:{number}"
        try:
            columns = json.loads(line)
        except ValueError as error:
            raise InputError(f"{where}: not JSON: {error}") from error
        if not isinstance(columns, dict):
            raise InputError(f"{where}: a row is a mapping of columns, not {type(columns).__name__}")
        rows.append(from_columns(columns, where))
    return tuple(rows)


def read_tasks(folder: Path) -> tuple[Task, ...]:
    """Return the task records of a dataset folder.

    Raises:
        InputError: there are none, or one isn't a task record.
    """
    path = folder / "records" / "tasks.jsonl"
    tasks = []
    for number, line in _lines(path):
        try:
            tasks.append(Task.from_json(json.loads(line)))
        except (ValueError, ValidationError) as error:
            raise InputError(f"{path}:{number}: not a task record: {error}") from error
    return tuple(tasks)


def check_dataset(folder: Path) -> tuple[FileProblem, ...]:
    """Return the files that differ from the manifest; empty when the dataset is whole.

    Raises:
        InputError: the folder has no readable manifest.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        expected = {file["path"]: file["sha256"] for file in manifest["files"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder} has no readable {MANIFEST}: {error}") from error
    found = {file.path: file.sha256 for file in describe_folder(folder) if file.path != MANIFEST}
    problems = [FileProblem(path=path, problem="missing") for path in expected.keys() - found.keys()]
    problems += [FileProblem(path=path, problem="unknown") for path in found.keys() - expected.keys()]
    problems += [
        FileProblem(path=path, problem="changed")
        for path in expected.keys() & found.keys()
        if expected[path] != found[path]
    ]
    return tuple(sorted(problems, key=lambda item: (item.path, item.problem)))
