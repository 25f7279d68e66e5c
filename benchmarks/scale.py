"""What many workers cost the ledger and the driver, and what a second machine brings.

`python -m benchmarks.scale swarm --ledger URL [--items N] [--hands N]` runs the real driver and the real
ledger over simulated stages: `--processes` stand for `--hands` workers, each of which takes an item, stores
the result of one stage and the item's ending, and is free again. It prints results per second, the driver's
memory and processor time, and how long `status` takes after it. `--ledger` is a path or a `postgresql://`
URL of an empty database.

`python -m benchmarks.scale nodes --ledger URL [--items N] [--seconds S]` runs items that are busy for S
seconds each on a Ray cluster of one, then of two machines of one core each, made on this one (extra `ray`).

`python -m benchmarks.scale local [--items N] [--seconds S]` times the executor's own cost with one real
worker process and items that sleep. Each prints one JSON object.
"""

import argparse
import functools
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Self

from swequarry.ledger.keys import StageKey, StoredOutcome
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.process import ProcessMark
from swequarry.ledger.tallies import tally
from swequarry.outcome import Accepted
from swequarry.pipeline.crews.interface import Hand, Message, OpenCrew
from swequarry.pipeline.executor import ExecutorOptions, run_items
from swequarry.pipeline.worker import Finished, ItemStatus, WorkerSetup
from swequarry.records import ContentHash, sha256_hex

_SETTINGS = ContentHash("0" * 64)


def _rss_mb() -> float:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def _simulate(connection: Connection, location: str, run: int) -> None:
    """Be many workers: store one result and one ending for each item, and say so in batches."""
    ledger = Ledger.open(location)
    while (items := connection.recv()) is not None:
        for item in items:
            name = ContentHash(sha256_hex(item.encode()))
            key = StageKey(stage="simulated", version=1, input_hash=name, settings_hash=_SETTINGS)
            number = ledger.begin_attempt(key, item)
            done = StoredOutcome(item=item, outcome=Accepted(value={"hash": name}))
            ledger.record(key, [done], {"duration_s": 0.0}, attempt=number)
            ledger.settle(run, "simulated", done)
        connection.send(items)


@dataclass
class Swarm:
    """A crew of any number of workers, simulated by a few processes; see `Crew`."""

    setup: WorkerSetup
    hands: int
    processes: int
    run: int
    _all: list[Hand] = field(default_factory=list)
    _of: dict[str, Hand] = field(default_factory=dict)
    _outbox: list[str] = field(default_factory=list)
    _pipes: list[Connection] = field(default_factory=list)
    _free: list[Connection] = field(default_factory=list)

    def __enter__(self) -> Self:
        context = multiprocessing.get_context("spawn")
        for _ in range(self.processes):
            ours, theirs = context.Pipe()
            context.Process(target=_simulate, args=(theirs, self.setup.ledger, self.run), daemon=True).start()
            self._pipes.append(ours)
        self._free = list(self._pipes)
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    @property
    def busy(self) -> tuple[Hand, ...]:
        """Return those that have an item."""
        return tuple(self._of.values())

    @property
    def idle(self) -> tuple[Hand, ...]:
        """Return those that wait."""
        return tuple(hand for hand in self._all if hand.item is None)

    def fill(self, number: int) -> None:
        """Have more of them; they cost nothing."""
        for pid in range(len(self._all), min(number, self.hands)):
            self._all.append(Hand(mark=ProcessMark(host="simulated", pid=pid, birth=f"simulated/{pid}")))

    def give(self, hand: Hand, item: str, _portion: object) -> None:
        """Queue an item up for the processes."""
        hand.item = item
        self._of[item] = hand
        self._outbox.append(item)

    def listen(self, timeout_s: float) -> Iterator[tuple[Hand, Message]]:
        """Yield what the processes have finished."""
        while self._free and self._outbox:
            self._free.pop().send(self._outbox[:100])
            del self._outbox[:100]
        for ready in wait(self._pipes, timeout_s):
            assert isinstance(ready, Connection)
            self._free.append(ready)
            for item in ready.recv():
                yield self._of.pop(item), Finished(item=item, status=ItemStatus.DONE)

    def drop(self, hand: Hand) -> None:
        """Say that the driver lost patience: it never should."""
        raise RuntimeError(f"a simulated worker was dropped: {hand}")

    def stop(self) -> None:
        """End the processes."""
        for pipe in self._pipes:
            pipe.send(None)
        self._pipes.clear()


def swarm(given: argparse.Namespace) -> dict[str, Any]:
    """Run the swarm; return its figures."""
    ledger = Ledger.open(given.ledger)
    items = [f"owner__name-{number}" for number in range(given.items)]
    run = ledger.save_run({}, items)
    ended, memory = 0, []

    def on_progress(event: object) -> None:
        nonlocal ended
        ended = getattr(event, "ended", ended)
        if ended % max(1, given.items // 10) == 0:
            memory.append(_rss_mb())

    options = ExecutorOptions(
        workers=given.hands,
        lease_s=3600.0,
        open_crew=functools.partial(Swarm, hands=given.hands, processes=given.processes, run=run),
    )
    before, began = time.process_time(), time.perf_counter()
    report = run_items(items, _nothing, ledger, options, on_progress=on_progress)
    wall_s, driver_s = time.perf_counter() - began, time.process_time() - before
    began = time.perf_counter()
    found = tally(ledger, run)
    return {
        "items": len(report.ended),
        "hands": given.hands,
        "wall_s": round(wall_s, 1),
        "results_per_s": round(len(report.ended) / wall_s),
        "driver_ms_per_item": round(1000 * driver_s / given.items, 3),
        "driver_mb_first_and_last": [round(memory[0]), round(memory[-1])],
        "driver_peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "status_s": round(time.perf_counter() - began, 3),
        "counted": found.of_kind("accepted") if found else 0,
    }


def _nothing(_item: str) -> None:
    """Is never called: the swarm simulates it."""


def _busy(seconds: float, _item: str) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def nodes(given: argparse.Namespace) -> dict[str, Any]:
    """Run a batch on one and on two machines; return the times and their ratio."""
    import ray  # noqa: PLC0415 - an extra
    from ray.cluster_utils import Cluster  # noqa: PLC0415

    from swequarry.pipeline.crews.ray import RayCrew, RayOptions  # noqa: PLC0415

    store = 80 << 20
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": store})
    cluster.add_node(num_cpus=1, object_store_memory=store)
    ray.init(address=cluster.address, log_to_driver=False)
    crew = functools.partial(RayCrew, options=RayOptions())
    one = _batch(given, 1, crew)
    cluster.add_node(num_cpus=1, object_store_memory=store)
    two = _batch(given, 2, crew)
    ray.shutdown()
    cluster.shutdown()
    ideal = given.items * given.seconds
    return {
        "items": given.items,
        "seconds_each": given.seconds,
        "from_first_start_s": [round(one, 1), round(two, 1)],
        "speed_up": round(one / two, 2),
        "more_than_ideal_on_one_machine": round(one / ideal - 1, 3),
    }


def _batch(given: argparse.Namespace, machines: int, crew: OpenCrew) -> float:
    """Return the seconds of a batch from the start of its first item to the end of its last."""
    at: list[float] = []
    run_items(
        [f"{machines}-{number}" for number in range(given.items)],
        functools.partial(_busy, given.seconds),
        Ledger.open(given.ledger),
        ExecutorOptions(workers=machines, open_crew=crew),
        on_progress=lambda _event: at.append(time.perf_counter()),
    )
    return at[-1] - at[0]


def local(given: argparse.Namespace) -> dict[str, Any]:
    """Time the executor's own cost on this machine: real worker processes, items that sleep."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.open(given.ledger or Path(folder) / "ledger.sqlite")
        starts: list[float] = []
        items = [f"item-{number}" for number in range(given.items)]
        run_items(
            items,
            functools.partial(_sleep, given.seconds),
            ledger,
            ExecutorOptions(workers=1),
            on_progress=lambda _event: starts.append(time.perf_counter()),
        )
        took = starts[-1] - starts[0]
    return {
        "items": given.items,
        "seconds_each": given.seconds,
        "own_cost": round(took / (given.items * given.seconds) - 1, 4),
        "ms_per_item": round(1000 * (took / given.items - given.seconds), 2),
    }


def _sleep(seconds: float, _item: str) -> None:
    time.sleep(seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("swarm", "nodes", "local"))
    parser.add_argument("--ledger", help="a path, or the URL of an empty database")
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--hands", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    if given.ledger is None and given.what != "local":
        parser.error(f"{given.what} needs a ledger: --ledger PATH, or the URL of an empty database")
    print(json.dumps({"swarm": swarm, "nodes": nodes, "local": local}[given.what](given)))
    return 0


if __name__ == "__main__":
    from benchmarks.scale import main as importable_main  # work is pickled by the name of its module

    sys.exit(importable_main())
