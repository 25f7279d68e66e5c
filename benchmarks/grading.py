"""What a grading costs beside the official harnesses, and whether many at once are all right.

    python -m benchmarks.grading --workspace DIR [--base-image TAG] [--part cost|calls]

`cost`: one toy task, made by the whole line once in bubblewrap and once in docker, its image and exports.
Graded by `swequarry grade` (both backends), `swebench eval` and `harbor run`, two at a time, in turns: a
single patch from the start of the command to its end, best of N; then that patch and twenty more, whose
further time by twenty is the marginal cost. Bounds: a third of either harness with bubblewrap, half with
docker; a single patch ten times as fast with bubblewrap. `calls`: so many `await grader.grade(...)` at once
in one process, of right, wrong, partial and empty patches for two tasks. Bounds: each verdict and each
credit right, 2 GB for the process and all its descendants. Toys, images and tools below DIR are made once;
what is timed is timed anew.
"""

import argparse
import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harnesses import Told, harbor, harbor_run, swebench, swebench_eval
from benchmarks.memory import Peak
from benchmarks.toys import AMOUNTS, LABELS, Toy, ToyPatch, command, exported, patches, workspace
from swequarry.pipeline.grade_reports import from_json
from swequarry.pipeline.grader import Graded, Grader
from swequarry.pipeline.known_item import house_of_last_run
from swequarry.pipeline.workspace import Workspace
from swequarry.verify.grade import Verdict

TAG = "swequarry/bench-{instance_id}:latest"
MANY = 20
MIX = ("gold", "wrong", "gold", "partial", "wrong")
"""Two of five resolve: a right patch costs us more runs than a wrong one."""
BOUNDS = {"bubblewrap": 1 / 3, "docker": 1 / 2}
SINGLE = 10.0
MEMORY_BYTES = 2_000_000_000
CALLS = ("gold", "empty", "wrong", "partial", "gold")

Grading = Callable[[Mapping[str, bytes], Path], dict[str, Told]]


def main() -> None:
    """Make what is needed, measure, print; ends with 1 where a verdict is wrong or a bound doesn't hold."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--workspace", type=Path, required=True, help="folder that a later call uses again")
    options.add_argument("--base-image", default="swequarry/base:local")
    options.add_argument("--part", choices=("cost", "calls"))
    options.add_argument("--singles", type=int, default=3, help="how often a single patch is timed")
    options.add_argument("--calls", type=int, default=200)
    options.add_argument("--workers", type=int, default=2, help="of the calls")
    given = options.parse_args()
    folder = given.workspace.absolute()
    holds = []
    local = workspace(folder, "bubblewrap", given.base_image, [AMOUNTS, LABELS])
    if given.part != "calls":
        contained = workspace(folder, "docker", given.base_image, [AMOUNTS])
        holds.append(_cost(folder, {"bubblewrap": local, "docker": contained}, given.singles))
    if given.part != "cost":
        holds.append(_calls(local, given.calls, given.workers))
    sys.exit(0 if all(holds) else 1)


# --- cost of a patch ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds of one command over some patches, and the verdicts that it got wrong."""

    seconds: float
    wrong: tuple[str, ...]


def ours(root: Path) -> Grading:
    """Return the grading of `swequarry grade --predictions` over a workspace."""

    def grading(given: Mapping[str, bytes], folder: Path) -> dict[str, Told]:
        folder.mkdir(parents=True)
        predictions = [
            {"instance_id": AMOUNTS.name, "model_name_or_path": name, "model_patch": patch.decode()}
            for name, patch in given.items()
        ]
        (folder / "preds.json").write_text(json.dumps(predictions))
        words = ["grade", "--predictions", str(folder / "preds.json"), "-o", str(folder / "out")]
        command(*words, "-w", str(root), "-j", "2", "-q")
        return {name: _told(folder / "out" / name / AMOUNTS.name / "report.json") for name in given}

    return grading


def _told(report: Path) -> Told:
    found = from_json(json.loads(report.read_bytes())["swequarry"][0])
    if found.verdict is Verdict.INFRA_FAILED:
        return Told(None, found.message)
    return Told(resolved=found.resolved, detail=found.message)


def _cost(folder: Path, made: Mapping[str, Workspace], singles: int) -> bool:
    rows, tasks = exported(made["docker"].root, folder / "exports", TAG)
    tools, home = folder / "tools", folder / "home"
    eval_, run = swebench(home), harbor(tools, home)
    graders: dict[str, Grading] = {
        "bubblewrap": ours(made["bubblewrap"].root),
        "docker": ours(made["docker"].root),
        "swebench": lambda given, place: swebench_eval(eval_, rows, given, place),
        "harbor": lambda given, place: harbor_run(run, tasks / AMOUNTS.name, given, place),
    }
    kinds = ["gold", *(MIX[n % len(MIX)] for n in range(MANY))]
    all_of_them = patches(made["bubblewrap"], AMOUNTS, kinds)
    scratch = folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    single: dict[str, list[Timed]] = {name: [] for name in graders}
    for turn in range(singles):
        for name, grading in graders.items():
            place = scratch / f"{name}-single-{turn}"
            single[name].append(_timed(name, grading, all_of_them[:1], place))
    many = {n: _timed(n, g, all_of_them, scratch / f"{n}-many") for n, g in graders.items()}
    first = {name: min(timed.seconds for timed in turns) for name, turns in single.items()}
    marginal = {name: (timed.seconds - first[name]) / MANY for name, timed in many.items()}
    _print_cost(first, marginal)
    wrong = [
        f"{name}: {what}" for name in graders for timed in (*single[name], many[name]) for what in timed.wrong
    ]
    print(*wrong, sep="\n")
    return _within(first, marginal) and not wrong


def _timed(name: str, grading: Grading, given: Sequence[ToyPatch], place: Path) -> Timed:
    named = {f"{AMOUNTS.name}-{number}": one for number, one in enumerate(given)}
    began = time.perf_counter()
    said = grading({key: one.patch for key, one in named.items()}, place)
    seconds = time.perf_counter() - began
    print(f"{name}\t{len(given)} patches\t{seconds:.1f} s", file=sys.stderr, flush=True)
    wrong = [
        f"{key} ({one.kind}): {said[key]}"
        for key, one in named.items()
        if said[key].resolved is not one.resolves
    ]
    return Timed(seconds, tuple(wrong))


def _print_cost(first: Mapping[str, float], marginal: Mapping[str, float]) -> None:
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors, {MANY} patches, two at a time")
    print("grader", "single s", "marginal s", "single / ours", "ours / marginal", sep="\t")
    for name in first:
        cells = [name, f"{first[name]:.2f}", f"{marginal[name]:.2f}"]
        if name not in BOUNDS:
            cells.append(" ".join(f"{first[name] / first[own]:.1f} ({own})" for own in BOUNDS))
            cells.append(" ".join(f"{marginal[own] / marginal[name]:.2f} ({own})" for own in BOUNDS))
        print(*cells, sep="\t")


def _within(first: Mapping[str, float], marginal: Mapping[str, float]) -> bool:
    peers = [name for name in first if name not in BOUNDS]
    cheap = [marginal[own] <= bound * marginal[peer] for own, bound in BOUNDS.items() for peer in peers]
    fast = [first["bubblewrap"] * SINGLE <= first[peer] for peer in peers]
    print(f"bounds hold: marginal {sum(cheap)} of {len(cheap)}, single {sum(fast)} of {len(fast)}")
    return all(cheap) and all(fast)


# --- many calls at once ---------------------------------------------------------------------------------


def _calls(made: Workspace, count: int, workers: int) -> bool:
    asked: list[tuple[Toy, ToyPatch]] = []
    for toy in (AMOUNTS, LABELS):
        kinds = [CALLS[n % len(CALLS)] for n in range(count // 2 + count % 2 * (toy is AMOUNTS))]
        kinds = [kind if kind in (*toy.edits, "empty") else "wrong" for kind in kinds]
        asked += [(toy, one) for one in patches(made, toy, kinds)]
    order = sorted(range(len(asked)), key=lambda n: (n * 7919) % len(asked))
    asked = [asked[n] for n in order]
    with Peak() as peak:
        began = time.perf_counter()
        found, late_s = asyncio.run(_all_at_once(made, asked, workers))
        seconds = time.perf_counter() - began
    wrong = [
        f"{toy.name} ({one.kind}): {said}"
        for (toy, one), said in zip(asked, found, strict=True)
        if not _is_right(toy, one, said)
    ]
    print(*wrong, sep="\n")
    print(
        f"{count} calls at once, {workers} workers: {seconds:.1f} s, {len(wrong)} wrong or lost, "
        f"at most {peak.size_bytes / 1e6:.0f} MB, event loop at most {late_s * 1000:.0f} ms late, "
        f"load {os.getloadavg()[0]:.1f}"
    )
    return not wrong and peak.size_bytes < MEMORY_BYTES


def _is_right(toy: Toy, one: ToyPatch, said: Graded | BaseException) -> bool:
    if isinstance(said, BaseException):
        return False
    named = said.instance_id == toy.name
    judged = said.verdict in (Verdict.RESOLVED, Verdict.NOT_RESOLVED)
    return named and judged and said.resolved is one.resolves and said.partial_credit == one.credit


async def _all_at_once(
    made: Workspace, asked: Sequence[tuple[Toy, ToyPatch]], workers: int
) -> tuple[list[Graded | BaseException], float]:
    """Return what came of all calls, and by how much a heartbeat of the event loop was late at worst."""
    late_s = [0.0]

    async def heartbeat(interval_s: float = 0.05) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(interval_s)
            late_s.append(time.perf_counter() - before - interval_s)

    heart = asyncio.create_task(heartbeat())
    async with Grader(house_of_last_run(made), workers=workers) as grader:
        calls = (grader.grade(toy.name, one.patch) for toy, one in asked)
        found = await asyncio.gather(*calls, return_exceptions=True)
    heart.cancel()
    return found, max(late_s)


if __name__ == "__main__":
    main()
