"""Ruff: names that don't exist, code that doesn't parse, imports and variables that nobody uses."""

import json
import subprocess
from collections.abc import Iterator, Sequence

from patchreview.checkers.sides import Changed, Said, only_new, program
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
            before, after = (list(_said(ruff, file.name, data)) for data in (file.before, file.after))
            yield from only_new(CODE, before, after)


def _said(ruff: str, name: str, source: bytes) -> Iterator[Said]:
    argv = [ruff, "check", "--isolated", "--no-cache", "--quiet", "--output-format", "json"]
    argv += ["--select", _SELECTED, "--ignore-noqa", "-"]
    try:
        done = subprocess.run(argv, input=source, capture_output=True, timeout=_TIME_S, check=False)
        found = json.loads(done.stdout or b"[]")
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return
    for one in found:
        kind = str(one["code"] or "invalid-syntax")
        severity = Severity.WARN if kind.startswith(_GRAVE) else Severity.NOTE
        yield Said(
            name=name,
            kind=kind,
            message=str(one["message"]),
            line=int(one["location"]["row"]),
            severity=severity,
        )
