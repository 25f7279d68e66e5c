"""Columns of a dataset file: the Arrow schema, and rows to plain columns and back.

Two forms of one row: `lists` has FAIL_TO_PASS and PASS_TO_PASS as lists of strings, `strings` as JSON text
of such a list. The schema is written out: a list that is empty in every row would otherwise become
`list<null>`, and a column that is null in every row `null`.
"""

import ast
import contextlib
import json
from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from functools import cache
from typing import Any

import pyarrow as pa
from pydantic import TypeAdapter, ValidationError

from swequarry.errors import InputError
from swequarry.export.measured import STABILITY, WRONG_FIXES
from swequarry.export.rows import Row

TEST_LISTS = ("FAIL_TO_PASS", "PASS_TO_PASS")
_CAPITALS = {name.lower(): name for name in TEST_LISTS}
_SMALL = {name: name.lower() for name in TEST_LISTS}


class RowForm(StrEnum):
    """How the test lists of a file are written; also the name of its dataset config."""

    LISTS = "lists"
    STRINGS = "strings"


_TEXT = pa.string()
_DROPPED = pa.list_(pa.struct([("id", _TEXT), ("list_name", _TEXT), ("reason", _TEXT)]))
_TEXTS = pa.list_(_TEXT)
_QUARANTINED = pa.list_(pa.struct([("id", _TEXT), ("reason", _TEXT), ("before", _TEXTS), ("after", _TEXTS)]))
_VERIFICATION = pa.struct(
    [
        ("backend", _TEXT),
        ("scope", _TEXT),
        ("runs_before", pa.int32()),
        ("runs_after", pa.int32()),
        ("tree_proof", _TEXT),
    ]
)
_PROVENANCE = pa.struct(
    [
        (name, _TEXT)
        for name in ("source", "candidate", "snapshot", "environment", "verification", "swequarry_version")
    ]
)
_TYPES: dict[str, pa.DataType] = {
    "issue_numbers": pa.list_(pa.int64()),
    "pull_number": pa.int64(),
    "test_files": _TEXTS,
    "dropped_tests": _DROPPED,
    "quarantined_tests": _QUARANTINED,
    "verification": _VERIFICATION,
    "provenance": _PROVENANCE,
    "stability": STABILITY,
    "strength": pa.float64(),
    "wrong_fixes": WRONG_FIXES,
    "schema_version": pa.int32(),
}
"""The columns that aren't text."""


def column_name(field_name: str) -> str:
    """Return the column of a row's field."""
    return _CAPITALS.get(field_name, field_name)


@cache
def arrow_schema(form: RowForm) -> pa.Schema:
    """Return the schema of a dataset file, columns in the order of `Row`."""
    lists = _TEXTS if form is RowForm.LISTS else _TEXT
    types = {**_TYPES, **dict.fromkeys(TEST_LISTS, lists)}
    names = [column_name(field.name) for field in fields(Row)]
    return pa.schema([(name, types.get(name, _TEXT)) for name in names])


@cache
def _adapter() -> TypeAdapter[Row]:
    return TypeAdapter(Row)


def to_columns(row: Row, form: RowForm) -> dict[str, Any]:
    """Return a row as plain JSON data, columns in the order of the schema."""
    data = _adapter().dump_python(row, mode="json")
    columns = {column_name(name): value for name, value in data.items()}
    if form is RowForm.STRINGS:
        for name in TEST_LISTS:
            columns[name] = json.dumps(columns[name], ensure_ascii=True)
    return columns


def read_test_list(value: object, where: str) -> tuple[str, ...]:
    """Return the test ids of a list, a JSON text of one, or a Python repr of one.

    `where` names file, row and column for the message.

    Raises:
        InputError: it is none of these, or a member isn't a string.
    """
    members = _parse_list(value, where) if isinstance(value, str) else value
    if not isinstance(members, list | tuple):
        raise InputError(f"{where}: expected a list of test ids, found {type(members).__name__}")
    for index, member in enumerate(members):
        if not isinstance(member, str):
            raise InputError(
                f"{where}: member {index} is {type(member).__name__}, not a string; test ids are strings"
            )
    return tuple(members)


def _parse_list(text: str, where: str) -> object:
    if not text.strip():
        raise InputError(f"{where}: empty text isn't a list; write [] for no tests")
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise InputError(f"{where}: neither JSON nor a Python list: {text[:60]!r}") from error


def from_columns(columns: Mapping[str, Any], where: str) -> Row:
    """Return the row that `to_columns` made these columns from, whichever form they have.

    Raises:
        InputError: a column is missing, unknown or of the wrong type.
    """
    data = {_SMALL.get(name, name): value for name, value in columns.items()}
    for name in TEST_LISTS:
        if name in columns:
            data[_SMALL[name]] = read_test_list(columns[name], f"{where}: {name}")
    unknown = sorted(set(data) - {field.name for field in fields(Row)})
    if unknown:
        raise InputError(f"{where}: unknown column {unknown[0]}; it isn't a dataset of this version")
    try:
        return _adapter().validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{where}: column {place}: {first['msg']}") from error
