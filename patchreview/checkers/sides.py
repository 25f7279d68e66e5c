"""Both sides of a change as files for other programs, and what they say of one side only."""

import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from patchreview.checkers.bounded import Answer, answer_of
from patchreview.diff import ReadFile
from patchreview.findings import Finding, Severity
from swequarry.errors import PatchError
from swequarry.git.patches import parse_patch
from swequarry.git.paths import path_text

MOST_FILES, TIME_S = 100, 60.0
_ANSWERED = frozenset({0, 1})
BESIDE = Path(sys.executable).parent
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A Python file of a change: its name as findings say it, its paths, its bytes before and after."""

    name: str
    old_path: bytes | None
    new_path: bytes
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One thing that a program said of a file; `kind` is the program's own code."""

    name: str
    kind: str
    message: str
    line: int
    severity: Severity


def changed_python(patch: bytes, old: ReadFile, new: ReadFile) -> list[Changed]:
    """Return the Python files that a change leaves, at most `MOST_FILES`; none where it can't be read."""
    try:
        files = parse_patch(patch)
    except PatchError:
        return []
    found: list[Changed] = []
    for file in files:
        if file.new_path is None or not file.new_path.endswith(b".py") or len(found) == MOST_FILES:
            continue
        after = new(file.new_path)
        before = old(file.old_path) if file.old_path is not None else None
        if after is not None:
            found.append(
                Changed(
                    name=path_text(file.new_path),
                    old_path=file.old_path,
                    new_path=file.new_path,
                    before=before or b"",
                    after=after,
                )
            )
    return found


def only_new(rule: str, before: Iterable[Said] | None, after: Iterable[Said] | None) -> Iterator[Finding]:
    """Yield a finding for what was said of the new side more often than of the old one.

    Lines move, so they don't count, nor do numbers within messages. A side that couldn't be looked at is
    None; then nothing is known to be new.
    """
    if before is None or after is None:
        return
    known = Counter(_mark(one) for one in before)
    for one in after:
        if known[_mark(one)] > 0:
            known[_mark(one)] -= 1
            continue
        yield Finding(
            rule=rule,
            severity=one.severity,
            path=one.name,
            line=one.line or None,
            message=f"{one.kind}: {one.message}",
        )


def program(name: str) -> str | None:
    """Return where a program is: on PATH, else beside this Python; None where it's nowhere."""
    return shutil.which(name) or shutil.which(name, path=str(BESIDE))


def output_of(
    argv: Sequence[str], *, given: bytes = b"", folder: Path | None = None, time_s: float = TIME_S
) -> Answer | None:
    """Return what a program says; None where it gave no answer, or ended otherwise than with 0 or 1.

    None isn't silence: of a side that nobody looked at nothing is known, so nothing of the other one is new.
    """
    answer = answer_of(argv, given=given, folder=folder, time_s=time_s)
    return answer if answer is not None and answer.status in _ANSWERED else None


def _mark(one: Said) -> tuple[str, str, str]:
    return one.name, one.kind, _NUMBERS.sub("0", one.message)
