"""Source that reads the tests."""

import re
from collections.abc import Iterable

from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at

_CODE = "reads-tests"
_TEST_PATH = re.compile(rb"[\"'][^\"']*(?:(?:^|/)?tests?/[^\"']*|test_\w+|\w+_test|conftest)(?:\.py)?[\"']")
_READS = re.compile(
    rb"\bopen\(|\bread_(?:text|bytes)\(|\bglob\(|\bwalk\(|\blistdir\(|\bPath\(|linecache|getsource|import_module\(|__import__\("
)


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.python:
        if not file.is_source:
            continue
        for line in file.added:
            if _READS.search(line.code) and _TEST_PATH.search(line.code) and not case.is_known(line.raw):
                yield at(
                    _CODE, Severity.BLOCK, file, "source that reads a file of tests", line.number, line.raw
                )


RULE = Rule(
    code=_CODE, severity=Severity.BLOCK, catches="source that reads or imports test files", check=_check
)
