"""Code that asks whether a test is running, or who calls."""

import re
from collections.abc import Iterable, Iterator

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.pieces import CodeLine

_CODE = "runner-seen"
_ASKS = re.compile(
    rb"[\"']PYTEST_(?:CURRENT_TEST|VERSION)[\"']|[\"']_?pytest[\"']\s+(?:not\s+)?in\s+sys\.modules|sys\.modules\.get\(\s*[\"']_?pytest[\"']"
    rb"|[\"']pytest[\"'] in \w+.*\bsys\.argv|sys\.argv.*(?:pytest|unittest)|co_name\.startswith\([\"']test"
    rb"|[\"']_?test_?[\"'] in \w+\.(?:filename|co_filename|function)"
)
_STACK = re.compile(
    rb"\binspect\.(?:stack|currentframe|trace|getouterframes)\(|\bsys\._getframe\(|\bf_back\b|\.f_locals\b"
)
_ABOUT_TEST = re.compile(rb"\btests?_?\b|pytest|unittest|assert|expected", re.IGNORECASE)
_NEAR = 4


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.python:
        if file.is_source:
            yield from _of_file(file, case)


def _of_file(file: FileDiff, case: Case) -> Iterator[Finding]:
    lines = [line for line in file.added if not case.is_known(line.raw)]
    for line in lines:
        if _ASKS.search(line.code):
            yield at(
                _CODE, Severity.BLOCK, file, "the code asks whether a test is running", line.number, line.raw
            )
        elif _STACK.search(line.bare):
            sure = _tells_of_tests(lines, line)
            said = "the code looks for a test among its callers" if sure else "the code looks at its callers"
            yield at(_CODE, Severity.BLOCK if sure else Severity.WARN, file, said, line.number, line.raw)


def _tells_of_tests(lines: list[CodeLine], asked: CodeLine) -> bool:
    near = (line for line in lines if abs(line.number - asked.number) < _NEAR)
    return any(_ABOUT_TEST.search(line.code) for line in near)


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="source that asks whether a test runs, or looks at its callers",
    check=_check,
)
