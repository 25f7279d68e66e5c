"""Strength of the verified tasks of a workspace, and what measuring it costs.

    python -m benchmarks.strength --workspace DIR [--sample N] [--workers N] [item ...]

The workspace holds a run with accepted tasks, whose environments are built again where they are gone; the
settings are those that tasks get by default.
Resumable: what was measured lies in DIR/strength, one file for each task; delete one to measure it again.
The sample takes repositories in turn. Bound: a median of 180 s per task.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from swequarry.config import Settings, StrengthSettings
from swequarry.outcome import Accepted
from swequarry.pipeline.known_item import house_of_last_run, know_item
from swequarry.pipeline.reporting import last_run, tasks_of
from swequarry.pipeline.stages.checks import measured_time
from swequarry.pipeline.stages.environment import environment_world
from swequarry.pipeline.stages.grading import grading_room
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.stages.stability import matrix_of
from swequarry.pipeline.workspace import Workspace
from swequarry.records import Strength, Task, TestId, WrongFixKind
from swequarry.records.strength import PASSED, REJECTED
from swequarry.verify.mutation_fixes import FixLimits
from swequarry.verify.strength import measure_strength

BOUND_S = 180.0


def main() -> None:
    """Measure what isn't measured yet, then print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--workspace", type=Path, required=True)
    options.add_argument("--sample", type=int, help="only so many tasks, the same ones each time")
    options.add_argument("--workers", type=int, default=1, help="runs of one task at the same time")
    options.add_argument("items", nargs="*")
    given = options.parse_args()
    house = house_of_last_run(Workspace.open(Settings(workspace=given.workspace), create=False))
    tasks = tasks_of(house.workspace, last_run(house.workspace).number)
    chosen = [task for task in tasks if task.instance_id in given.items] if given.items else in_turn(tasks)
    chosen = chosen[: given.sample]
    found = {task.instance_id: measured(house, task, given.workers) for task in chosen}
    _print(found, house.workspace)


def in_turn(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks such that each repository has its first one before any has its second."""
    by_repo: dict[str, list[Task]] = defaultdict(list)
    for task in sorted(tasks, key=lambda task: task.instance_id):
        by_repo[task.candidate.repo.full_name].append(task)
    placed = [(place, repo, task) for repo, own in by_repo.items() for place, task in enumerate(own)]
    return [task for _, _, task in sorted(placed, key=lambda entry: entry[:2])]


def measured(house: House, task: Task, workers: int) -> dict[str, Any]:
    """Return the strength of a task as JSON, with what was observed; from a file where it was measured."""
    path = house.workspace.root / "strength" / f"{task.instance_id}.json"
    if path.is_file():
        kept: dict[str, Any] = json.loads(path.read_bytes())
        return kept
    began, burnt = time.monotonic(), _children_s()
    snapshot = know_item(house, task.instance_id).snapshot
    assert snapshot is not None
    world = environment_world(house, task.candidate, snapshot, task.environment)
    with grading_room(house, world, task.candidate, task.environment, task.verification) as (rig, case):
        settings = StrengthSettings()
        limits = FixLimits(mutants=settings.mutants)
        put = house.workspace.blobs.put
        outcome, observed = measure_strength(
            rig,
            case,
            put,
            limits,
            budget_s=settings.budget_s,
            gold_s=measured_time(house.workspace.ledger, task.instance_id),
            ignored=frozenset(TestId(test) for test in matrix_of(house, task.verification)["tests"]),
            workers=workers,
        )
    cost_s = round(time.monotonic() - began, 1)
    print(task.instance_id, cost_s, file=sys.stderr)
    if not isinstance(outcome, Accepted):
        return {"message": str(outcome), "cost_s": cost_s}
    found = {"strength": outcome.value.to_json(), "observed": observed, "cost_s": cost_s}
    found["cpu_s"] = round(_children_s() - burnt, 1)
    path.parent.mkdir(exist_ok=True)
    path.with_suffix(".part").write_text(json.dumps(found, indent=1))
    path.with_suffix(".part").replace(path)
    return found


def _children_s() -> float:
    """Return the processor time of all that ended below this process, which a busy machine doesn't change."""
    return sum(os.times()[2:4])


def _print(found: dict[str, dict[str, Any]], workspace: Workspace) -> None:
    names = "task,strength,rejected,passed,not tried,lines,branches,needless hunks,gold s,cost s,processor s"
    print(*names.split(","), sep="\t")
    for name, entry in found.items():
        if "strength" not in entry:
            print(f"{name}\t{entry['message']}")
            continue
        strength = Strength.from_json(entry["strength"])
        coverage = strength.coverage
        cells = [name, f"{strength.share or 0:.2f}", strength.count(REJECTED), strength.count(PASSED)]
        cells.append(strength.not_tried)
        cells += [f"{coverage.line_share:.2f}", f"{coverage.branch_share:.2f}"] if coverage else ["?", "?"]
        cells += [
            len(strength.needless_hunks),
            entry["observed"]["gold_s"],
            entry["cost_s"],
            entry.get("cpu_s", "?"),
        ]
        print(*cells, sep="\t")
    measured = [Strength.from_json(entry["strength"]) for entry in found.values() if "strength" in entry]
    for kind in WrongFixKind:
        fates = Counter(fix.fate.value for each in measured for fix in each.wrong_fixes if fix.kind is kind)
        print(kind.value, dict(fates), sep="\t")
    for name, entry in found.items():
        for fix in Strength.from_json(entry["strength"]).survivors if "strength" in entry else ():
            print(f"\n{name}: {fix.kind.value} {fix.operator} {fix.fate.value}")
            print(workspace.blobs.get(fix.diff).decode("utf-8", "replace"))
    costs = [entry["cost_s"] for entry in found.values() if "strength" in entry]
    if costs:
        median_s, load = statistics.median(costs), os.getloadavg()[0]
        print(f"{len(costs)} tasks, median {median_s:.0f} s, bound {BOUND_S:.0f} s, load {load:.1f}")
        sys.exit(0 if median_s <= BOUND_S else 1)


if __name__ == "__main__":
    main()
