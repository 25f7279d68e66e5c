"""Tests that a patch turns off where they stood."""

import re
from collections.abc import Iterable, Iterator

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.pieces import CodeLine
from patchreview.python import name_of

_CODE = "test-skipped"
_OFF = re.compile(
    rb"@(?:\w+\.)*(?:skip|xfail|expectedFailure)\b|@(?:\w+\.)*skip(?:if|If|Unless)\((?:True|1|not False)\b"
    rb"|^\s*(?:pytest\.(?:skip|xfail|exit)|self\.skipTest)\(|raise\s+(?:\w+\.)*SkipTest"
    rb"|pytestmark\s*=.*\b(?:skip|xfail)\b|__test__\s*=\s*False"
)
_UNDER_CONDITION = re.compile(rb"@(?:\w+\.)*skip(?:if|If|Unless)\b|importorskip|\bmarks=.*\b(?:skip|xfail)\b")
_ELSEWHERE = re.compile(
    rb"\b(?:it|test|describe|suite)\.(?:skip|todo|failing)\(|\bx(?:it|describe)\(|^\s*@(?:Ignore|Disabled)\b"
    rb"|^\s*#\[ignore\b|\bt\.Skip(?:f|Now)?\("
)


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.files:
        if file.is_test and not file.created:
            yield from _python(file) if file.language == "python" else _other(file)


def _python(file: FileDiff) -> Iterator[Finding]:
    fresh = set(_rows_of_new_tests(file))
    for line in file.added:
        if not _OFF.search(line.bare) and not _UNDER_CONDITION.search(line.bare):
            continue
        sure = _OFF.search(line.bare) is not None and line.number not in fresh
        said = "a test that stood here is turned off" if sure else "a test is turned off, or on a condition"
        yield at(_CODE, Severity.BLOCK if sure else Severity.WARN, file, said, line.number, line.raw)


def _rows_of_new_tests(file: FileDiff) -> Iterator[int]:
    """Yield the lines of tests and classes that the patch itself brings."""
    for piece in file.new:
        for node in piece.of_type("function_definition", "class_definition"):
            if name_of(node) and piece.begins_changed(node):
                first = piece.line_of(node)
                yield from range(_first_decorator(piece.changed, first), piece.first + node.end_point.row + 1)


def _first_decorator(lines: Iterable[CodeLine], first: int) -> int:
    added = {line.number: line for line in lines}
    while first - 1 in added and added[first - 1].raw.lstrip().startswith((b"@", b")")):
        first -= 1
    return first


def _other(file: FileDiff) -> Iterator[Finding]:
    for line in file.added:
        if file.language and _ELSEWHERE.search(line.raw):
            yield at(_CODE, Severity.BLOCK, file, "a test is turned off", line.number, line.raw)


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="tests that stood and are skipped or expected to fail",
    check=_check,
)
