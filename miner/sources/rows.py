"""Reads SWE-bench style rows from JSONL, JSON and parquet files, one by one, and keeps every broken one.

Types: FAIL_TO_PASS and PASS_TO_PASS are lists of strings. A JSON text of such a list is read as well, and so
is Python's repr of one (converted, and said so: both appear in published datasets). A member that isn't
a string is refused with row and field named.

Published ids that end inside an open bracket (`test_x[a` for `test_x[a b]`: cut at the first blank by the
log parsers of their time) can't be satisfied by anybody. Here lists are measured anew, and the published
ones serve for comparison only, so such a row is kept and flagged `published_ids_cut`; `cut_ids` names
them for whoever wants to use the lists as they are, and must then refuse the row (`bad_test_id`).
"""

import ast
import difflib
import io
import json
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from swequarry.errors import InputError
from swequarry.outcome import RejectCode
from swequarry.records import CommitSha, RepoRef

REQUIRED = ("instance_id", "repo", "base_commit", "patch", "test_patch", "problem_statement")
_READ = "hints_text created_at merged_at pull_number issue_numbers FAIL_TO_PASS PASS_TO_PASS"
_NOT_NEEDED = (
    # SWE-bench and its successors
    "version environment_setup_commit difficulty image eval_script log_parser eval_type image_assets"
    # SWE-rebench, SWE-Gym, SWE-bench-Live
    " test_assets docker_image image_name install_config requirements environment meta license_name license"
    " commit_name commit_url commit_urls test_cmd test_cmds all_hints_text language repo_language split index"
    # this program's own datasets
    " image_digest license_spdx license_evidence statement_kind created_at_kind test_framework test_files"
    " dropped_tests quarantined_tests environment_id python_version verification provenance stability"
    " strength wrong_fixes review decontamination interface schema_version content_sha256"
)
KNOWN = frozenset((*REQUIRED, *_READ.split(), *_NOT_NEEDED.split()))
"""The fields that are read, or known and not needed here. Any other one is reported."""

_REPO = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+:-]{0,199}")
_SHA = re.compile(r"[0-9a-f]{40}")
_PULL_NUMBER = re.compile(r"-(\d{1,9})$")
_MAX_LIST_CHARS = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One valid row. Test lists are None where the row has none; `notes` say what was odd in it."""

    line: int
    instance_id: str
    repo: RepoRef
    base_commit: CommitSha
    patch: bytes
    test_patch: bytes
    problem_statement: str
    hints_text: str = ""
    created_at: datetime | None = None
    merged_at: datetime | None = None
    pull_number: int | None = None
    issue_numbers: tuple[int, ...] = ()
    fail_to_pass: tuple[str, ...] | None = None
    pass_to_pass: tuple[str, ...] | None = None
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowProblem:
    """A row that can't be used: where it is and why. `instance_id` is set where it could be read."""

    file: str
    line: int
    message: str
    code: RejectCode = RejectCode.MALFORMED_ROW
    instance_id: str | None = None


class _BadRowError(Exception):
    """A field of a row is wrong; becomes a `RowProblem`."""

    def __init__(self, message: str, code: RejectCode = RejectCode.MALFORMED_ROW) -> None:
        super().__init__(message)
        self.code = code


def cut_ids(ids: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ids that end inside an open bracket: a parameter list was begun and never closed."""
    return tuple(test for test in ids if "[" in test and not test.endswith("]"))


# --- fields ------------------------------------------------------------------------------------------


def _text(fields: Mapping[str, Any], name: str, *, needed: bool = True) -> str:
    value = fields.get(name)
    if isinstance(value, str):
        return value
    if value is None and not needed:
        return ""
    raise _BadRowError(f"field `{name}` is {_type_name(value)}, not text")


def _type_name(value: object) -> str:
    return "null" if value is None else f"a {type(value).__name__}"


def _bytes(fields: Mapping[str, Any], name: str) -> bytes:
    text = _text(fields, name)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        pass
    try:
        # Bytes that weren't UTF-8 reach JSON as lone surrogates when Python wrote the file.
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise _BadRowError(f"field `{name}` holds a lone surrogate that stands for no byte") from error


def _moment(fields: Mapping[str, Any], name: str) -> datetime | None:
    value: Any = fields.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError as error:
            raise _BadRowError(f"field `{name}` isn't an ISO 8601 time: {value[:40]!r}") from error
    if not isinstance(value, datetime):
        raise _BadRowError(f"field `{name}` is {_type_name(value)}, not an ISO 8601 time")
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _from_repr(text: str, name: str) -> list[Any]:
    try:
        value = ast.literal_eval(text)
        strings = [
            t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.STRING
        ]
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError, tokenize.TokenError) as error:
        raise _BadRowError(
            f"field `{name}` is neither a list, nor JSON, nor Python's repr of a list", RejectCode.BAD_TEST_ID
        ) from error
    if not isinstance(value, (list, tuple)):
        raise _BadRowError(f"field `{name}` is {_type_name(value)} in quotes, not a list")
    if len(strings) > len(value):
        # numpy prints arrays without commas, and Python would join the strings into one id.
        raise _BadRowError(f"field `{name}` has strings without a comma between them", RejectCode.BAD_TEST_ID)
    return list(value)


def _test_list(fields: Mapping[str, Any], name: str, flags: list[str]) -> tuple[str, ...] | None:
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, str):
        if len(value) > _MAX_LIST_CHARS:
            raise _BadRowError(f"field `{name}` is longer than {_MAX_LIST_CHARS} characters")
        if not value.strip():
            return ()
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = _from_repr(value.strip(), name)
            flags.append("lists_converted_from_repr")
    if not isinstance(value, list):
        raise _BadRowError(f"field `{name}` is {_type_name(value)}, not a list")
    for position, member in enumerate(value):
        if not isinstance(member, str):
            raise _BadRowError(
                f"field `{name}`, member {position} is {_type_name(member)}, not a test id",
                RejectCode.BAD_TEST_ID,
            )
    return tuple(value)


def _repo(fields: Mapping[str, Any]) -> RepoRef:
    text = _text(fields, "repo")
    if not _REPO.fullmatch(text) or ".." in text:
        raise _BadRowError(f"field `repo` isn't `owner/name`: {text[:80]!r}")
    owner, _, name = text.partition("/")
    return RepoRef(owner=owner, name=name)


def _pull_number(fields: Mapping[str, Any], instance_id: str) -> int | None:
    given = fields.get("pull_number")
    if isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return given
    found = _PULL_NUMBER.search(instance_id)
    return int(found[1]) if found else None


def _issue_numbers(fields: Mapping[str, Any]) -> tuple[int, ...]:
    given = fields.get("issue_numbers")
    numbers = given if isinstance(given, list) else ()
    return tuple(n for n in numbers if isinstance(n, int) and not isinstance(n, bool) and n > 0)


def _check_names(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the unknown fields; raises where a needed one is absent, naming a likely misspelling."""
    unknown = tuple(sorted(set(fields) - KNOWN))
    absent = [name for name in REQUIRED if name not in fields]
    if absent:
        near = difflib.get_close_matches(absent[0], unknown, n=1)
        hint = f"; it has `{near[0]}`: is that the one?" if near else ""
        raise _BadRowError(f"lacks the field{'s' * (len(absent) > 1)} `{'`, `'.join(absent)}`{hint}")
    return unknown


def parse_row(fields: object, file: str, line: int) -> Row | RowProblem:
    """Turn the data of one row into a `Row`, or say what is wrong with it."""
    if not isinstance(fields, dict):
        return RowProblem(file=file, line=line, message=f"a row is an object, not {_type_name(fields)}")
    name = fields.get("instance_id")
    instance_id = name if isinstance(name, str) and _ID.fullmatch(name) else None
    try:
        return _parse_fields(fields, file, line)
    except _BadRowError as error:
        return RowProblem(file=file, line=line, message=str(error), code=error.code, instance_id=instance_id)


def _parse_fields(fields: Mapping[str, Any], file: str, line: int) -> Row:
    unknown = _check_names(fields)
    instance_id = _text(fields, "instance_id")
    if not _ID.fullmatch(instance_id):
        raise _BadRowError(f"field `instance_id` isn't a plain name: {instance_id[:80]!r}")
    base_commit = _text(fields, "base_commit").lower()
    if not _SHA.fullmatch(base_commit):
        raise _BadRowError(f"field `base_commit` isn't 40 hex digits: {base_commit[:60]!r}")
    flags = [f"unknown_field:{field}" for field in unknown]
    fail_to_pass = _test_list(fields, "FAIL_TO_PASS", flags)
    pass_to_pass = _test_list(fields, "PASS_TO_PASS", flags)
    if cut_ids((fail_to_pass or ()) + (pass_to_pass or ())):
        flags.append("published_ids_cut")
    return Row(
        line=line,
        instance_id=instance_id,
        repo=_repo(fields),
        base_commit=CommitSha(base_commit),
        patch=_bytes(fields, "patch"),
        test_patch=_bytes(fields, "test_patch"),
        problem_statement=_text(fields, "problem_statement", needed=False),
        hints_text=_text(fields, "hints_text", needed=False),
        created_at=_moment(fields, "created_at"),
        merged_at=_moment(fields, "merged_at"),
        pull_number=_pull_number(fields, instance_id),
        issue_numbers=_issue_numbers(fields),
        fail_to_pass=fail_to_pass,
        pass_to_pass=pass_to_pass,
        flags=tuple(dict.fromkeys(flags)),
        notes=tuple(f"{file}:{line}: field `{field}` isn't known and was ignored" for field in unknown),
    )


# --- files -------------------------------------------------------------------------------------------


def _read_jsonl(path: Path) -> Iterator[tuple[int, object]]:
    """Yield line number and data; a broken line is yielded as its exception. Lines end at LF only."""
    with path.open("rb") as stream:
        for line, raw in enumerate(stream, start=1):
            text = raw.removeprefix(b"\xef\xbb\xbf") if line == 1 else raw
            if text.strip():
                yield line, _loads(text)


def _loads(raw: bytes) -> object:
    try:
        return json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        return error


def _read_json(path: Path) -> Iterator[tuple[int, object]]:
    data = _loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    if isinstance(data, Exception):
        raise InputError(f"{path} isn't JSON: {data}; mend it, or name it .jsonl if each line is a row")
    if isinstance(data, dict) and not set(REQUIRED) & set(data):
        data = list(data.values())
    yield from enumerate(data if isinstance(data, list) else [data], start=1)


def _read_parquet(path: Path) -> Iterator[tuple[int, object]]:
    import pyarrow.parquet as pq  # noqa: PLC0415 - half a second that only readers of parquet should pay

    line = 0
    try:
        with pq.ParquetFile(path) as table:
            for batch in table.iter_batches(batch_size=256):
                for fields in batch.to_pylist():
                    line += 1
                    yield line, fields
    except (OSError, ValueError) as error:
        raise InputError(f"{path} can't be read as parquet after row {line}: {error}") from error


_READERS = {".jsonl": _read_jsonl, ".ndjson": _read_jsonl, ".json": _read_json, ".parquet": _read_parquet}


def read_rows(path: Path) -> Iterator[Row | RowProblem]:
    """Yield every row of a file in its order, the broken ones as `RowProblem`; nothing is skipped.

    `line` counts lines of JSONL, and rows of JSON and parquet, from 1. Blank lines are no rows.

    Raises:
        InputError: the file is missing, empty, of an unknown kind, or can't be read as a whole.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: rows come as {', '.join(_READERS)}; rename or convert the file")
    if not path.is_file():
        raise InputError(f"there is no file {path}; name the rows to read")
    number = 0
    try:
        for line, fields in reader(path):
            number += 1
            if isinstance(fields, Exception):
                yield RowProblem(file=path.name, line=line, message=f"isn't JSON: {fields}")
            else:
                yield parse_row(fields, path.name, line)
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from error
    if not number:
        raise InputError(f"{path} is empty: there is no row in it")
