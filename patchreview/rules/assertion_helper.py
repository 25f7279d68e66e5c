"""Helpers of assertions that a patch writes anew."""

import re
from collections.abc import Iterable

from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at

_CODE = "assertion-helper"
_DEFINES = re.compile(rb"^\s*(?:async\s+)?def\s+(assert_\w+)\(|^\s*(assert_\w+)\s*=[^=]")


def _check(case: Case) -> Iterable[Finding]:
    if case.ground.gold is None:
        return
    for file in case.diff.python:
        if not file.is_source or file.created or file.path in case.gold_paths:
            continue
        for line in file.added:
            if _DEFINES.search(line.bare) and not case.is_known(line.raw):
                said = "an assertion that tests use is written anew, which the fix doesn't need"
                yield at(_CODE, Severity.BLOCK, file, said, line.number, line.raw)


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="assertions in the source that tests use, changed beside the fix",
    check=_check,
)
