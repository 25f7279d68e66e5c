"""What a report tells: every item of a run exactly once, and the counts that follow from that.

The counts are never given, always computed from the items (`swequarry.report.counts`), so that they can't
disagree with them: candidates = tasks + rejects + failures + open items, per repository and per stage. Open
items are those of an interrupted run that reached no end yet. Durations and times of day are observed;
they're shown, and are in no record.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from swequarry.outcome import Boundary, RejectCode
from swequarry.records import Snapshot, Task
from swequarry.report.scorecard import Scorecard


@dataclass(frozen=True, slots=True, kw_only=True)
class StageInfo:
    """A stage of the line: its name in the ledger and its title for readers."""

    name: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """The run as a whole. Paths are for the reader; `settings` are the resolved ones as JSON data.

    `expected` is the number of items that the source listed: where the ends don't add up to it, the report
    says so at the top.
    """

    title: str
    version: str
    command: str = ""
    backend: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    interrupted: bool = False
    expected: int | None = None
    dataset_path: str | None = None
    dataset_sha256: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEntry:
    """An accepted item. `durations_s` is the observed wall time by stage; `left_out` why it is no row."""

    task: Task
    snapshot: Snapshot | None = None
    durations_s: Mapping[str, float] = field(default_factory=dict)
    left_out: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectEntry:
    """A rejected item: the stage that rejected it, the code, one sentence and the evidence."""

    item: str
    repo: str
    stage: str
    code: RejectCode
    message: str
    evidence: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureEntry:
    """An item on which our machinery broke: nothing is known about it."""

    item: str
    repo: str
    stage: str
    boundary: Boundary
    message: str
    retryable: bool = True
    attempts: int = 1
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenEntry:
    """An item of an interrupted run that is still on its way."""

    item: str
    repo: str
    stage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One observed duration: how long a stage took for an item."""

    stage: str
    item: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData:
    """All that a report shows. `stages` are in the order in which an item passes them."""

    run: RunInfo
    stages: tuple[StageInfo, ...]
    tasks: tuple[TaskEntry, ...] = ()
    rejects: tuple[RejectEntry, ...] = ()
    failures: tuple[FailureEntry, ...] = ()
    open_items: tuple[OpenEntry, ...] = ()
    timings: tuple[Timing, ...] = ()
    scorecards: tuple[Scorecard, ...] = ()
