"""Source that reads the tests."""

import re
from collections.abc import Iterable

from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.nearby import nearby
from patchreview.pieces import CodeLine

_CODE = "reads-tests"
_TEST_PATH = re.compile(rb"[\"'][^\"']*(?:(?:^|/)?tests?/[^\"']*|test_\w+|\w+_test|conftest)(?:\.py)?[\"']")
_TEST_FILE = re.compile(rb"[\"'](?:[\w.-]+/)*(?:test_\w+|\w+_test|conftest)\.py[\"']")
_NEAR = 5
_READS = re.compile(
    rb"\bopen\(|\bread_(?:text|bytes)\(|\bglob\(|\bwalk\(|\blistdir\(|\bPath\(|linecache|getsource|import_module\(|__import__\("
)


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.python:
        if not file.is_source:
            continue
        lines = list(file.added)
        for place, line in enumerate(lines):
            reads = _READS.search(line.code) is not None and _TEST_PATH.search(line.code) is not None
            if (reads or _is_opened_near(lines, place)) and not case.is_known(line.raw):
                yield at(
                    _CODE, Severity.BLOCK, file, "source that reads a file of tests", line.number, line.raw
                )


def _is_opened_near(lines: list[CodeLine], place: int) -> bool:
    """Whether a line names a file of tests, and one of the next opens a file."""
    named = lines[place]
    if not _TEST_FILE.search(named.code):
        return False
    return any(
        _READS.search(line.code) for line in nearby(lines, place, _NEAR) if line.number >= named.number
    )


RULE = Rule(
    code=_CODE, severity=Severity.BLOCK, catches="source that reads or imports test files", check=_check
)
