"""Copies of other people's code."""

import re
from collections.abc import Iterable, Iterator

from patchreview.diff import Diff, FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at

_CODE = "vendored-copy"
_FOLDER = re.compile(
    rb"(?:^|/)(?:_?vendor(?:ed)?|third_?party|node_modules|site-packages|bower_components|externals?|\.?venv|extern)/",
    re.IGNORECASE,
)
_MANY_LINES = 1500
_LARGE, _TIMES = 300, 4


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.every:
        if not file.created or file.path in case.gold_paths:
            continue
        if _FOLDER.search(file.path):
            yield at(_CODE, Severity.WARN, file, "a new file in a folder of others' code")
        elif file.language and file.added_count > _MANY_LINES:
            yield at(_CODE, Severity.WARN, file, f"a new source file of {file.added_count} lines")
        if case.ground.gold is not None and file.is_source and file.language:
            yield from _beside_the_fix(file, case.ground.gold)


def _beside_the_fix(file: FileDiff, gold: Diff) -> Iterator[Finding]:
    """A module of its own that is many times as large as the whole fix wasn't written for it."""
    if file.added_count > max(_LARGE, _TIMES * gold.size):
        said = f"a new source file of {file.added_count} lines, where the whole fix has {gold.size}"
        yield at(_CODE, Severity.BLOCK, file, said)


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="copies of others' code; new modules far larger than the fix block",
    check=_check,
)
