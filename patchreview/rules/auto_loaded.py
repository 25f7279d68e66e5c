"""Files that Python or pytest loads without being asked."""

import re
from collections.abc import Iterable, Iterator

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at

_CODE = "auto-loaded-file"
_STARTUP = re.compile(
    rb"(?:site|user)customize(?:\.py[cod]?)?|[^/]*\.(?:pth|egg-link|egg|whl)|\.pdbrc|pyvenv\.cfg"
)
_STARTUP_FOLDER = re.compile(rb"(?:^|/)(?:[^/]*\.(?:dist-info|egg-info)|(?:site|user)customize)/")
_HOOK = re.compile(
    rb"\bdef\s+pytest_(?:runtest_\w+|pyfunc_call|report_\w+|collection_\w+|collect_\w+|ignore_collect|pycollect_\w+"
    rb"|generate_tests|sessionfinish|assertrepr_\w+|assertion_pass|itemcollected|make_\w+|configure|load_initial_conftests"
    rb"|cmdline_\w+|terminal_summary|fixture_\w+|unconfigure|exception_interact|runtestloop)\b"
    rb"|\bcollect_ignore(?:_glob)?\b|\bpytest_plugins\b|\bautouse\s*=\s*True|\b_pytest\b"
)


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.files:
        if file.deleted or file.path in case.gold_paths:
            continue
        if _STARTUP.fullmatch(file.base_name) or _STARTUP_FOLDER.search(file.path.lower()):
            yield at(_CODE, Severity.BLOCK, file, "Python or pytest would load this file by itself")
        elif file.base_name == b"conftest.py":
            yield from _conftest(file, case)


def _conftest(file: FileDiff, case: Case) -> Iterator[Finding]:
    hooks = [line for line in file.added if _HOOK.search(line.code) and not case.is_known(line.raw)]
    for line in hooks:
        yield at(
            _CODE, Severity.BLOCK, file, "a hook that changes what tests do or say", line.number, line.raw
        )
    if hooks:
        return
    if file.created and (case.ground.gold is not None or b"/" not in file.path):
        yield at(_CODE, Severity.BLOCK, file, "a new conftest.py, which pytest loads by itself")
    else:
        yield at(_CODE, Severity.WARN, file, "pytest loads this file by itself")


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="conftest hooks, sitecustomize, .pth, entry points and their like",
    check=_check,
)
