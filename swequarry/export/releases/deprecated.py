"""The list of tasks that shall not go out any more: `recheck` writes it, `release` and `export` read it.

`{"kind": "deprecated", "schema_version": 1, "of": {...}, "tasks": [...]}`, tasks with the fields of
`Deprecation`. An entry is about one version of a task: made anew with other content, it is another one, and
goes out again. An entry without `verified_sha256`, which a person may write, is about every version.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from swequarry.errors import InputError
from swequarry.export.selection import published
from swequarry.records import Task
from swequarry.write_whole import write_whole

DEPRECATED_SCHEMA = 1
_KIND = "deprecated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deprecation:
    """A task that shall not go out: which version, why in one word, what was seen, with which tests."""

    instance_id: str
    reason: str
    verified_sha256: str | None = None
    detail: str = ""
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What a list says of some tasks: why each that it names stays out, and the entries that name none."""

    deprecated: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[Deprecation, ...] = ()


def read_deprecated(path: Path) -> tuple[Deprecation, ...]:
    """Read a list.

    Raises:
        InputError: the file can't be read, or isn't such a list of this or an older version.
    """
    try:
        return _entries(json.loads(path.read_bytes()))
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, ValidationError) as error:
        raise InputError(
            f"{path} isn't a deprecation list of version {DEPRECATED_SCHEMA} or older: {error}; "
            "give the deprecated.json that `swequarry recheck` wrote"
        ) from error


def _entries(data: Any) -> tuple[Deprecation, ...]:
    if data["kind"] != _KIND or int(data["schema_version"]) > DEPRECATED_SCHEMA:
        raise ValueError(f"it is {data['kind']!r} of version {data['schema_version']}")
    return TypeAdapter(tuple[Deprecation, ...]).validate_python(data["tasks"])


def choose_deprecated(tasks: Iterable[Task], entries: Sequence[Deprecation]) -> Chosen:
    """Return which of some tasks, as the run has them, a list keeps out."""
    hashes = {task.instance_id: published(task).content_hash() for task in tasks}
    deprecated: dict[str, str] = {}
    unknown = []
    for entry in entries:
        here = hashes.get(entry.instance_id)
        if here is not None and entry.verified_sha256 in (None, here):
            deprecated[entry.instance_id] = (
                f"{entry.reason}: {entry.detail}" if entry.detail else entry.reason
            )
        else:
            unknown.append(entry)
    return Chosen(deprecated=deprecated, unknown=tuple(unknown))


def write_deprecated(
    folder: Path, entries: Sequence[Deprecation], of: Mapping[str, Any]
) -> tuple[Path, Path]:
    """Write a list as `deprecated.json` and, for people, one line a task in `deprecated.txt`.

    Raises:
        StorageError: a file can't be written.
    """
    ordered = sorted(entries, key=lambda entry: entry.instance_id)
    data = {
        "kind": _KIND,
        "schema_version": DEPRECATED_SCHEMA,
        "of": dict(of),
        "tasks": [asdict(entry) for entry in ordered],
    }
    as_json, as_text = folder / "deprecated.json", folder / "deprecated.txt"
    write_whole(as_json, (json.dumps(data, indent=2, ensure_ascii=True) + "\n").encode("ascii"))
    lines = [f"{entry.instance_id}\t{entry.reason}\t{' '.join(entry.detail.split())}\n" for entry in ordered]
    write_whole(as_text, "".join(lines).encode("utf-8", "backslashreplace"))
    return as_json, as_text
