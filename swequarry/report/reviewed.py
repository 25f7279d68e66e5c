"""Reviews of tasks and patches in words, and as the page's script is given them."""

from collections.abc import Iterator
from typing import Any

from swequarry.records import Reviewed, ReviewFinding, ReviewSeverity
from swequarry.report.visible import cut, visible

_EVIDENCE_LIMIT = 600
_SHOWN = 100


def say_review(review: Reviewed | None) -> str:
    """Return what a review came to, in a sentence."""
    if review is None:
        return "none"
    counts = ", ".join(f"{review.count(severity)} {severity.value}" for severity in ReviewSeverity)
    scores = "; ".join(f"{axis} {score:.2f}" for axis, score in review.scores)
    said = f"{'blocked' if review.blocked else 'not blocked'}, {counts}"
    return f"{said}; doubts from 0 to 1: {scores}" if scores else said


def review_lines(review: Reviewed | None) -> Iterator[str]:
    """Yield a line for each finding, worst first, and its evidence below it."""
    for finding in review.findings[:_SHOWN] if review is not None else ():
        place = f"{place_of(finding)}: " if finding.path else ""
        yield f"  {finding.severity.value}: {visible(place + finding.message)} [{finding.rule}]"
        if finding.evidence:
            yield f"    {cut(visible(finding.evidence), _EVIDENCE_LIMIT)[0]}"


def place_of(finding: ReviewFinding) -> str:
    """Return where a finding is, as `path:line`; empty for what is about the whole."""
    return f"{finding.path}:{finding.line}" if finding.line else finding.path


def review_page(review: Reviewed | None) -> dict[str, Any] | None:
    """Return a sentence, the scores, and each finding as (severity, rule, place, message, evidence)."""
    if review is None:
        return None
    return {
        "said": say_review(review),
        "blocked": review.blocked,
        "scores": [[axis, score] for axis, score in review.scores],
        "more": max(0, len(review.findings) - _SHOWN),
        "findings": [
            [
                one.severity.value,
                visible(one.rule),
                visible(place_of(one)),
                cut(visible(one.message), _EVIDENCE_LIMIT)[0],
                cut(visible(one.evidence), _EVIDENCE_LIMIT)[0],
            ]
            for one in review.findings[:_SHOWN]
        ],
    }
