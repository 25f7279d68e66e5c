"""Time budgets of tasks, filled from what runs of their tests took when they were verified.

A multiple of the slowest run, in whole minutes and never less than one: machines differ, and what one run
took more or less than another shall not change a release.
"""

import math
from dataclasses import dataclass, replace

from swequarry.config import ReleaseSettings
from swequarry.records import Task

_STEP_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRuns:
    """What the runs of a task's tests took, in whatever state: the slowest in seconds, and how many."""

    slowest_s: float
    runs: int


def timed(task: Task, measured: MeasuredRuns | None, settings: ReleaseSettings) -> Task:
    """Return a task with its budget filled in; as it is where nothing was measured."""
    if measured is None:
        return task
    solver_s = _minutes(settings.solver_time_multiple * measured.slowest_s)
    budget = replace(
        task.budget,
        time_s=max(task.budget.time_s, solver_s),
        test_time_s=_minutes(settings.test_time_multiple * measured.slowest_s),
    )
    return replace(task, budget=budget)


def _minutes(seconds: float) -> int:
    return max(1, math.ceil(seconds / _STEP_S)) * _STEP_S
