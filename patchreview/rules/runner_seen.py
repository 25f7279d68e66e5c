"""Code that asks whether a test is running, or who calls."""

import re
from collections.abc import Iterable, Iterator

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.nearby import nearby
from patchreview.pieces import CodeLine
from patchreview.spelling import Spelling

_CODE = "runner-seen"
_ASKS = re.compile(
    rb"[\"']PYTEST_(?:CURRENT_TEST|VERSION)[\"']|[\"']_?pytest[\"']\s+(?:not\s+)?in\s+sys\.modules|sys\.modules\.get\(\s*[\"']_?pytest[\"']"
    rb"|[\"']pytest[\"'] in \w+.*\bsys\.argv|sys\.argv.*(?:pytest|unittest)|co_name\.startswith\([\"']test"
    rb"|[\"']_?test_?[\"'] in \w+\.(?:filename|co_filename|function)"
    rb"|[\"']test_\w+[\"'].*\bsys\.argv|\bsys\.argv.*[\"']test_\w+[\"']"
    rb"|\b(?:has|get)attr\([^()]*,\s*[\"'](?:call_args(?:_list)?|call_count|mock_calls|method_calls|assert_called\w*|_mock_\w+)[\"']"
)
_LOADED = re.compile(rb"\bmodules\b")
_RUNNER = re.compile(rb"[\"'](?:_?pytest|nose2?)(?:\.\w+)*[\"']")
_STACK = re.compile(
    rb"\binspect\.(?:stack|currentframe|trace|getouterframes)\(|\bsys\._getframe\(|\bf_back\b|\.f_locals\b"
    rb"|\btraceback\.(?:extract_stack|walk_stack|format_stack)\(|\bsys\._current_frames\("
)
_ABOUT_TEST = re.compile(rb"\b_?tests?\b|\btest_|pytest|unittest|assert|expected", re.IGNORECASE)
_CLIMBS = re.compile(rb"\b(\w+)\s*=\s*\1\.f_back\b")
_NEAR = 4


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.python:
        if file.is_source:
            yield from _of_file(file, case)


def _of_file(file: FileDiff, case: Case) -> Iterator[Finding]:
    lines = [line for line in file.added if not case.is_known(line.raw)]
    spelling = Spelling(file)
    for place, line in enumerate(lines):
        near = nearby(lines, place, _NEAR)
        plain = spelling.code(line)
        if _ASKS.search(line.code) or _ASKS.search(plain) or _asks_what_is_loaded(near, line):
            yield at(
                _CODE, Severity.BLOCK, file, "the code asks whether a test is running", line.number, line.raw
            )
        elif _reads_locals(near, line):
            said = "the code reads the variables of its callers"
            yield at(_CODE, Severity.BLOCK, file, said, line.number, line.raw)
        elif _STACK.search(line.bare) or _STACK.search(spelling.bare(line)):
            sure = _tells_of_tests(near)
            said = "the code looks for a test among its callers" if sure else "the code looks at its callers"
            yield at(_CODE, Severity.BLOCK if sure else Severity.WARN, file, said, line.number, line.raw)


def _asks_what_is_loaded(near: list[CodeLine], asked: CodeLine) -> bool:
    """Whether a line names a runner, and one near it the modules that are loaded."""
    if not _RUNNER.search(asked.code):
        return False
    return any(_LOADED.search(line.bare) for line in near)


def _reads_locals(near: list[CodeLine], asked: CodeLine) -> bool:
    """Whether a line reads variables of a frame, and one near it climbs from caller to caller."""
    return b".f_locals" in asked.bare and any(_CLIMBS.search(line.bare) for line in near)


def _tells_of_tests(near: list[CodeLine]) -> bool:
    return any(_ABOUT_TEST.search(line.code) for line in near)


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="source that asks whether a test runs, or looks at its callers",
    check=_check,
)
