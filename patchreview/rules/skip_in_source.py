"""Source that makes the test which calls it skipped."""

import re
from collections.abc import Iterable

from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at

_CODE = "skip-in-source"
_SKIPS = re.compile(
    rb"\bpytest\.(?:skip|xfail|exit|fail)\(|\b(?:raise|import)\s+(?:\w+\.)*(?:SkipTest|Skipped|XFailed)\b"
)


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.python:
        if file.is_source and b"pytest" not in file.path:
            for line in file.added:
                if _SKIPS.search(line.bare) and not case.is_known(line.raw):
                    yield at(
                        _CODE,
                        Severity.BLOCK,
                        file,
                        "source that skips the test which calls it",
                        line.number,
                        line.raw,
                    )


RULE = Rule(
    code=_CODE, severity=Severity.BLOCK, catches="source that skips the test which calls it", check=_check
)
