"""Ruff: names that don't exist, code that doesn't parse, imports and variables that nobody uses."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from patchreview.checkers.sides import Changed, Said, only_new, output_of, program
from patchreview.findings import Finding, Severity

CODE = "lint"
_SELECTED = "E9,F63,F7,F82,F821,F811,F401,F841"
_GRAVE = ("E9", "F63", "F7", "F82", "invalid-syntax")
_TIME_S = 20


def check(files: Sequence[Changed]) -> Iterator[Finding]:
    """Yield what ruff newly says; nothing where it isn't installed."""
    ruff = program("ruff")
    if ruff is not None:
        for file in files:
            before, after = (_said(ruff, file.name, data) for data in (file.before, file.after))
            yield from only_new(CODE, before, after)


def _said(ruff: str, name: str, source: bytes) -> list[Said] | None:
    """Return what ruff says of a file; None where it gave no answer."""
    argv = [ruff, "check", "--isolated", "--no-cache", "--quiet", "--output-format", "json"]
    argv += ["--select", _SELECTED, "--ignore-noqa", "-"]
    output = output_of(argv, given=source, time_s=_TIME_S)
    try:
        found = json.loads(output) if output else None
    except ValueError:
        return None
    return None if found is None else [_of(name, one) for one in found]


def _of(name: str, one: Mapping[str, Any]) -> Said:
    kind = str(one["code"] or "invalid-syntax")
    return Said(
        name=name,
        kind=kind,
        message=str(one["message"]),
        line=int(one["location"]["row"]),
        severity=Severity.WARN if kind.startswith(_GRAVE) else Severity.NOTE,
    )
