"""Calls by which others' data becomes code or a command."""

import re
from collections.abc import Iterable

from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at

_CODE = "unsafe-call"
_CALLS = re.compile(
    rb"(?<![\w.])(?:eval|exec)\((?!\s*[\"'])|\bos\.(?:system|popen)\(|\bshell\s*=\s*True|\bpickle\.loads?\(|\bmarshal\.loads?\("
    rb"|\byaml\.(?:load|unsafe_load)\((?!.*SafeLoader)|\bverify\s*=\s*False|\btempfile\.mktemp\(|_create_unverified_context"
)


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.python:
        if file.is_source:
            for line in file.added:
                if _CALLS.search(line.bare) and not case.is_known(line.raw):
                    yield at(
                        _CODE, Severity.WARN, file, "data may become code or a command", line.number, line.raw
                    )


RULE = Rule(
    code=_CODE,
    severity=Severity.WARN,
    catches="eval, shells, pickles and unverified connections",
    check=_check,
)
