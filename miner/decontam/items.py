"""What is compared: items with parts of text, read from JSONL or parquet in constant memory.

Known columns are those of SWE-style datasets. Another dataset's columns are named by the caller, else every
column of text counts.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from miner.decontam.boilerplate import without_boilerplate
from swequarry.errors import InputError, PatchError
from swequarry.git.patches import parse_patch
from swequarry.text.hashes import prose_form

_ROWS = 256
_BLANKS = re.compile(rb"\s+")
_PULL = re.compile(r"-(\d{1,9})$")


class Part(StrEnum):
    """What a text is: it decides its normal form and the length of its n-grams."""

    STATEMENT = "statement"
    GOLD = "gold"
    TESTS = "tests"
    TEXT = "text"


COLUMNS = {"problem_statement": Part.STATEMENT, "patch": Part.GOLD, "test_patch": Part.TESTS}
"""The columns of SWE-style rows that hold text."""
_IDENTITIES = ("instance_id", "id", "task_id")
_NO_TEXT = frozenset(
    {*_IDENTITIES, "repo", "base_commit", "created_at", "roots", "version", "FAIL_TO_PASS", "PASS_TO_PASS"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One row: its name and parts in their normal form; where it comes from, as far as it says so.

    `change` is the hash of what the gold patch adds and removes, without blanks and places: equal for the
    same change on another branch. None where there is no patch that can be read. `roots` are the first
    commits of the repository.
    """

    id: str
    parts: Mapping[Part, bytes]
    repo: str | None = None
    pull: int | None = None
    base: str | None = None
    change: str | None = None
    roots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemProblem:
    """A row that can't be compared, and why."""

    file: str
    line: int
    message: str


def read_items(path: Path, columns: Sequence[str] = ()) -> Iterator[Item | ItemProblem]:
    """Yield the rows of a `.jsonl` or `.parquet` file, in order; a row without a name gets FILE:LINE.

    `columns` are the columns of text; without them the known ones, else all that hold text.

    Raises:
        InputError: the file can't be read, or no row has one of `columns`.
    """
    missing = set(columns)
    for line, fields in enumerate(_fields(path), start=1):
        if isinstance(fields, str):
            yield ItemProblem(file=path.name, line=line, message=fields)
            continue
        missing -= fields.keys()
        item = make_item(fields, f"{path.name}:{line}", columns)
        yield item or ItemProblem(file=path.name, line=line, message="the row has no text")
    if missing:
        raise InputError(f"no row of {path} has the column {min(missing)!r}; name a column of text")


def make_item(fields: Mapping[str, Any], name: str, columns: Sequence[str] = ()) -> Item | None:
    """Return a row as an item; None where it has neither text nor name and repository to be known by."""
    chosen = tuple(columns) or tuple(column for column in COLUMNS if isinstance(fields.get(column), str))
    chosen = chosen or tuple(column for column in fields if column not in _NO_TEXT)
    parts: dict[Part, list[bytes]] = {}
    for column in chosen:
        value = fields.get(column)
        if isinstance(value, str) and value.strip():
            part = COLUMNS.get(column, Part.TEXT)
            parts.setdefault(part, []).append(normal_form(value, part))
    named = next((str(fields[key]) for key in _IDENTITIES if fields.get(key)), None)
    if not parts and (named is None or _text(fields, "repo") is None):
        return None
    identity = named or name
    patch = fields.get("patch")
    return Item(
        id=identity,
        parts={part: b"\n".join(texts) for part, texts in parts.items()},
        repo=_text(fields, "repo"),
        pull=_pull(fields, identity),
        base=_text(fields, "base_commit"),
        change=change_hash(_bytes(patch)) if isinstance(patch, str) else None,
        roots=_roots(fields),
    )


def _roots(fields: Mapping[str, Any]) -> tuple[str, ...]:
    value = fields.get("roots")
    return tuple(root for root in value if isinstance(root, str)) if isinstance(value, list) else ()


def normal_form(text: str, part: Part) -> bytes:
    """Return what of a text is compared: of patches the added lines, of prose what no template holds."""
    match part:
        case Part.GOLD | Part.TESTS:
            return b"".join(added_lines(_bytes(text)))
        case Part.STATEMENT:
            return _bytes(prose_form(without_boilerplate(text)))
        case Part.TEXT:
            return _bytes(without_boilerplate(text))


def added_lines(patch: bytes) -> Iterator[bytes]:
    """Yield the lines that a patch adds; of what is no patch, those that begin with one `+`."""
    try:
        files = parse_patch(patch)
    except PatchError:
        for line in patch.splitlines(keepends=True):
            if line.startswith(b"+") and not line.startswith(b"+++"):
                yield line[1:]
        return
    for file in files:
        for hunk in file.hunks:
            yield from hunk.added


def change_hash(patch: bytes) -> str | None:
    """Return the hash of a change: its files with what is removed and added, blanks left out.

    Unlike git's patch id it leaves out the lines around, so that a backport is the same change.
    """
    try:
        files = parse_patch(patch)
    except PatchError:
        return None
    told = []
    for file in files:
        lines = [line for hunk in file.hunks for line in hunk.lines if line[:1] in (b"+", b"-")]
        if lines:
            path = file.new_path or file.old_path or b""
            told.append(path + b"\0" + b"".join(_BLANKS.sub(b"", line) for line in lines))
    return hashlib.sha256(b"\0".join(sorted(told))).hexdigest() if told else None


def _fields(path: Path) -> Iterator[Mapping[str, Any] | str]:
    """Yield the fields of each row, or what is wrong with it."""
    try:
        if path.suffix == ".parquet":
            with pq.ParquetFile(path) as opened:
                for batch in opened.iter_batches(batch_size=_ROWS):
                    yield from batch.to_pylist()
            return
        with path.open("rb") as lines:
            for line in lines:
                if line.strip():
                    yield _parsed(line)
    except OSError as error:
        raise InputError(
            f"{path} can't be read: {error.strerror or error}; name a JSONL or parquet file"
        ) from error
    except pa.ArrowInvalid as error:
        raise InputError(f"{path} is no parquet file: {error}") from error


def _parsed(line: bytes) -> Mapping[str, Any] | str:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"the line isn't JSON: {error}"
    return fields if isinstance(fields, dict) else "the line is no JSON object"


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) and value else None


def _pull(fields: Mapping[str, Any], identity: str) -> int | None:
    value = fields.get("pull_number")
    if isinstance(value, int):
        return value
    found = _PULL.search(identity) if identity != fields.get("repo") else None
    return int(found[1]) if found and "repo" in fields else None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
