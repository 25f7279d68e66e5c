"""What a review found, as data of a task or of a graded patch: never a part of what was measured."""

from dataclasses import dataclass
from enum import StrEnum

from swequarry.records.base import Record


class ReviewSeverity(StrEnum):
    """What a finding is for: it stops what is reviewed, it wants a person's look, or it's merely said."""

    BLOCK = "block"
    WARN = "warn"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFinding(Record):
    """One thing that a rule saw; `path` is empty and `line` None for the patch or task as a whole."""

    rule: str
    severity: ReviewSeverity
    message: str
    path: str = ""
    line: int | None = None
    evidence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed(Record):
    """What the rules say of a patch or a task, worst first.

    `scores` are pairs of an axis and a figure from 0 (no doubt) to 1; only tasks have them.
    """

    findings: tuple[ReviewFinding, ...] = ()
    scores: tuple[tuple[str, float], ...] = ()

    @property
    def blocked(self) -> bool:
        """Whether a finding stops it."""
        return any(finding.severity is ReviewSeverity.BLOCK for finding in self.findings)

    def count(self, severity: ReviewSeverity) -> int:
        """Count the findings of a severity."""
        return sum(finding.severity is severity for finding in self.findings)
