"""The funnel and the reasons as plain rows, for whoever renders them: the command line, a log, a card."""

from dataclasses import dataclass

from swequarry.report.counts import ends, funnel, reasons, yields
from swequarry.report.model import ReportData


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelRow:
    """One line of the funnel. `share` is entered / candidates, 0 to 1."""

    stage: str
    entered: int
    rejected: int
    failed: int
    open: int
    passed: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonRow:
    """One reason with its count, its share of all candidates, and an example."""

    kind: str
    code: str
    count: int
    share: float
    meaning: str
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class YieldRow:
    """One repository. `share` is accepted / candidates, 0 to 1."""

    repo: str
    candidates: int
    accepted: int
    from_commits: int
    rejected: int
    failed: int
    open: int
    share: float
    top_reason: str


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def funnel_rows(data: ReportData) -> tuple[FunnelRow, ...]:
    """Return the stages in order; the last one's `passed` is the number of tasks."""
    candidates = ends(data).candidates
    return tuple(
        FunnelRow(
            stage=stage.title,
            entered=stage.entered,
            rejected=stage.rejected,
            failed=stage.failed,
            open=stage.open,
            passed=stage.passed,
            share=_share(stage.entered, candidates),
        )
        for stage in funnel(data)
    )


def reason_rows(data: ReportData) -> tuple[ReasonRow, ...]:
    """Return reasons, the most frequent first."""
    candidates = ends(data).candidates
    return tuple(
        ReasonRow(
            kind=reason.kind,
            code=reason.code,
            count=reason.count,
            share=_share(reason.count, candidates),
            meaning=reason.meaning,
            example=reason.items[0],
        )
        for reason in reasons(data)
    )


def yield_rows(data: ReportData) -> tuple[YieldRow, ...]:
    """Return repositories by name."""
    return tuple(
        YieldRow(
            repo=line.repo,
            candidates=line.ends.candidates,
            accepted=line.ends.accepted,
            from_commits=line.from_commits,
            rejected=line.ends.rejected,
            failed=line.ends.failed,
            open=line.ends.open,
            share=_share(line.ends.accepted, line.ends.candidates),
            top_reason=line.top_reason or "",
        )
        for line in yields(data)
    )
