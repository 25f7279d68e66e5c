"""How long a snapshot takes, and its peak memory, beside `git fetch` of one commit (the named peer).

`python -m benchmarks.snapshot --mirror DIR [--sha REV] [--rounds N]` prints one JSON object. Both sides
run in the same rounds, one after the other, so that a busy machine weighs on both. The peer is the recipe
that leaves no leak: an empty repository, `git fetch --no-tags <mirror> <sha>`, and a checkout; what it
doesn't do (tags, audit) it isn't charged for. Memory is the sum of the proportional set sizes (pages that
processes share count once) of this process and all that it started, sampled every 20 ms.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from swequarry.git.audit import audit_closure
from swequarry.git.repository import Repository
from swequarry.git.snapshot import make_snapshot
from swequarry.records import CommitSha, RepoRef

_SAMPLE_S = 0.02
_REPO = RepoRef(owner="benchmark", name="benchmark")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Wall clock and processor seconds (children included), peak memory in MB, of one run."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def _family(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += _family(int(child))
    return found


def _memory_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0  # it ended meanwhile
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


class _MemoryWatch:
    """Samples the memory of this process and its children in a thread."""

    def __init__(self) -> None:
        self.peak_mb = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(_SAMPLE_S):
            try:
                family = _family(os.getpid())
            except OSError:
                continue
            self.peak_mb = max(self.peak_mb, sum(_memory_mb(pid) for pid in family))


def _cpu_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def measure(work: Callable[[], object], *, memory: bool) -> Figure:
    """Run some work and return what it cost; the memory watch itself costs time, so it has its own run."""
    if memory:
        with _MemoryWatch() as watch:
            work()
        return Figure(wall_s=0.0, cpu_s=0.0, peak_mb=round(watch.peak_mb, 1))
    wall, cpu = time.perf_counter(), _cpu_s()
    work()
    return Figure(wall_s=round(time.perf_counter() - wall, 3), cpu_s=round(_cpu_s() - cpu, 3), peak_mb=0.0)


def _fetch(mirror: Path, sha: str, folder: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", os.fspath(folder), *arguments], check=True, capture_output=True)

    folder.mkdir()
    git("init", "--quiet")
    git("fetch", "--quiet", "--no-tags", os.fspath(mirror), sha)
    git("reset", "--quiet", "--hard", sha)


def _best(figures: list[Figure], memory: Figure) -> dict[str, object]:
    walls = [figure.wall_s for figure in figures]
    least = min(figures, key=lambda figure: figure.wall_s)
    best = asdict(least) | {"peak_mb": memory.peak_mb}
    return {**best, "median_wall_s": round(statistics.median(walls), 3), "walls_s": walls}


def compare(mirror: Path, sha: CommitSha, scratch: Path, rounds: int) -> dict[str, object]:
    """Measure snapshot, audit and peer in turn; return the best and all wall times of each."""
    repository = Repository.open(mirror)
    made, fetched = scratch / "made", scratch / "fetched"
    works: dict[str, Callable[[], object]] = {
        "snapshot": lambda: make_snapshot(repository, sha, made, _REPO),
        "audit": lambda: audit_closure(made, sha),
        "git_fetch": lambda: _fetch(mirror, sha, fetched),
    }
    figures: dict[str, list[Figure]] = {name: [] for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            figures[name].append(measure(work, memory=number == rounds))
        for folder in (made, fetched):
            subprocess.run(["rm", "-rf", os.fspath(folder)], check=True)
    return {name: _best(runs[:-1], runs[-1]) for name, runs in figures.items()}


def main() -> None:
    """Read the arguments, measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", type=Path, required=True, help="a clone or bare mirror")
    parser.add_argument("--sha", default="HEAD", help="the base commit (any revision)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scratch", type=Path, help="where copies are made, by default a temporary folder")
    arguments = parser.parse_args()
    repository = Repository.open(arguments.mirror)
    sha = repository.resolve(arguments.sha)
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        figures = compare(arguments.mirror.absolute(), sha, Path(scratch), arguments.rounds)
    commits = int(repository.git(["rev-list", "--count", sha]))
    load = os.getloadavg()[0]
    report = {"sha": sha, "commits": commits, "processors": os.cpu_count(), "load_average": load, **figures}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
