"""Copies of other people's code."""

import re
from collections.abc import Iterable

from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at

_CODE = "vendored-copy"
_FOLDER = re.compile(
    rb"(?:^|/)(?:_?vendor(?:ed)?|third_?party|node_modules|site-packages|bower_components|externals?|\.?venv|extern)/",
    re.IGNORECASE,
)
_MANY_LINES = 1500


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.every:
        if not file.created or file.path in case.gold_paths:
            continue
        if _FOLDER.search(file.path):
            yield at(_CODE, Severity.WARN, file, "a new file in a folder of others' code")
        elif file.language and file.added_count > _MANY_LINES:
            yield at(_CODE, Severity.WARN, file, f"a new source file of {file.added_count} lines")


RULE = Rule(code=_CODE, severity=Severity.WARN, catches="copies of others' code", check=_check)
