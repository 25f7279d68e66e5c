"""Tests that the TestWriter proves without a model, on the verified tasks of a workspace.

    python -m benchmarks.testwriter --workspace DIR [--sample N] [--later N] [--part NAME] [item ...]

The workspace holds a run with accepted tasks. For each task: a reproduction from the issue alone (the fix and
the tests of the pull request are hidden from it, and the tests are not there when it is run), then tests
against the wrong fixes that its own tests let pass, then later runs on gold of all that was admitted.
Resumable: what was measured lies in DIR/testwriter, one file for each task; delete one to measure it again.
Aims: a reproduction for 10 tasks, a surviving wrong fix killed on 30 % of the tasks that have one, 0 admitted
tests that fail in 20 later runs.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.strength import in_turn, measured
from swequarry.config import Settings
from swequarry.delta import FileContent, TreeDelta
from swequarry.errors import SwequarryError
from swequarry.pipeline.known_item import house_of_last_run, know_item
from swequarry.pipeline.reporting import last_run, tasks_of
from swequarry.pipeline.stages.environment import environment_world
from swequarry.pipeline.stages.grading import grading_room
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.stages.testwriter import WRITERS
from swequarry.pipeline.workspace import Workspace
from swequarry.records import BlobHash, Perturbation, Strength, Task, TestOutcome
from swequarry.verify.candidate import Case, overlaid
from swequarry.verify.perturbations import Clock, conditions, find_clock
from swequarry.verify.rig import Rig, WatchedRig
from swequarry.verify.runner import RunOptions
from testwriter.engine import Engine
from testwriter.interface import Proof, Proposal, Writer
from testwriter.proof.prover import Prover
from testwriter.proof.runs import Stand
from testwriter.proof.worth import Wanting
from testwriter.write import Assignment, from_the_issue_alone, stand_for, subject_of, wanting_of
from testwriter.writers.issue import IssueWriter

_BUDGET_RUNS = 80
_PARTS = ("reproduction", "killing", "later")
_LATER = (
    (),
    (Perturbation.SEED,),
    (Perturbation.SEED, Perturbation.ORDER),
    (Perturbation.YEAR_AHEAD,),
    (Perturbation.TIME_ZONE, Perturbation.SEED),
)


def main() -> None:
    """Measure what isn't measured yet, then print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--workspace", type=Path, required=True)
    options.add_argument("--sample", type=int, help="only so many tasks, the same ones each time")
    options.add_argument("--later", type=int, default=20, help="later runs on gold of what was admitted")
    options.add_argument("--part", action="append", choices=_PARTS, help="what to measure; by default all")
    options.add_argument("items", nargs="*")
    given = options.parse_args()
    house = house_of_last_run(Workspace.open(Settings(workspace=given.workspace), create=False))
    tasks = tasks_of(house.workspace, last_run(house.workspace).number)
    chosen = [task for task in tasks if task.instance_id in given.items] if given.items else in_turn(tasks)
    _print(
        {
            task.instance_id: _measured(house, task, given.later, given.part or _PARTS)
            for task in chosen[: given.sample]
        }
    )


def _measured(house: House, task: Task, later: int, parts: Sequence[str]) -> dict[str, Any]:
    """Return what is known of a task after the asked parts that were missing are measured."""
    path = house.workspace.root / "testwriter" / f"{task.instance_id}.json"
    found: dict[str, Any] = json.loads(path.read_bytes()) if path.is_file() else {}
    for part in parts:
        if part in found:
            continue
        began = time.monotonic()
        try:
            found[part] = _part(house, task, part, found, later)
        except SwequarryError as error:
            return {**found, "message": str(error)}
        found[part]["cost_s"] = round(time.monotonic() - began, 1)
        print(task.instance_id, part, found[part]["cost_s"], file=sys.stderr)
        path.parent.mkdir(exist_ok=True)
        path.with_suffix(".part").write_text(json.dumps(found, indent=1))
        path.with_suffix(".part").replace(path)
    return found


def _part(house: House, task: Task, part: str, found: dict[str, Any], later: int) -> dict[str, Any]:
    snapshot = know_item(house, task.instance_id).snapshot
    assert snapshot is not None
    world = environment_world(house, task.candidate, snapshot, task.environment)
    clock = find_clock(house.backend, world, house.test_limits, datetime.now(UTC))
    with grading_room(house, world, task.candidate, task.environment, task.verification) as (rig, case):
        if part == "reproduction":
            return _from_the_issue(house, WatchedRig.of(rig), task, case, clock)
        if part == "killing":
            return _against_survivors(house, WatchedRig.of(rig), task, case, clock)
        made = [
            pair for known in ("reproduction", "killing") for pair in found.get(known, {}).get("files", [])
        ]
        return _later(rig, case, clock, made, later)


def _from_the_issue(house: House, rig: WatchedRig, task: Task, case: Case, clock: Clock) -> dict[str, Any]:
    """Return what comes of the issue's words, where neither writer nor runs have the pull request's tests."""
    gold = house.workspace.blobs.get(task.candidate.gold_patch)
    given = Assignment(
        candidate=task.candidate,
        recipe=case.recipe,
        base=case.base,
        before=case.base,
        after=rig.bench.apply(case.base, gold),
    )
    subject = from_the_issue_alone(subject_of(rig.bench, given, rig.get_blob))
    stand = stand_for(rig, given, clock, 4)
    prover = Prover(stand=stand, subject=subject, wanting=Wanting(tests=False))
    engine = _engine(prover, rig, house, most=1)
    engine.hear("issue", IssueWriter())
    return {"folder": subject.folder, **_told(engine)}


def _against_survivors(house: House, rig: WatchedRig, task: Task, case: Case, clock: Clock) -> dict[str, Any]:
    """Return what is admitted beside the pull request's tests, and which wrong fixes that rejects."""
    given = Assignment(
        candidate=task.candidate,
        recipe=case.recipe,
        base=case.base,
        before=case.before,
        after=case.after,
        strength=_strength(house, task),
    )
    subject = subject_of(rig.bench, given, rig.get_blob)
    wanting = wanting_of(rig, given, subject)
    wanting.uncovered = None  # only kills are counted here
    survivors = len(wanting.survivors)
    if not survivors:
        return {"survivors": 0, "kills": 0, "files": []}
    stand = stand_for(rig, given, clock, 4)
    engine = _engine(Prover(stand=stand, subject=subject, wanting=wanting), rig, house, most=3)
    _hear_all(engine, stand, WRITERS)
    kills = {diff for _, proof in engine.added for diff in proof.kills}
    return {"survivors": survivors, "kills": len(kills), **_told(engine)}


def _strength(house: House, task: Task) -> Strength | None:
    """Return the strength of a task's own tests, which is measured where the run didn't."""
    if task.strength is not None and not task.verifier.added:
        return task.strength
    found = measured(house, task, 1)
    return Strength.from_json(found["strength"]) if "strength" in found else None


def _hear_all(engine: Engine, stand: Stand, writers: Sequence[tuple[str, Callable[[Stand], Writer]]]) -> None:
    for name, make in writers:
        engine.hear(name, make(stand))


def _engine(prover: Prover, rig: WatchedRig, house: House, most: int) -> Engine:
    put: Callable[[bytes], BlobHash] = house.workspace.blobs.put
    engine = Engine(prover=prover, put_blob=put, budget_runs=_BUDGET_RUNS, made=rig.seen, most=most)
    prover.left = lambda: engine.left
    return engine


def _told(engine: Engine) -> dict[str, Any]:
    return {
        **{key: value for key, value in engine.observed().items() if key != "refused"},
        "refused": Counter(f"{one.method}: {code}" for one, codes in engine.refused for code in codes),
        "tests": [_shown(*pair) for pair in engine.added],
        "files": [(proposal.path, proposal.text) for proposal, _ in engine.added],
    }


def _shown(proposal: Proposal, proof: Proof) -> dict[str, Any]:
    return {
        "method": proposal.method,
        "good_for": proof.admitted_for,
        "failing": proof.failing,
        "kills": len(proof.kills),
        "text": proposal.text,
    }


def _later(
    rig: Rig, case: Case, clock: Clock, admitted: Sequence[tuple[str, str]], runs: int
) -> dict[str, Any]:
    """Run all that was admitted on gold again, under conditions in turn."""
    gold = rig.bench.delta(case.base, case.after)
    files = {path.encode(): FileContent(data=text.encode()) for path, text in admitted}
    whole, paths = overlaid(gold, TreeDelta(files=files)), [path for path, _ in admitted]
    failed: list[tuple[int, str, str]] = []
    for number in range(runs if admitted else 0):
        how = conditions(_LATER[number % len(_LATER)], clock, 95_000 + number, number)
        run = rig.run(whole, paths, how.recipe(case.recipe), how.seed, RunOptions(taps=how.taps))
        failed += [
            (number, result.id, result.detail)
            for result in run.report.results
            if result.outcome is not TestOutcome.PASSED
        ]
        failed += [(number, path, "not collected") for path, _ in run.report.collection_errors]
    return {"files": len(admitted), "runs": runs if admitted else 0, "failed": failed}


def _print(found: dict[str, dict[str, Any]]) -> None:
    print("task", "reproduction by", "survivors", "killed", "later failures", "cost s", sep="\t")
    for name, entry in found.items():
        one, two = entry.get("reproduction", {}), entry.get("killing", {})
        methods = ",".join(test["method"] for test in one.get("tests", ())) or "-"
        failed = len(entry["later"]["failed"]) if "later" in entry else "?"
        cost_s = round(sum(entry[part]["cost_s"] for part in _PARTS if part in entry), 1)
        print(name, methods, two.get("survivors", "?"), two.get("kills", "?"), failed, cost_s, sep="\t")
        if "message" in entry:
            print(f"{name}\t{entry['message']}")
    reproductions = [entry["reproduction"] for entry in found.values() if "reproduction" in entry]
    weak = [entry["killing"] for entry in found.values() if entry.get("killing", {}).get("survivors")]
    reran = [entry["later"] for entry in found.values() if "later" in entry]
    reproduced = sum(bool(one["admitted"]) for one in reproductions)
    print(f"{reproduced} of {len(reproductions)} tasks reproduced from the issue alone")
    killed = sum(bool(one["kills"]) for one in weak)
    print(f"{killed} of {len(weak)} tasks with a surviving wrong fix have one killed")
    files, failed = sum(one["files"] for one in reran), sum(len(one["failed"]) for one in reran)
    print(f"{failed} failures on gold of {files} files in later runs; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
