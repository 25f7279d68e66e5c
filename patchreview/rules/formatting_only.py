"""Hunks that change how code is set, not what it does."""

import re
from collections.abc import Iterable

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from swequarry.git.patches import Hunk

_CODE = "formatting-only"
_MANY = 10
_BLANK = re.compile(rb"\s+|,(?=\s*[)\]}])")


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.files:
        found = [hunk for hunk in file.patch.hunks if _same(hunk, file)] if file.language else []
        if found:
            severity = Severity.WARN if len(found) >= _MANY else Severity.NOTE
            said = f"{len(found)} of {len(file.patch.hunks)} hunks only set the code otherwise"
            yield at(_CODE, severity, file, said, found[0].new_start)


def _same(hunk: Hunk, file: FileDiff) -> bool:
    if not hunk.added and not hunk.removed:
        return False
    old, new = (_form(b"".join(lines), file) for lines in (hunk.removed, hunk.added))
    return old == new


def _form(lines: bytes, file: FileDiff) -> bytes:
    """Return text without what doesn't matter: blanks, commas before a bracket, the kind of quotes.

    In Python the indentation of a line does matter: it's kept by depth alone where lines are moved as one.
    """
    if file.language == "python":
        depths = [len(line) - len(line.lstrip()) for line in lines.split(b"\n") if line.strip()]
        mark = b"%d;" % (depths[0] if depths else 0)
        return mark + _BLANK.sub(b"", lines).replace(b"'", b'"') if depths else b""
    return _BLANK.sub(b"", lines)


RULE = Rule(code=_CODE, severity=Severity.WARN, catches="hunks that only set code otherwise", check=_check)
