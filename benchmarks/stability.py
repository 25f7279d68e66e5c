"""The planted set: are unstable tests found and rightly named, and is no stable one quarantined?

    python -m benchmarks.stability [--budget default|unbounded|deep]

Forty unstable tests of eight kinds and four hundred stable ones, in bubblewrap. The search begins as in the
line, with the three runs that verification has made by then. Prints each miss, and what was spent in bare
runs, without those. Bound: 95 % found and rightly named, none of the stable ones quarantined. Timing needs
a quiet machine: where two processes share a processor before we add any, it can't be told from the load.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from benchmarks.overhead import choose, make_world
from benchmarks.planted import project
from swequarry.config import SandboxSettings, VerifySettings
from swequarry.delta import TreeDelta
from swequarry.records import Perturbation, Recipe, State, TestOutcome
from swequarry.sandbox.backends import open_backend
from swequarry.sandbox.contract import Limits
from swequarry.verify.perturbations import find_clock
from swequarry.verify.rig import Rig
from swequarry.verify.runner import RunResult
from swequarry.verify.stability_measure import known_runs, starter
from swequarry.verify.stability_runs import DEEP, DEFAULT, Budget, Known, Setting
from swequarry.verify.stability_search import Search, find_unstable

P = Perturbation
SHARE = 0.95
BUDGETS = {"default": DEFAULT, "unbounded": Budget(factor=None), "deep": DEEP}
"""What tasks get, which finds every kind and can't name all of them; that without an end; all there is."""


def main() -> None:
    """Search the planted set and print what was found; ends with 1 where the bound isn't met."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--budget", choices=sorted(BUDGETS), default="unbounded")
    given = options.parse_args()
    now = datetime.now(UTC)
    files, planted = project(now)
    with tempfile.TemporaryDirectory(prefix="stability-", dir="/var/tmp") as name:
        search, clock = _searched(Path(name), files, now, budget=BUDGETS[given.budget])
    verdicts = {verdict.id: verdict for verdict in search.verdicts()}
    right: Counter[str] = Counter()
    for test, kind in planted.items():
        verdict = verdicts.get(cast("Any", test))
        reason = verdict.reason if verdict is not None else None
        right[kind.value] += reason is kind
        if reason is not kind:
            told = verdict.outcomes if verdict is not None else ()
            print(f"{test}: planted {kind.value}, found {reason and reason.value}: {_short(told)}")
    blamed = [test for test, verdict in verdicts.items() if verdict.reason and test not in planted]
    for test in blamed:
        print(f"{test}: stable, quarantined for {verdicts[test].reason}: {_short(verdicts[test].outcomes)}")
    stable = len(verdicts) - len(planted)
    print(
        f"clock {clock}, load {os.getloadavg()[0]:.1f}, {len(search.seen)} runs, bare {search.bare_s:.1f} s,"
    )
    print(f"spent {search.spent_s / search.bare_s:.1f} bare runs, complete {search.complete}")
    print(
        f"{right.total()} of {len(planted)} rightly named, {len(blamed)} of {stable} stable ones quarantined"
    )
    print(dict(right))
    sys.exit(0 if right.total() >= SHARE * len(planted) and not blamed else 1)


def _short(outcomes: Any) -> str:
    return "; ".join(f"{label}: {' '.join(outcome.value for outcome in each)}" for label, each in outcomes)


def _searched(folder: Path, files: dict[str, str], now: datetime, *, budget: Budget) -> tuple[Search, str]:
    folder.chmod(0o755)
    tree = folder / "tree"
    tree.mkdir()
    for name, text in files.items():
        (tree / name).write_text(text, encoding="utf-8")
    backend = open_backend(SandboxSettings(backend="bubblewrap"), folder / "store")
    world = make_world(backend, choose(backend), tree)
    clock = find_clock(backend, world, Limits(), now)
    rig = Rig(
        world=world, bench=cast("Any", None), backend=backend, limits=Limits(), get_blob=cast("Any", None)
    )
    recipe = Recipe(python="3", cutoff=now)
    make = starter(rig, recipe, {State.AFTER: TreeDelta()}, clock)

    def start(setting: Setting) -> RunResult:
        result = make(setting)
        given = "+".join(setting.perturbations) or "none"
        print(given, len(setting.targets), f"{result.duration_s:.1f} s", file=sys.stderr, flush=True)
        return result

    targets = tuple(sorted(files))
    known = _verified(start, targets)
    return find_unstable(start, {State.AFTER: targets}, budget, known), clock.library or "python"


def _verified(start: Callable[[Setting], RunResult], targets: tuple[str, ...]) -> Known:
    """Return what verification would have seen: a bare run, then others with other seeds."""
    results = [
        start(Setting(state=State.AFTER, targets=targets, perturbations=(P.SEED,) * (turn < 0), turn=turn))
        for turn in range(0, -VerifySettings().runs, -1)
    ]
    outcomes = [{test.id: test.outcome for test in result.report.results} for result in results]
    every = dict.fromkeys(test for run in outcomes for test in run)
    tests = {
        test: {State.AFTER.value: [run.get(test, TestOutcome.MISSING).value for run in outcomes]}
        for test in every
    }
    seen = known_runs({"tests": tests}, (State.AFTER,))
    return Known(seen=seen, bare_s=results[0].duration_s)


if __name__ == "__main__":
    main()
