"""Real processes, killed at seeded random moments. Leases are long: nobody may wait for those of the dead."""

import functools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import executor_work
import pytest

from swequarry.ledger.process import is_gone
from swequarry.outcome import Accepted, Boundary, Failed
from swequarry.pipeline.executor import ExecutorOptions, ItemStatus, RunReport, run_items

ITEMS = [f"owner__repo-{number}" for number in range(8)]
SECONDS = 0.15
DRIVER = Path(executor_work.__file__)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, ...]]:
    root = tmp_path_factory.mktemp("undisturbed")
    report = executor_work.run(root, ITEMS, 0.0, ExecutorOptions(in_process=True))
    assert report.ended.keys() == set(ITEMS)
    return executor_work.content(root)


def start_driver(
    root: Path, *items: str, work: str = "two_stages", workers: int = 2, seconds: float = SECONDS
):
    argv = [sys.executable, str(DRIVER), str(root), work, str(seconds), str(workers), *items]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=DRIVER.parent)


@pytest.mark.parametrize("seed", [1])
def test_workers_killed_at_random_moments_change_no_result(
    tmp_path: Path, undisturbed: list[tuple[object, ...]], seed: int
) -> None:
    rng, ended, killed = random.Random(seed), threading.Event(), Counter[str]()
    ledger = executor_work.open_ledger(tmp_path)

    def killer() -> None:
        while not ended.wait(rng.uniform(0.02, 0.4)):
            # An item is let live after one death: twice is poison, another test.
            held = {item: mark for item, mark in ledger.leases.held("line").items() if not killed[item]}
            if held:
                item = rng.choice(sorted(held))
                killed[item] += 1
                if not is_gone(held[item]):
                    os.kill(held[item].pid, signal.SIGKILL)

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        report = executor_work.run(tmp_path, ITEMS, SECONDS, ExecutorOptions(workers=2))
    finally:
        ended.set()
        thread.join()
    assert killed.total() >= 3
    assert (report.failures, report.unfinished) == ({}, ())
    assert executor_work.content(tmp_path) == undisturbed


def test_killed_drivers_change_no_result_and_leave_nobody_at_work(
    tmp_path: Path, undisturbed: list[tuple[object, ...]]
) -> None:
    rng = random.Random(20)
    for _ in range(3):
        driver = start_driver(tmp_path, *ITEMS)
        assert driver.stdout is not None
        driver.stdout.readline()  # a first item has started
        time.sleep(rng.uniform(0, 0.8))
        driver.kill()
        driver.communicate()
        holders = executor_work.open_ledger(tmp_path).leases.held("line").values()
        deadline = time.monotonic() + 10
        while not all(is_gone(mark) for mark in holders) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert all(is_gone(mark) for mark in holders)
    last = start_driver(tmp_path, *ITEMS)
    output = last.communicate()[0]
    assert last.returncode == 0, output
    assert executor_work.content(tmp_path) == undisturbed
    assert executor_work.open_ledger(tmp_path).close_orphans() == 0


def test_second_run_of_the_same_command_does_no_work(tmp_path: Path) -> None:
    for options in (ExecutorOptions(workers=2), ExecutorOptions(in_process=True)):
        report = executor_work.run(tmp_path, ITEMS[:3], 0.0, options)
        assert set(report.ended.values()) <= {ItemStatus.ACCEPTED, ItemStatus.REJECTED}
    assert sorted(executor_work.notes(tmp_path)) == [f"split {item}" for item in sorted(ITEMS[:3])]


def test_two_drivers_at_once_do_each_item_once_and_both_see_all(
    tmp_path: Path, undisturbed: list[tuple[object, ...]]
) -> None:
    drivers = [start_driver(tmp_path, *items) for items in (ITEMS, ITEMS[::-1])]
    outputs = [driver.communicate()[0] for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0]
    assert all(f"ended {len(ITEMS)} unfinished 0" in output for output in outputs)
    assert Counter(executor_work.notes(tmp_path)) == Counter(f"split {item}" for item in ITEMS)
    assert executor_work.content(tmp_path) == undisturbed


def killing_run(root: Path, *items: str) -> RunReport:
    work = functools.partial(executor_work.killing_stage, root)
    return run_items(items, work, executor_work.open_ledger(root), ExecutorOptions(workers=1))


def test_item_that_kills_its_worker_twice_fails_alone_and_until_retry(tmp_path: Path) -> None:
    ledger = executor_work.open_ledger(tmp_path)
    for words in ("the last by SIGKILL", "2 workers died on it"):  # the same command lets poison lie
        report = killing_run(tmp_path, "a", "poison", "outside", "b")
        assert report.ended == {
            "a": ItemStatus.ACCEPTED,
            "b": ItemStatus.ACCEPTED,
            "poison": ItemStatus.FAILED,  # died inside a stage: the stage's result says so
        }
        failed = report.failures["outside"]  # died outside any: the report says so
        assert (failed.boundary, failed.retryable) == (Boundary.WORKER, False)
        assert words in failed.message
        assert Counter(executor_work.notes(tmp_path))["kill poison"] == 2
        ledger.reopen_failed()
    (poisoned,) = executor_work.outcomes(tmp_path, "poison")
    assert isinstance(poisoned, Failed)
    assert (poisoned.boundary, poisoned.retryable) == (Boundary.WORKER, False)
    assert "poison: 2 workers died on it, the last by SIGKILL" in poisoned.message
    (tmp_path / "healed").touch()
    ledger.reopen_failed(also_final=True, only=["poison"])
    assert killing_run(tmp_path, "poison").ended == {"poison": ItemStatus.ACCEPTED}
    (healed,) = executor_work.outcomes(tmp_path, "poison")
    assert isinstance(healed, Accepted)
