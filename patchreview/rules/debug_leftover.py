"""What was for finding the fault, not for mending it."""

import re
from collections.abc import Iterable

from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at

_CODE = "debug-leftover"
_DEBUGGER = re.compile(
    rb"^\s*(?:breakpoint\(\)|(?:i?pdb|pudb|rpdb)\.set_trace\(|import (?:i?pdb|pudb|rpdb)\b"
    rb"|from (?:i?pdb|pudb) import)|\bIPython\.embed\("
)
_PRINTS = re.compile(rb"^\s*(?:print\(|pprint\(|traceback\.print_exc\(|sys\.stderr\.write\(f?[\"']DEBUG)")
_ELSEWHERE = re.compile(rb"^\s*(?:console\.log\(|debugger;|dbg!\(|var_dump\(|binding\.pry)")


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.files:
        if not file.is_source or not file.language:
            continue
        for line in file.added:
            if case.is_known(line.raw):
                continue
            if _DEBUGGER.search(line.bare):
                yield at(_CODE, Severity.WARN, file, "a debugger is started", line.number, line.raw)
            elif (_PRINTS if file.language == "python" else _ELSEWHERE).search(line.bare):
                yield at(_CODE, Severity.NOTE, file, "something is printed", line.number, line.raw)


RULE = Rule(code=_CODE, severity=Severity.WARN, catches="debuggers and prints in source", check=_check)
