"""Workers on two machines of a Ray cluster, with a ledger that both reach."""

import contextlib
import functools
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import executor_work
import pytest
from postgres_server import PostgresServer

from swequarry.config import parse_settings
from swequarry.errors import ConfigError, WorkerError
from swequarry.outcome import Boundary, Failed
from swequarry.pipeline.crews.ray import RayCrew, RayOptions
from swequarry.pipeline.executor import ExecutorOptions, ItemEvent, ItemStatus, RunReport, run_items

ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")
pytestmark = [pytest.mark.postgres, pytest.mark.timeout(180)]
ITEMS = [f"owner__repo-{number}" for number in range(8)]
_STORE_BYTES = 80 << 20


def add_node(cluster: Any) -> Any:
    return cluster.add_node(num_cpus=1, object_store_memory=_STORE_BYTES)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Start a head without work and two machines of one core each."""
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        folders = [str(Path(executor_work.__file__).parent), os.environ.get("PYTHONPATH", "")]
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, folders)))  # what the machines can import
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        started = cluster_utils.Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 0,
                "object_store_memory": _STORE_BYTES,
                "include_dashboard": False,
            },
        )
        stack.callback(started.shutdown)
        for _ in range(2):
            add_node(started)
        ray.init(address=started.address, log_to_driver=False)
        stack.callback(ray.shutdown)
        yield started


@pytest.fixture
def place(tmp_path: Path, postgres: PostgresServer) -> Path:
    """Return the folder of a run whose ledger lies in Postgres; see `executor_work.open_ledger`."""
    (tmp_path / "ledger.url").write_text(postgres.database())
    return tmp_path


def run(root: Path, work: Any, items: list[str], lease_s: float = 60.0, **more: Any) -> RunReport:
    check = more.pop("check", None)
    options = ExecutorOptions(
        workers=1000,
        lease_s=lease_s,
        logs=root / "logs",
        open_crew=functools.partial(RayCrew, options=RayOptions(check=check)),
    )
    return run_items(items, work, executor_work.open_ledger(root), options, **more)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, ...]]:
    root = tmp_path_factory.mktemp("undisturbed")
    executor_work.run(root, ITEMS, 0.0, ExecutorOptions(in_process=True))
    return executor_work.content(root)


def test_two_machines_do_each_item_once_with_the_results_of_one_process(
    cluster: Any, place: Path, undisturbed: list[tuple[object, ...]]
):
    work = functools.partial(executor_work.two_stages, place, 0.05)
    report = run(place, work, ITEMS)
    assert (report.ended.keys(), report.failures, report.unfinished) == (set(ITEMS), {}, ())
    assert executor_work.content(place) == undisturbed
    assert Counter(executor_work.notes(place)) == Counter(f"split {item}" for item in ITEMS)
    assert len({note for item in ITEMS for note in executor_work.workers_of(place, item)}) == 2


def test_item_that_kills_its_worker_twice_is_put_aside_with_how_and_its_last_lines(cluster: Any, place: Path):
    work = functools.partial(executor_work.killing_stage, place)
    report = run(place, work, ["a", "poison", "outside", "b"])
    assert report.ended == {
        "a": ItemStatus.ACCEPTED, "b": ItemStatus.ACCEPTED, "poison": ItemStatus.FAILED
    }  # fmt: skip
    assert report.failures["outside"].boundary is Boundary.WORKER
    (poisoned,) = executor_work.outcomes(place, "poison")
    assert isinstance(poisoned, Failed)
    assert poisoned.evidence == ("death 1: SIGKILL", "death 2: SIGKILL")
    assert Counter(executor_work.notes(place))["kill poison"] == 2


def test_machine_that_is_lost_costs_time_and_one_that_is_added_gets_work(
    cluster: Any, place: Path, undisturbed: list[tuple[object, ...]]
):
    extra = add_node(cluster)
    events: list[ItemEvent] = []

    def on_progress(event: ItemEvent) -> None:
        events.append(event)
        started = sum(one.status is ItemStatus.STARTED for one in events)
        if event.status is ItemStatus.STARTED and started == len(ITEMS) // 2:
            cluster.remove_node(extra, allow_graceful=False)
            add_node(cluster)

    work = functools.partial(executor_work.two_stages, place, 1.0)
    report = run(place, work, ITEMS, on_progress=on_progress)
    assert ItemStatus.AGAIN in {event.status for event in events}
    assert (report.ended.keys(), report.failures, report.unfinished) == (set(ITEMS), {}, ())
    assert executor_work.content(place) == undisturbed


def test_first_signal_finishes_what_runs_on_every_machine(cluster: Any, place: Path):
    events: list[ItemEvent] = []

    def on_progress(event: ItemEvent) -> None:
        events.append(event)
        if sum(one.status is ItemStatus.STARTED for one in events) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    work = functools.partial(executor_work.two_stages, place, 0.5)
    report = run(place, work, ITEMS, on_progress=on_progress)
    assert report.interrupted
    started = [event.item for event in events if event.status is ItemStatus.STARTED]
    assert sorted(report.ended) == sorted(started)
    assert len(report.unfinished) == len(ITEMS) - len(started) > 0


def test_second_signal_stops_now_and_leaves_no_lease(cluster: Any, place: Path):
    def stop() -> None:
        while not executor_work.notes(place):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop).start()
    report = run(place, functools.partial(executor_work.with_child, place), ["a", "b"])
    assert (report.interrupted, sorted(report.unfinished)) == (True, ["a", "b"])
    assert executor_work.open_ledger(place).leases.held("line") == {}
    for note in executor_work.notes(place):
        if note.startswith("child"):
            assert not Path(f"/proc/{note.split()[1]}/cmdline").exists()


def test_machines_that_lack_something_get_no_work_and_say_why(cluster: Any, place: Path):
    with pytest.raises(WorkerError, match="no bubblewrap here"):
        run(place, executor_work.raising, ["a"], check=executor_work.lacking)


def test_cluster_needs_a_ledger_and_blobs_that_all_machines_reach():
    with pytest.raises(ConfigError, match="all machines reach"):
        parse_settings({"executor": {"kind": "ray"}})
