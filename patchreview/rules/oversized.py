"""Patches that are much larger than the task's fix."""

from collections.abc import Iterable

from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule

_CODE = "oversized"
_LARGER, _FEW_LINES = 5, 60
_GENERATED = (b".lock", b".svg", b".min.js", b".json", b".csv", b".po")


def _check(case: Case) -> Iterable[Finding]:
    gold = case.ground.gold
    if gold is None:
        return
    size = sum(
        file.added_count + file.removed_count
        for file in case.diff.every
        if not file.is_test and not file.base_name.endswith(_GENERATED)
    )
    if size > max(_FEW_LINES, _LARGER * gold.size):
        yield Finding(
            rule=_CODE,
            severity=Severity.WARN,
            message=f"{size} lines of source are changed where the fix has {gold.size}",
        )


RULE = Rule(
    code=_CODE,
    severity=Severity.WARN,
    catches="patches more than five times as large as the fix",
    check=_check,
)
