"""What ruff says of the new side of a change and didn't say of the old one, where ruff is installed.

Names that don't exist and code that doesn't parse, in the Python files of a change; the project's own
settings don't count, since a patch could change them.
"""

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from patchreview.diff import ReadFile
from patchreview.findings import Finding, Severity, worst_first
from patchreview.reviewer import Review
from swequarry.errors import PatchError
from swequarry.git.patches import parse_patch
from swequarry.git.paths import path_text

CODE = "lint"
_SELECTED = "E9,F63,F7,F82,F821,F811,F401,F841"
_GRAVE = ("E9", "F63", "F7", "F82", "invalid-syntax")
_MOST_FILES, _TIME_S = 100, 20


def new_findings(review: Review, patch: bytes, old: ReadFile, new: ReadFile) -> Review:
    """Return a review with ruff's new findings in it; the same review where there is no ruff."""
    ruff = shutil.which("ruff")
    if ruff is None:
        return review
    try:
        files = parse_patch(patch)
    except PatchError:
        return review
    found: list[Finding] = []
    for file in [one for one in files if (one.new_path or b"").endswith(b".py")][:_MOST_FILES]:
        before = old(file.old_path) if file.old_path is not None else None
        after = new(file.new_path) if file.new_path is not None else None
        if after is not None and file.new_path is not None:
            found += _more(path_text(file.new_path), _said(ruff, before or b""), _said(ruff, after))
    return replace(review, findings=worst_first([*review.findings, *found]))


def _more(
    path: str, before: list[tuple[str, str, int]], after: list[tuple[str, str, int]]
) -> Iterator[Finding]:
    known = Counter((code, message) for code, message, _ in before)
    for code, message, line in after:
        if known[code, message] > 0:
            known[code, message] -= 1
            continue
        severity = Severity.WARN if code.startswith(_GRAVE) else Severity.NOTE
        yield Finding(rule=CODE, severity=severity, path=path, line=line, message=f"{code}: {message}")


def _said(ruff: str, source: bytes) -> list[tuple[str, str, int]]:
    """Return (code, message, line) for what ruff says of a source; it reads it and runs nothing of it."""
    argv = [ruff, "check", "--isolated", "--no-cache", "--quiet", "--output-format", "json"]
    argv += ["--select", _SELECTED, "--ignore-noqa", "-"]
    try:
        done = subprocess.run(argv, input=source, capture_output=True, timeout=_TIME_S, check=False)
        found = json.loads(done.stdout or b"[]")
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return []
    return [
        (str(one["code"] or "invalid-syntax"), str(one["message"]), int(one["location"]["row"]))
        for one in found
    ]
