"""Are accepted tasks verified again under other settings what they were?

    python -m benchmarks.reverify --workspace DIR [--sample N] [TASK ...]

Ten times for each task of the newest run of DIR its tests are run before and after the fix: with other seeds,
in other orders, at other dates, under load, and under several of these at once. A verdict has changed where a
FAIL_TO_PASS test doesn't fail before and pass after, or a PASS_TO_PASS test doesn't pass in both. Prints each
such test; ends with 1 where there is one. Resumable: what was seen of a task lies in DIR/reverify.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.strength import in_turn
from swequarry.config import Settings
from swequarry.pipeline.graded_task import open_task
from swequarry.pipeline.known_item import house_of_last_run
from swequarry.pipeline.reporting import last_run, tasks_of
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.workspace import Workspace
from swequarry.records import Perturbation, State, Task, TestOutcome
from swequarry.verify.candidate import Case
from swequarry.verify.passes import FAILING
from swequarry.verify.perturbations import Clock, find_clock
from swequarry.verify.runner import RunResult
from swequarry.verify.stability_measure import starter
from swequarry.verify.stability_runs import Setting

P = Perturbation
SETTINGS: tuple[tuple[tuple[P, ...], int], ...] = (
    ((P.SEED,), 100),
    ((P.SEED,), 101),
    ((P.ORDER,), 100),
    ((P.ORDER, P.SEED), 101),
    ((P.YEAR_AHEAD,), 0),
    ((P.LEAP_DAY, P.SEED), 102),
    ((P.LOAD,), 0),
    ((P.LOAD, P.ORDER), 102),
    ((P.ONE_CPU, P.SEED), 103),
    ((P.YEAR_AHEAD, P.ORDER, P.SEED), 104),
)
"""What is changed and in which variant; none that verification or the search for unstable tests takes."""
STATES = (State.AFTER, State.BEFORE)


def main() -> None:
    """Verify what wasn't yet, then print the table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("tasks", nargs="*", help="only these tasks")
    options.add_argument("--workspace", type=Path, required=True)
    options.add_argument("--sample", type=int, help="only so many tasks, repositories in turn")
    given = options.parse_args()
    house = house_of_last_run(Workspace.open(Settings(workspace=given.workspace), create=False))
    tasks = in_turn(tasks_of(house.workspace, last_run(house.workspace).number))
    chosen = [task for task in tasks if not given.tasks or task.instance_id in given.tasks][: given.sample]
    found = {task.instance_id: _known(house, task) for task in chosen}
    changed = 0
    for name, entry in found.items():
        counts = [f"{setting}: {len(odd)}" for setting, odd in entry["odd"].items() if odd]
        changed += len(counts)
        print(name, f"{entry['tests']} tests", f"{entry['seconds']:.0f} s", *(counts or ["same"]), sep="\t")
        for setting, odd in entry["odd"].items():
            print(*(f"  {setting}: {line}" for line in odd[:5]), sep="\n", end="\n" if odd else "")
    made = sum(len(entry["odd"]) for entry in found.values())
    load = os.getloadavg()[0]
    print(f"{len(found)} tasks, {made} verified again, {changed} verdicts changed, load {load:.1f}")
    sys.exit(1 if changed else 0)


def _known(house: House, task: Task) -> dict[str, Any]:
    path = house.workspace.root / "reverify" / f"{task.instance_id}-{task.content_hash()[:16]}.json"
    if path.is_file():
        kept: dict[str, Any] = json.loads(path.read_bytes())
        return kept
    began = time.monotonic()
    opened = open_task(house, task.instance_id)
    with opened.room() as (rig, case):
        clock = find_clock(rig.backend, rig.world, rig.limits, datetime.now(UTC))
        deltas = {
            State.AFTER: rig.bench.delta(case.base, case.after),
            State.BEFORE: rig.bench.delta(case.base, case.before),
        }
        start = starter(rig, case.recipe, deltas, clock)
        odd = {}
        for given, turn in SETTINGS:
            label = f"{'+'.join(given)} {turn}"
            odd[label] = _odd(start, case, given, turn)
            print(task.instance_id, label, len(odd[label]), file=sys.stderr, flush=True)
    found = {
        "odd": odd,
        "tests": len(case.fail_to_pass) + len(case.pass_to_pass),
        "clock": _told(clock),
        "seconds": round(time.monotonic() - began, 1),
    }
    path.parent.mkdir(exist_ok=True)
    path.with_suffix(".part").write_text(json.dumps(found, indent=1))
    path.with_suffix(".part").replace(path)
    return found


def _told(clock: Clock) -> str:
    return clock.library or "python"


def _odd(start: Callable[[Setting], RunResult], case: Case, given: tuple[P, ...], turn: int) -> list[str]:
    """Return a line for each test that isn't what the lists say."""
    runs = {
        state: start(Setting(state=state, perturbations=given, targets=case.test_files, turn=turn))
        for state in STATES
    }
    seen = {s: {test.id: test.outcome for test in run.report.results} for s, run in runs.items()}

    away = FAILING | {TestOutcome.MISSING}
    turning = frozenset(case.fail_to_pass)
    odd = []
    for test in (*case.fail_to_pass, *case.pass_to_pass):
        before, after = (seen[state].get(test, TestOutcome.MISSING) for state in (State.BEFORE, State.AFTER))
        as_listed = before in away if test in turning else before is TestOutcome.PASSED
        if not as_listed or after is not TestOutcome.PASSED:
            odd.append(f"{test}: {before.value} before, {after.value} after")
    return odd


if __name__ == "__main__":
    main()
