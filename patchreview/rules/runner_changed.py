"""Code that changes the test runner, the interpreter's names, or how a run ends."""

import re
from collections.abc import Iterable, Iterator

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.spelling import Spelling

_CODE = "runner-changed"
_OWNERS = rb"(?:_pytest|pytest|unittest|builtins|__builtins__|doctest|pluggy)"
_CHANGES = re.compile(
    rb"^\s*" + _OWNERS + rb"(?:\.\w+)*(?:\[[^\]]*\])?(?:\.\w+)*\s*=[^=]|\bsetattr\(\s*" + _OWNERS + rb"\b"
    rb"|^\s*(?:\w+\.)*(?:TestReport|TestCase|CallInfo|Function)\.\w+\s*=[^=]|\bpatch\.object\(\s*"
    + _OWNERS
    + rb"\b"
)
_CHANGES_BY_NAME = re.compile(
    rb"^\s*(?:\w+\.__setattr__\(\s*)?sys\.modules\[\s*[\"']"
    + _OWNERS
    + rb"|\b(?:setattr|patch)\(\s*[\"']"
    + _OWNERS
    + rb"[.\"']"
)
_IMPORTS = re.compile(rb"^\s*(?:import|from)\s+_pytest\b")
_ENDS = re.compile(
    rb"\bos\._exit\b|\bos\.abort\b|\bos\.kill\(\s*os\.getp?pid|\bsignal\.raise_signal\(|^\s*from\s+os\s+import\b.*\b_exit\b"
)
_LATER = re.compile(rb"\batexit\.register\(.*(?:xml|report|junit|open\()")
_AT_EXIT = re.compile(rb"\batexit\.register\b")
_REPORT = re.compile(rb"junit|<failure|<testcase|testsuite|\.xml\b", re.IGNORECASE)
_TRACES = re.compile(
    rb"\b(?:sys|threading)\.set(?:trace|profile)\(|\bgc\.get_(?:objects|referrers)\(|\bctypes\.pythonapi\b"
)
_RUNNERS_OWN = 2
"""So many of the kinds below are what a runner does to itself."""
Kinds = tuple[tuple[re.Pattern[bytes], str], ...]
_KINDS: Kinds = (
    (_CHANGES, "the test runner or a builtin is changed"),
    (_IMPORTS, "source that imports the runner's own modules"),
    (_ENDS, "the process is ended from within"),
    (_LATER, "a file is written when the process ends"),
    (_TRACES, "the interpreter is watched or searched"),
)
_TESTS = re.compile(rb"test_|_tests?\.|^tests?\.")
_OF_HELPERS: Kinds = (
    (_CHANGES, "the test runner or a builtin is changed"),
    (_ENDS, "the process is ended from within"),
)


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.python:
        if not file.is_test or file.base_name in {b"__init__.py", b"conftest.py"}:
            yield from _of_file(file, case, _KINDS)
        elif not file.created and not _TESTS.search(file.base_name):
            yield from _of_file(file, case, _OF_HELPERS)


def _of_file(file: FileDiff, case: Case, kinds: Kinds) -> Iterator[Finding]:
    kinds = kinds[_RUNNERS_OWN:] if _is_runner(file) else kinds
    spelling = Spelling(file)
    reports = any(_REPORT.search(line.raw) for line in file.added)
    for line in file.added:
        plain = spelling.bare(line)
        said = next(
            (said for pattern, said in kinds if pattern.search(line.bare) or pattern.search(plain)), None
        )
        if said is None and _AT_EXIT.search(plain) and reports:
            said = "a report is written when the process ends"
        if said is None and kinds is _KINDS and _CHANGES_BY_NAME.search(line.code):
            said = "the test runner or a builtin is changed by its name"
        if said and not case.is_known(line.raw):
            yield at(_CODE, Severity.BLOCK, file, said, line.number, line.raw)


def _is_runner(file: FileDiff) -> bool:
    """Whether a file belongs to a test runner that the project itself is."""
    folders = file.path.split(b"/")[:-1]
    return not file.created and any(folder in {b"_pytest", b"unittest", b"pluggy"} for folder in folders)


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="source that changes the runner or a builtin, or ends the process",
    check=_check,
)
