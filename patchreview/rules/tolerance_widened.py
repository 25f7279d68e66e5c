"""Tolerances of tests that become larger."""

import re
from collections.abc import Iterable

from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at

_CODE = "tolerance-widened"
_TOLERANCE = re.compile(
    rb"\b(rtol|atol|rel|abs|abs_tol|rel_tol|delta|places|decimal|significant)\s*=\s*([\d.eE+-]+)"
)
_RELATIVE = frozenset({b"rtol", b"rel", b"rel_tol"})
_FAR = 1e5
"""A tolerance that grows by so much was there to fail, and no longer does."""
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
                    loose = name not in _DIGITS and value >= 1
                    anything = loose and (name in _RELATIVE or value >= _FAR * (old or value))
                    severity = Severity.BLOCK if anything else Severity.WARN
                    yield at(_CODE, severity, file, said, line.number, line.raw)


def _tolerances(line: bytes) -> list[tuple[bytes, float]]:
    found = []
    for name, value in _TOLERANCE.findall(line):
        try:
            found.append((name, float(value)))
        except ValueError:
            continue
    return found


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="wider tolerances in tests; those that let anything pass block",
    check=_check,
)
