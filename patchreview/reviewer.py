"""Reviews a patch: all rules over it, within limits, whatever it holds.

A patch is foreign text. One that can't be read, is too large or takes too long gets a finding that says so
and blocks, since nobody can vouch for what wasn't looked at.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from patchreview.clock import Clock, OutOfTimeError
from patchreview.diff import MAX_BYTES, MAX_FILES, Diff, ReadFile, read_diff
from patchreview.findings import Finding, Severity, worst_first
from patchreview.interface import NO_GROUND, Case, Ground, Rule
from patchreview.measured import Calibration, measures
from patchreview.pieces import LARGEST_BYTES
from patchreview.rules import all_rules
from swequarry.errors import PatchError

HOSTILE = "unreviewable"
TIME_LIMIT_S = 20.0
_MOST_FINDINGS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What the rules found in a patch, worst first."""

    findings: tuple[Finding, ...]
    files: int = 0
    lines: int = 0

    @property
    def blocked(self) -> bool:
        """Whether a finding stops the patch."""
        return any(finding.severity is Severity.BLOCK for finding in self.findings)

    def to_json(self) -> dict[str, object]:
        """Return the review as JSON has it."""
        return {
            "blocked": self.blocked,
            "files": self.files,
            "lines": self.lines,
            "findings": [finding.to_json() for finding in self.findings],
        }


def review_patch(
    patch: bytes,
    ground: Ground = NO_GROUND,
    *,
    old: ReadFile | None = None,
    new: ReadFile | None = None,
    limit_s: float = TIME_LIMIT_S,
    rules: Sequence[Rule] | None = None,
    calibration: Calibration | None = None,
) -> Review:
    """Return what the rules find in a patch; never raises for what the patch holds.

    `calibration` says which rules may stop a patch; without one, what was measured before release does.
    """
    if not patch.strip():
        return Review(findings=(_stop("the patch is empty: nothing is changed", Severity.NOTE),))
    if len(patch) > MAX_BYTES:
        return Review(findings=(_stop(f"the patch has {len(patch)} bytes, more than {MAX_BYTES}"),))
    clock = Clock(limit_s)
    try:
        diff = read_diff(patch, clock, old=old, new=new)
    except PatchError as error:
        return Review(findings=(_stop(f"the patch can't be read: {error}"),))
    applied = _applied(Case(diff, ground), all_rules() if rules is None else rules)
    known = measures() if calibration is None else calibration
    found = [*_limits(diff), *(_weighed(one, known) for one in applied)]
    return Review(findings=worst_first(_bounded(found)), files=len(diff.every), lines=diff.size)


def _stop(message: str, severity: Severity = Severity.BLOCK) -> Finding:
    return Finding(rule=HOSTILE, severity=severity, message=message)


def _limits(diff: Diff) -> Iterator[Finding]:
    if len(diff.every) > MAX_FILES:
        yield _stop(f"{len(diff.every)} files are changed; only the first {MAX_FILES} were looked into")
    for file in diff.every:
        if file.language and len(file.patch.raw) > LARGEST_BYTES:
            yield Finding(
                rule=HOSTILE,
                severity=Severity.WARN,
                path=file.name,
                message=f"more than {LARGEST_BYTES} bytes of code in one file: not parsed",
            )


def _applied(case: Case, rules: Sequence[Rule]) -> list[Finding]:
    found: list[Finding] = []
    for rule in rules:
        try:
            found.extend(rule(case))
        except OutOfTimeError:
            found.append(_stop(f"the review took too long and ended in the rule {rule.code}"))
            return found
        except (RecursionError, MemoryError, ValueError, LookupError, TypeError, AttributeError) as error:
            found.append(_stop(f"the rule {rule.code} broke on this patch: {type(error).__name__}: {error}"))
    return found


def _weighed(finding: Finding, calibration: Calibration) -> Finding:
    """Return a finding with its rule's precision; one whose rule was too often wrong doesn't stop a patch."""
    measure = calibration.get(finding.rule)
    if measure is None:
        return finding
    demoted = finding.severity is Severity.BLOCK and not measure.may_block
    severity = Severity.WARN if demoted else finding.severity
    return replace(finding, severity=severity, precision=measure.precision)


def _bounded(found: Sequence[Finding]) -> Iterator[Finding]:
    """Leave out what a rule says again and again."""
    seen: Counter[tuple[str, Severity]] = Counter()
    for finding in found:
        kind = (finding.rule, finding.severity)
        seen[kind] += 1
        if seen[kind] <= _MOST_FINDINGS:
            yield finding
    for (rule, severity), count in seen.items():
        if count > _MOST_FINDINGS:
            more = count - _MOST_FINDINGS
            yield Finding(rule=rule, severity=severity, message=f"{more} more findings of this rule")
