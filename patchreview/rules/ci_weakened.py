"""Continuous integration that is told to pass."""

import re
from collections.abc import Iterable

from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from swequarry.git.testpaths import PathRole

_CODE = "ci-weakened"
_PASSES_ANYWAY = re.compile(
    rb"\|\|\s*(?:true|:|exit 0|echo)\b|continue-on-error:\s*[\"']?true|allow_failure:\s*true"
    rb"|fail_ci_if_error:\s*false"
    rb"|\bexit 0\b|\bset \+e\b"
)
_RUNS_TESTS = re.compile(
    rb"\b(?:pytest|tox|nox|unittest|make (?:test|check)|npm (?:run )?test|cargo test|go test)\b"
)
_LEAVES_OUT = re.compile(rb"--ignore(?:-glob)?[= ]\s*[\w./]|--deselect\b|\s-k[= ]?\s*[\"']not\b")


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.files:
        if file.role is not PathRole.CI or file.path in case.gold_paths:
            continue
        told = [line for line in file.added if _PASSES_ANYWAY.search(line.raw)]
        for line in told:
            yield at(_CODE, Severity.BLOCK, file, "a failing step would pass", line.number, line.raw)
        before = sum(len(_LEAVES_OUT.findall(line.raw)) for line in file.removed)
        fewer = [line for line in file.added if _LEAVES_OUT.search(line.raw)]
        if sum(len(_LEAVES_OUT.findall(line.raw)) for line in fewer) > before:
            told += fewer
            yield at(_CODE, Severity.BLOCK, file, "tests are left out", fewer[0].number, fewer[0].raw)
        runs = [line for line in file.removed if _RUNS_TESTS.search(line.raw)]
        if runs and not any(_RUNS_TESTS.search(line.raw) for line in file.added):
            yield at(
                _CODE, Severity.BLOCK, file, "the tests aren't run any more", runs[0].number, runs[0].raw
            )
        elif not told:
            yield at(_CODE, Severity.WARN, file, "continuous integration is changed")


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="continuous integration that passes whatever the tests say",
    check=_check,
)
