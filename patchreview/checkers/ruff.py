"""Ruff: names that don't exist, code that doesn't parse, imports and variables that nobody uses."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from patchreview.checkers.sides import Changed, Said, only_new, output_of, program
from patchreview.clock import Clock, OutOfTimeError
from patchreview.findings import Finding, Severity

CODE = "lint"
_SELECTED = "E9,F63,F7,F82,F821,F811,F401,F841"
_GRAVE = ("E9", "F63", "F7", "F82", "invalid-syntax")
_TIME_S, _TOTAL_S = 20.0, 60.0


def check(files: Sequence[Changed], clock: Clock | None = None) -> Iterator[Finding]:
    """Yield what ruff newly says; nothing where it isn't installed.

    All files share the time of `clock`; where it's over, a note says how many weren't looked at.
    """
    ruff = program("ruff")
    if ruff is None:
        return
    clock = clock or Clock(_TOTAL_S)
    for number, file in enumerate(files):
        try:
            clock.check()
        except OutOfTimeError:
            said = f"ruff took too long: {len(files) - number} of {len(files)} files weren't looked at"
            yield Finding(rule=CODE, severity=Severity.NOTE, message=said)
            return
        before, after = (_said(ruff, file.name, data) for data in (file.before, file.after))
        yield from only_new(CODE, before, after)


def _said(ruff: str, name: str, source: bytes) -> list[Said] | None:
    """Return what ruff says of a file; None where it gave no answer."""
    argv = [ruff, "check", "--isolated", "--no-cache", "--quiet", "--output-format", "json"]
    argv += ["--select", _SELECTED, "--ignore-noqa", "-"]
    output = output_of(argv, given=source, time_s=_TIME_S)
    try:
        found = json.loads(output.text) if output and output.text else None
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
