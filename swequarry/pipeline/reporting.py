"""What a run's ledger says, as the report wants it.

Stages go by their names here: whoever reads a ledger, as grading does, needn't load what they work with.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, assert_never

from swequarry import __version__
from swequarry.errors import InputError
from swequarry.ledger.attempts import Attempt, AttemptStatus
from swequarry.ledger.queries import attempts_of
from swequarry.ledger.runs import Ending, Run
from swequarry.outcome import Accepted, Failed, Rejected
from swequarry.pipeline.workspace import Workspace
from swequarry.records import Snapshot, Task
from swequarry.report.model import (
    FailureEntry,
    OpenEntry,
    RejectEntry,
    ReportData,
    RunInfo,
    StageInfo,
    TaskEntry,
    Timing,
)

POLICY = "policy"
"""What stands for a stage in the books of what wasn't tried."""
SPARED = StageInfo(name=POLICY, title="Within the policy")
"""Stands in the funnel of runs in which a policy stopped a repository."""
SNAPSHOT, CHECKS = "snapshot", "checks"
STAGES = (
    StageInfo(name="mine", title="Mined"),
    StageInfo(name=SNAPSHOT, title="Frozen"),
    StageInfo(name="environment", title="Environment built"),
    StageInfo(name="testwriter", title="Tests written"),
    StageInfo(name="verify", title="Verified"),
    StageInfo(name="seal", title="Sealed"),
    StageInfo(name="stability", title="Perturbed"),
    StageInfo(name="interface", title="Interface told"),
    StageInfo(name=CHECKS, title="Checks made"),
    StageInfo(name="strength", title="Wrong fixes tried"),
    StageInfo(name="assess", title="Assessed"),
)


def last_run(workspace: Workspace) -> Run:
    """Return the newest run of a workspace.

    Raises:
        InputError: there is none yet.
    """
    runs = workspace.ledger.runs()
    if not runs:
        raise InputError(f"{workspace.root} holds no run yet; start one with `swequarry run CONFIG`")
    return runs[-1]


def repo_of_item(item: str) -> str:
    """Return `owner/name` from an item's key: `owner__name-7` or `owner/name`."""
    name = item.split("#", 1)[0].rpartition(":")[2]
    owner, separator, rest = name.partition("__")
    return f"{owner}/{rest.rpartition('-')[0] or rest}" if separator else name


def tasks_of(workspace: Workspace, run: int) -> tuple[Task, ...]:
    """Return the tasks of a run, by instance id."""
    endings = workspace.ledger.endings(run)
    tasks = (
        Task.from_json(ending.outcome.value) for ending in endings if isinstance(ending.outcome, Accepted)
    )
    return tuple(sorted(tasks, key=lambda task: task.instance_id))


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, tz=UTC)


class Reporter:
    """Reads one run of a workspace into `ReportData`."""

    def __init__(self, workspace: Workspace, run: Run) -> None:
        self._workspace = workspace
        self._run = run
        self._selected = workspace.ledger.selection(run.number)
        self._endings = workspace.ledger.endings(run.number)
        self._attempts: dict[str, list[Attempt]] = {}
        for attempt in attempts_of(workspace.ledger, self._selected):
            self._attempts.setdefault(attempt.item, []).append(attempt)

    def read(
        self, *, dataset_sha256: str | None = None, left_out: Mapping[str, str] | None = None
    ) -> ReportData:
        """Return all that the report shows; `left_out` says why a task is no row of the dataset."""
        ended = {ending.item for ending in self._endings}
        entries = [self._entry(ending, left_out or {}) for ending in self._endings]
        return ReportData(
            run=self._info(dataset_sha256),
            stages=self._stages(),
            tasks=tuple(entry for entry in entries if isinstance(entry, TaskEntry)),
            rejects=tuple(entry for entry in entries if isinstance(entry, RejectEntry)),
            failures=tuple(entry for entry in entries if isinstance(entry, FailureEntry)),
            open_items=tuple(
                OpenEntry(item=item, repo=repo_of_item(item), stage=self._stage_of(item))
                for item in self._selected
                if item not in ended
            ),
            timings=tuple(self._timings()),
        )

    def _stages(self) -> tuple[StageInfo, ...]:
        if all(ending.stage != POLICY for ending in self._endings):
            return STAGES
        return (STAGES[0], SPARED, *STAGES[1:])

    def _info(self, dataset_sha256: str | None) -> RunInfo:
        settings: Mapping[str, Any] = self._run.settings
        return RunInfo(
            title=settings["export"]["name"],
            version=__version__,
            backend=settings["sandbox"]["backend"],
            started_at=_moment(self._run.started_at),
            ended_at=_moment(self._run.ended_at),
            interrupted=len(self._endings) < len(self._selected),
            expected=len(self._selected),
            dataset_path=str(self._workspace.dataset.relative_to(self._workspace.root)),
            dataset_sha256=dataset_sha256,
            settings=settings,
        )

    def _entry(self, ending: Ending, left_out: Mapping[str, str]) -> TaskEntry | RejectEntry | FailureEntry:
        repo = repo_of_item(ending.item)
        match ending.outcome:
            case Accepted(value=value):
                return self._task(Task.from_json(value), ending.item, left_out)
            case Rejected(code=code, message=message, evidence=evidence):
                return RejectEntry(
                    item=ending.item,
                    repo=repo,
                    stage=ending.stage,
                    code=code,
                    message=message,
                    evidence=evidence,
                )
            case Failed() as failed:
                return FailureEntry(
                    item=ending.item,
                    repo=repo,
                    stage=ending.stage,
                    boundary=failed.boundary,
                    message=failed.message,
                    retryable=failed.retryable,
                    attempts=max(1, len(self._attempts.get(ending.item, ()))),
                    evidence=failed.evidence,
                )
            case never:
                assert_never(never)

    def _task(self, task: Task, item: str, left_out: Mapping[str, str]) -> TaskEntry:
        return TaskEntry(
            task=task,
            snapshot=self._snapshot(item),
            durations_s={timing.stage: timing.seconds for timing in self._timings_of(item)},
            left_out=left_out.get(task.instance_id),
        )

    def _snapshot(self, item: str) -> Snapshot | None:
        for attempt in reversed(self._attempts.get(item, [])):
            if attempt.key.stage == SNAPSHOT and attempt.status is AttemptStatus.DONE:
                outcomes = self._workspace.ledger.result(attempt.key) or ()
                for found in outcomes:
                    if isinstance(found.outcome, Accepted):
                        return Snapshot.from_json(found.outcome.value)
        return None

    def _stage_of(self, item: str) -> str:
        tries = self._attempts.get(item, [])
        return tries[-1].key.stage if tries else STAGES[1].name

    def _timings_of(self, item: str) -> list[Timing]:
        return [
            Timing(stage=attempt.key.stage, item=item, seconds=float(attempt.observed["duration_s"]))
            for attempt in self._attempts.get(item, [])
            if attempt.status is AttemptStatus.DONE and "duration_s" in attempt.observed
        ]

    def _timings(self) -> list[Timing]:
        return [timing for item in self._selected for timing in self._timings_of(item)]
