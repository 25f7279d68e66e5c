"""Tolerances of tests that become larger."""

import re
from collections.abc import Iterable

from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at

_CODE = "tolerance-widened"
_TOLERANCE = re.compile(
    rb"\b(rtol|atol|rel|abs|abs_tol|rel_tol|delta|places|decimal|significant)\s*=\s*([\d.eE+-]+)"
)
_DIGITS = frozenset({b"places", b"decimal", b"significant"})


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.python:
        if not file.is_test or file.created:
            continue
        before = [pair for line in file.removed for pair in _tolerances(line.bare)]
        for line in file.added:
            for name, value in _tolerances(line.bare):
                old = next((known for other, known in before if other == name), None)
                wider = old is not None and (value < old if name in _DIGITS else value > old)
                if wider:
                    said = f"`{name.decode()}` goes from {old:g} to {value:g}"
                    yield at(_CODE, Severity.WARN, file, said, line.number, line.raw)


def _tolerances(line: bytes) -> list[tuple[bytes, float]]:
    found = []
    for name, value in _TOLERANCE.findall(line):
        try:
            found.append((name, float(value)))
        except ValueError:
            continue
    return found


RULE = Rule(code=_CODE, severity=Severity.WARN, catches="wider tolerances in tests", check=_check)
