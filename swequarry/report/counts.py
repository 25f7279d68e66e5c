"""Counts of a run, computed from its items: ends, funnel, reasons, yield, timings."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Literal

from swequarry.outcome import REJECT_MEANING, Boundary, RejectCode
from swequarry.records import StatementKind
from swequarry.report.model import (
    FailureEntry,
    OpenEntry,
    RejectEntry,
    ReportData,
    StageInfo,
    TaskEntry,
    Timing,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """How items ended; `candidates` is their sum, by construction."""

    accepted: int = 0
    rejected: int = 0
    failed: int = 0
    open: int = 0

    @property
    def candidates(self) -> int:
        """All items."""
        return self.accepted + self.rejected + self.failed + self.open


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelStage:
    """One stage: how many items entered it, how many left the line there, how many passed."""

    name: str
    title: str
    entered: int
    rejected: int
    failed: int
    open: int

    @property
    def passed(self) -> int:
        """Items that went on to the next stage."""
        return self.entered - self.rejected - self.failed - self.open


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonCount:
    """A reject code or a broken boundary, what it means, and the items that ended so."""

    kind: Literal["rejected", "failed"]
    code: str
    meaning: str
    items: tuple[str, ...]
    sample: str = ""

    @property
    def count(self) -> int:
        """How many items ended so."""
        return len(self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryYield:
    """One repository: how its candidates ended. Tasks with a statement from commits are counted apart."""

    repo: str
    ends: Ends
    from_commits: int
    top_reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTiming:
    """Observed durations of one stage, in seconds."""

    stage: str
    count: int
    total_s: float
    median_s: float
    p90_s: float
    longest_s: float
    longest_item: str


BOUNDARY_MEANING: dict[Boundary, str] = {
    Boundary.GIT: "a git command broke",
    Boundary.SANDBOX: "the sandbox broke",
    Boundary.INDEX: "the package index couldn't be reached",
    Boundary.SOURCE: "the source of pull requests couldn't be asked",
    Boundary.MODEL: "a language model couldn't be reached, or answered with errors",
    Boundary.STORAGE: "the ledger or the blob store couldn't be read or written",
    Boundary.WORKER: "a worker died or ran out of time",
    Boundary.INTERNAL: "an error of ours",
}


def ends(data: ReportData) -> Ends:
    """Return how all items ended."""
    return Ends(
        accepted=len(data.tasks),
        rejected=len(data.rejects),
        failed=len(data.failures),
        open=len(data.open_items),
    )


def not_tried(data: ReportData) -> int:
    """Return how many of the rejected are so by a policy alone: nothing was spent on them."""
    return sum(entry.code is RejectCode.NOT_TRIED for entry in data.rejects)


def repo_of(entry: TaskEntry) -> str:
    """Return the repository of an accepted item."""
    return entry.task.candidate.repo.full_name


def is_from_commits(entry: TaskEntry) -> bool:
    """Whether a task's statement was made from commit messages."""
    return entry.task.instruction.kind is StatementKind.COMMITS


def _unlisted(data: ReportData) -> Iterable[str]:
    """Return stages that items name and `stages` doesn't, so that no item is lost from the funnel."""
    known = {stage.name for stage in data.stages}
    entries: tuple[RejectEntry | FailureEntry | OpenEntry, ...] = (
        *data.rejects,
        *data.failures,
        *data.open_items,
    )
    named = [entry.stage for entry in entries]
    return [name for name in dict.fromkeys(named) if name not in known]


def funnel(data: ReportData) -> tuple[FunnelStage, ...]:
    """Return the stages in order, each with what entered and what left there."""
    rejected = Counter(entry.stage for entry in data.rejects)
    failed = Counter(entry.stage for entry in data.failures)
    waiting = Counter(entry.stage for entry in data.open_items)
    stages = (*data.stages, *(StageInfo(name=name, title=name) for name in _unlisted(data)))
    entered = ends(data).candidates
    lines = []
    for stage in stages:
        line = FunnelStage(
            name=stage.name,
            title=stage.title,
            entered=entered,
            rejected=rejected[stage.name],
            failed=failed[stage.name],
            open=waiting[stage.name],
        )
        lines.append(line)
        entered = line.passed
    return tuple(lines)


def reasons(data: ReportData) -> tuple[ReasonCount, ...]:
    """Return reject codes and broken boundaries, the most frequent first."""
    rejected: dict[RejectCode, list[RejectEntry]] = {}
    for entry in data.rejects:
        rejected.setdefault(entry.code, []).append(entry)
    broken: dict[Boundary, list[FailureEntry]] = {}
    for failure in data.failures:
        broken.setdefault(failure.boundary, []).append(failure)
    found = [
        ReasonCount(
            kind="rejected",
            code=code.value,
            meaning=REJECT_MEANING[code],
            items=tuple(entry.item for entry in entries),
            sample=entries[0].message,
        )
        for code, entries in rejected.items()
    ] + [
        ReasonCount(
            kind="failed",
            code=boundary.value,
            meaning=BOUNDARY_MEANING[boundary],
            items=tuple(failure.item for failure in failures),
            sample=failures[0].message,
        )
        for boundary, failures in broken.items()
    ]
    return tuple(sorted(found, key=lambda reason: (-reason.count, reason.kind, reason.code)))


def yields(data: ReportData) -> tuple[RepositoryYield, ...]:
    """Return one line per repository, by name."""
    accepted = Counter(repo_of(entry) for entry in data.tasks)
    from_commits = Counter(repo_of(entry) for entry in data.tasks if is_from_commits(entry))
    rejected = Counter(entry.repo for entry in data.rejects)
    failed = Counter(entry.repo for entry in data.failures)
    waiting = Counter(entry.repo for entry in data.open_items)
    codes = Counter((entry.repo, entry.code.value) for entry in data.rejects)
    top: dict[str, str] = {}
    for (repo, code), _ in sorted(codes.items(), key=lambda pair: (-pair[1], pair[0])):
        top.setdefault(repo, code)
    return tuple(
        RepositoryYield(
            repo=repo,
            ends=Ends(
                accepted=accepted[repo], rejected=rejected[repo], failed=failed[repo], open=waiting[repo]
            ),
            from_commits=from_commits[repo],
            top_reason=top.get(repo),
        )
        for repo in sorted({*accepted, *rejected, *failed, *waiting})
    )


def stage_timings(data: ReportData) -> tuple[StageTiming, ...]:
    """Return observed durations by stage, in the order of the line; stages without any are left out."""
    by_stage: dict[str, list[Timing]] = {}
    for timing in data.timings:
        by_stage.setdefault(timing.stage, []).append(timing)
    order = [stage.name for stage in data.stages]
    names = [name for name in order if name in by_stage] + sorted(set(by_stage) - set(order))
    return tuple(_summarise(name, by_stage[name]) for name in names)


def _summarise(stage: str, timings: list[Timing]) -> StageTiming:
    ordered = sorted(timings, key=lambda timing: timing.seconds)
    seconds = [timing.seconds for timing in ordered]
    return StageTiming(
        stage=stage,
        count=len(ordered),
        total_s=sum(seconds),
        median_s=median(seconds),
        p90_s=seconds[min(len(seconds) - 1, int(len(seconds) * 0.9))],
        longest_s=seconds[-1],
        longest_item=ordered[-1].item,
    )
