"""Grading on verified tasks: is gold resolved, is nobody called a cheat, how far do canaries reach?

    python -m benchmarks.selftest --workspace DIR --results FILE [--sample N] [--attacks] [TASK ...]

For each verified task of a workspace (or those named): canaries and twins are proven, then the gold patch is
graded and, of every fifth task, the other honest solutions; with --attacks each attack is graded as well.
Resumable: tasks that FILE holds aren't done again. The workspace isn't changed.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from benchmarks.options import sampled
from swequarry.config import parse_settings
from swequarry.delta import TreeDelta
from swequarry.errors import InputError, StorageError, SwequarryError
from swequarry.git.trees import TreeWorkbench
from swequarry.ledger.blobs import BlobStore
from swequarry.ledger.queries import accepted_of_stage
from swequarry.pipeline.known_item import KnownItem, house_of_last_run, know_item
from swequarry.pipeline.stages.environment import environment_world
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.workspace import Workspace
from swequarry.records import BlobHash, Verification
from swequarry.sandbox.contract import Command, ExecResult, Limits, SandboxBackend, World
from swequarry.verify.attacks import HONEST, Attack, Target, attacks
from swequarry.verify.candidate import Case
from swequarry.verify.grade import Grade, grade
from swequarry.verify.proofs import prove
from swequarry.verify.rig import Rig

_ALL_CONTROLS_EVERY = 5
_PATIENCE_S, _PATIENCE = 120.0, 10.0
"""What a run of an attack may take: so many seconds, or times what grading gold took; one sleeps an hour."""


def main() -> None:
    """Measure each task and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("tasks", nargs="*", help="only these tasks")
    options.add_argument("--workspace", type=Path, required=True)
    options.add_argument("--results", type=Path, required=True, help="lines of JSON; a later call continues")
    options.add_argument("--sample", type=int, help="only so many tasks, the same ones each time")
    options.add_argument("--attacks", action="store_true", help="grade every attack as well")
    given = options.parse_args()
    settings = parse_settings({"workspace": str(given.workspace)}, "--workspace")
    house = house_of_last_run(Workspace.open(settings, create=False))
    names = sorted({item for item, _ in accepted_of_stage(house.workspace.ledger, "verify")})
    chosen = given.tasks or sampled(names, given.sample)
    done = _done(given.results)
    for number, name in enumerate(chosen):
        if name not in done or (given.attacks and "attacks" not in done[name]):
            controls = len(HONEST) if number % _ALL_CONTROLS_EVERY == 0 else 1
            done[name] = _measured(house, name, controls, with_attacks=given.attacks)
            with given.results.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(done[name]) + "\n")
        print(_line(done[name]), flush=True)
    _summary([done[name] for name in chosen])


def _done(path: Path) -> dict[str, dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {row["task"]: row for row in map(json.loads, lines)}


@dataclass
class _Counted:
    """A backend that counts the runs and is otherwise what it was: a task may build again before it runs."""

    backend: SandboxBackend
    runs: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.backend, name)

    def run_once(self, world: World, delta: TreeDelta, command: Command, limits: Limits) -> ExecResult:
        self.runs += 1
        return self.backend.run_once(world, delta, command, limits)


def _measured(house: House, name: str, controls: int, *, with_attacks: bool) -> dict[str, Any]:
    try:
        with _task(house, name) as (rig, plain, blobs):
            counted = cast("_Counted", rig.backend)
            began, runs = time.monotonic(), counted.runs
            case = prove(rig, plain, blobs.put)
            row = {"task": name, "prove_s": time.monotonic() - began, "prove_runs": counted.runs - runs}
            row |= _of_checks(case)
            target = Target(rig.bench, case)
            row["honest"] = honest = _all_graded(rig, case, target, HONEST[:controls])
            if with_attacks:
                wall_s = max(_PATIENCE_S, _PATIENCE * honest["gold"]["seconds"])
                limits = replace(rig.limits, wall_s=min(rig.limits.wall_s, wall_s))
                row["attacks"] = _all_graded(replace(rig, limits=limits), case, target, list(attacks()))
            return row
    except SwequarryError as error:
        return {"task": name, "failed": str(error)}


def _all_graded(rig: Rig, case: Case, target: Target, tried: Sequence[Attack]) -> dict[str, Any]:
    found = {}
    for one in tried:
        patch = one.make(target)
        if patch is not None:
            found[one.name] = _graded(rig, case, patch)
            print(f"  {one.name}: {found[one.name]['verdict']}", file=sys.stderr, flush=True)
        else:
            print(f"  {one.name}: n/a", file=sys.stderr, flush=True)
    return found


def _of_checks(case: Case) -> dict[str, Any]:
    canaries, held_out = case.canaries, case.held_out
    twins = {origin for _, origin in held_out.twins} if held_out is not None else set()
    return {
        "fail_to_pass": len(case.fail_to_pass),
        "pass_to_pass": len(case.pass_to_pass),
        "canary_share": canaries.share if canaries is not None else 0.0,
        "twin_share": len(twins) / len(case.fail_to_pass),
    }


def _graded(rig: Rig, case: Case, patch: bytes) -> dict[str, Any]:
    began = time.monotonic()
    found: Grade = grade(rig, case, patch)
    return {
        "verdict": found.verdict.value,
        "reason": found.reason.value,
        "message": found.message,
        "evidence": [f"{note.code} {note.place}: {note.detail}" for note in found.evidence],
        "failed": [f"{test}: {outcome.value}" for test, outcome in found.failed[:20]],
        "runs": len(found.runs),
        "seconds": time.monotonic() - began,
    }


@contextmanager
def _task(house: House, name: str) -> Iterator[tuple[Rig, Case, BlobStore]]:
    known = know_item(house, name)
    verified = [value for _, value in accepted_of_stage(house.workspace.ledger, "verify", item=name)]
    if not verified or known.environment is None or known.snapshot is None:
        raise InputError(f"{name} isn't verified in this workspace; run the line first")
    verification = Verification.from_json(verified[-1])
    with (
        tempfile.TemporaryDirectory(prefix="selftest-") as folder,
        TreeWorkbench(house.repository(known.candidate.repo)) as bench,
    ):
        blobs = BlobStore(Path(folder))
        rig = _rig(house, known, bench, blobs)
        recipe = known.environment.recipe
        case = Case.make(bench, known.candidate, verification, recipe, house.workspace.blobs.get)
        rig, _ = rig.surveyed(recipe)
        yield rig, case, blobs


def _rig(house: House, known: KnownItem, bench: TreeWorkbench, blobs: BlobStore) -> Rig:
    if known.environment is None or known.snapshot is None:
        raise InputError(f"{known.item} has no environment")

    def get(key: BlobHash) -> bytes:
        try:
            return blobs.get(key)
        except StorageError:
            return house.workspace.blobs.get(key)

    return Rig(
        world=environment_world(house, known.candidate, known.snapshot, known.environment),
        bench=bench,
        backend=cast("SandboxBackend", _Counted(house.backend)),
        limits=house.test_limits,
        get_blob=get,
        test_timeout_s=house.settings.verify.test_timeout_s,
    )


def _line(row: dict[str, Any]) -> str:
    if "failed" in row:
        return f"{row['task']}\tfailed: {row['failed']}"
    gold = row["honest"]["gold"]
    cells = [
        row["task"],
        f"{row['fail_to_pass']}+{row['pass_to_pass']}",
        f"canaries {row['canary_share']:.0%}",
        f"twins {row['twin_share']:.0%}",
        f"{row['prove_runs']} runs {row['prove_s']:.0f} s",
        f"gold {gold['verdict']} {gold['seconds']:.0f} s",
    ]
    others = [f"{n}: {g['verdict']}" for n, g in row["honest"].items() if g["verdict"] != "resolved"]
    tried = row.get("attacks", {})
    accepted = [n for n, g in tried.items() if g["verdict"] not in ("not_resolved", "tampered")]
    attacked = [f"{len(tried)} attacks, not rejected: {accepted or 0}"] if tried else []
    return "\t".join([*cells, *others, *attacked])


def _summary(rows: list[dict[str, Any]]) -> None:
    graded = [row for row in rows if "honest" in row]
    honest = [found for row in graded for found in row["honest"].values()]
    gold = [row["honest"]["gold"] for row in graded]
    resolved = sum(found["verdict"] == "resolved" for found in gold)
    cheats = sum(found["verdict"] == "tampered" for found in honest)
    wide = sum(row["canary_share"] >= 0.8 for row in graded)
    runs = sorted(row["prove_runs"] for row in graded)
    print(f"gold resolved {resolved} of {len(gold)}; called cheats {cheats} of {len(honest)} honest patches")
    print(f"canaries reach 80 % of FAIL_TO_PASS in {wide} of {len(graded)} tasks")
    print(f"runs for the proof: median {runs[len(runs) // 2] if runs else 0}, most {max(runs, default=0)}")


if __name__ == "__main__":
    main()
