"""What dies on the way changes no result: real processes and services, each disturbed in its own way.

Machines of a cluster that go and come are in `test_executor_ray`, killed workers and drivers in
`test_executor_kills`, full disks in `test_executor_stops`, an object store that fails in `test_remote_blobs`.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import executor_work
import pytest
from postgres_server import PostgresServer

from swequarry.ledger.steady import steady
from swequarry.pipeline.executor import ExecutorOptions, ItemEvent, ItemStatus

ITEMS = [f"owner__repo-{number}" for number in range(6)]
DRIVER = Path(executor_work.__file__)
LEASE_S = 3.0
pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, ...]]:
    root = tmp_path_factory.mktemp("undisturbed")
    executor_work.run(root, ITEMS, 0.0, ExecutorOptions(in_process=True))
    return executor_work.content(root)


@contextlib.contextmanager
def driver(root: Path, seconds: float, workers: int = 1) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, str(DRIVER), str(root), "two_stages", str(seconds), str(workers), *ITEMS]
    environ = {**os.environ, "TEST_LEASE_S": str(LEASE_S)}
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, text=True, cwd=DRIVER.parent, env=environ, process_group=0
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def first_holder(root: Path) -> int:
    """Wait until a worker has an item; return its process."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for mark in executor_work.open_ledger(root).leases.held("line").values():
            return mark.pid
        time.sleep(0.05)
    raise AssertionError("no worker took an item")


def test_frozen_worker_is_replaced_by_its_own_driver(tmp_path: Path, undisturbed: list[tuple[object, ...]]):
    frozen: list[int] = []

    def on_progress(event: ItemEvent) -> None:
        if event.status is ItemStatus.STARTED and not frozen:
            frozen.append(first_holder(tmp_path))
            while not executor_work.notes(tmp_path):  # it is in its stage, with no transaction open
                time.sleep(0.05)
            os.kill(frozen[0], signal.SIGSTOP)

    options = ExecutorOptions(workers=2, lease_s=LEASE_S)
    report = executor_work.run(tmp_path, ITEMS, 1.0, options, on_progress=on_progress)
    assert frozen
    assert (report.ended.keys(), report.failures, report.unfinished) == (set(ITEMS), {}, ())
    assert executor_work.content(tmp_path) == undisturbed


@pytest.mark.postgres
def test_driver_that_is_frozen_past_its_leases_and_woken_changes_nothing(
    tmp_path: Path, postgres: PostgresServer, undisturbed: list[tuple[object, ...]]
):
    (tmp_path / "ledger.url").write_text(postgres.database())
    with driver(tmp_path, 1.0) as first:
        worker = first_holder(tmp_path)
        while not executor_work.notes(tmp_path):
            time.sleep(0.05)
        for pid in (first.pid, worker):
            os.kill(pid, signal.SIGSTOP)
        with driver(tmp_path, 0.1) as second:
            # On one machine a stopped process is alive, so that only the deadline frees its item.
            output = second.communicate(timeout=120)[0]
            assert "ended 6 unfinished 0" in output
        for pid in (worker, first.pid):
            os.kill(pid, signal.SIGCONT)
        assert "ended 6 unfinished 0" in first.communicate(timeout=120)[0]
    assert executor_work.content(tmp_path) == undisturbed
    assert executor_work.open_ledger(tmp_path).leases.held("line") == {}


@pytest.mark.postgres
def test_restart_of_the_ledgers_server_costs_no_item(
    tmp_path: Path, postgres: PostgresServer, undisturbed: list[tuple[object, ...]]
):
    (tmp_path / "ledger.url").write_text(postgres.database())
    with driver(tmp_path, 0.5, workers=2) as child:
        first_holder(tmp_path)
        for number in (signal.SIGINT, signal.SIGQUIT):  # shut down in order, then fall over
            postgres.stop(number)
            time.sleep(0.5)
            postgres.start()
            time.sleep(0.5)
        output = child.communicate(timeout=150)[0]
    assert "ended 6 unfinished 0" in output, output
    assert steady(executor_work.content)(tmp_path) == undisturbed


@pytest.mark.postgres
def test_two_drivers_on_one_server_do_each_item_once(
    tmp_path: Path, postgres: PostgresServer, undisturbed: list[tuple[object, ...]]
):
    (tmp_path / "ledger.url").write_text(postgres.database())
    outputs: list[str] = []

    def follow() -> None:
        with driver(tmp_path, 0.1) as child:
            outputs.append(child.communicate(timeout=120)[0])

    threads = [threading.Thread(target=follow) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("ended 6 unfinished 0" in output for output in outputs)
    assert executor_work.content(tmp_path) == undisturbed
    assert Counter(executor_work.notes(tmp_path)) == Counter(f"split {item}" for item in ITEMS)
