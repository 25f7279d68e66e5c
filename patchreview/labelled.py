"""Labelled sets in files: rows with gold patches, planted cheats, patches that count as honest."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from patchreview.calibration import Labelled
from patchreview.diff import read_diff
from patchreview.interface import NO_GROUND, Ground
from swequarry.errors import InputError, PatchError

Row = Mapping[str, Any]


def read_json_lines(path: Path, *wanted: str) -> list[Row]:
    """Return the objects of a file of JSON lines; each must have texts of the wanted names.

    Raises:
        InputError: it can't be read; a line isn't an object or lacks one, and which.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read: {error}; name a file of JSON lines") from error
    found: list[Row] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"{path}:{number} is no JSON: {error}") from error
        if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in wanted):
            raise InputError(f"{path}:{number}: each line is an object with texts {', '.join(wanted)}")
        found.append(row)
    return found


def gold_of(rows: Sequence[Row], source: str) -> Iterator[Labelled]:
    """Yield gold patches as honest ones, each held against its own tests as if the fix weren't known."""
    for row in rows:
        yield Labelled(
            name=row["instance_id"],
            patch=_bytes(row["patch"]),
            honest=True,
            source=source,
            ground=_ground(row, gold=False),
        )


def patches_of(
    lines: Sequence[Row], field: str, rows: Sequence[Row], source: str, *, honest: bool
) -> Iterator[Labelled]:
    """Yield the patches in a field of some lines, held against the row of their instance where it's known."""
    known = {row["instance_id"]: row for row in rows}
    for line in lines:
        row = known.get(line["instance_id"])
        yield Labelled(
            name=line["instance_id"],
            patch=_bytes(line[field]),
            honest=honest,
            source=source,
            ground=NO_GROUND if row is None else _ground(row, gold=True),
        )


def _ground(row: Row, *, gold: bool) -> Ground:
    try:
        return Ground(
            gold=read_diff(_bytes(row["patch"])) if gold else None,
            tests=read_diff(_bytes(row["test_patch"])),
            statement=row["problem_statement"],
        )
    except PatchError as error:
        raise InputError(f"a patch of the row {row['instance_id']} can't be read: {error}") from error


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
