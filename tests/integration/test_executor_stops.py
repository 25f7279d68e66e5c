"""Signals, full disks and workers that can't be had."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import executor_work
import pytest

from swequarry.errors import WorkerError
from swequarry.ledger.leases import LeaseState
from swequarry.ledger.process import ProcessMark, own_mark
from swequarry.outcome import Boundary
from swequarry.pipeline.executor import ExecutorOptions, ItemEvent, ItemStatus, run_items
from swequarry.pipeline.item_log import log_path

DRIVER = Path(executor_work.__file__)


@contextlib.contextmanager
def driver(root: Path, work: str, seconds: float, *items: str) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, str(DRIVER), str(root), work, str(seconds), "1", *items]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, text=True, cwd=DRIVER.parent, process_group=0
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def await_note(root: Path, start: str) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for line in executor_work.notes(root):
            if line.startswith(start):
                return line
        time.sleep(0.05)
    raise AssertionError(f"no note {start!r} in {executor_work.notes(root)}")


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_signal_finishes_what_runs_and_starts_no_more(tmp_path: Path, number: signal.Signals) -> None:
    with driver(tmp_path, "two_stages", 1.0, "a", "b", "c") as child:
        await_note(tmp_path, "split a")
        os.killpg(child.pid, number)  # as a terminal does: to all of the group
        output = child.communicate()[0]
    assert child.returncode == 130, output
    assert "ended 1 unfinished 2" in output
    assert executor_work.notes(tmp_path) == ["split a"]
    report = executor_work.run(tmp_path, ["a", "b", "c"], 0.0, ExecutorOptions(in_process=True))
    assert sorted(report.ended) == ["a", "b", "c"]
    assert executor_work.notes(tmp_path) == ["split a", "split b", "split c"]


def test_second_signal_stops_now_with_clean_up_and_nothing_left_alive(tmp_path: Path) -> None:
    with driver(tmp_path, "with_child", 0, "a", "b") as child:
        pid = int(await_note(tmp_path, "child").split()[1])
        child.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert is_running(pid)
        child.send_signal(signal.SIGINT)
        output = child.communicate(timeout=30)[0]
    assert child.returncode == 130
    assert "ended 0 unfinished 2" in output
    assert "cleaned up a" in executor_work.notes(tmp_path)
    assert not is_running(pid)
    ledger = executor_work.open_ledger(tmp_path)
    assert ledger.leases.acquire("line", "a", own_mark(), lease_s=1) is LeaseState.TAKEN
    assert ledger.leases.report_death("line", "a", own_mark()) == 1  # the stop wasn't counted against it


def test_stop_event_of_the_caller_drains(tmp_path: Path) -> None:
    stop = threading.Event()

    def on_progress(event: ItemEvent) -> None:
        if event.status is ItemStatus.STARTED:
            stop.set()

    report = executor_work.run(
        tmp_path, ["a", "b"], 0.0, ExecutorOptions(workers=1), on_progress=on_progress, stop_event=stop
    )
    assert (list(report.ended), report.unfinished, report.interrupted) == (["a"], ("b",), True)


def test_commands_that_a_worker_runs_ignore_no_signal(tmp_path: Path) -> None:
    work = functools.partial(executor_work.child_signals, tmp_path)
    run_items(["a"], work, executor_work.open_ledger(tmp_path), ExecutorOptions(workers=1))
    ignored = int(executor_work.notes(tmp_path)[0].split()[1], 16)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        assert not ignored & (1 << (number - 1))


def test_output_of_a_worker_never_mixes_with_the_data_on_stdout(tmp_path: Path) -> None:
    with driver(tmp_path, "printing", 0, "a") as child:
        output = child.communicate()[0]
    assert output.splitlines() == ["a started", "a done", "ended 1 unfinished 0"]


def test_worker_that_cannot_start_is_an_error_not_a_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "here_only.py"
    module.write_text("def work(item):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    import here_only

    module.unlink()
    with pytest.raises(WorkerError, match="died before they took an item"):
        run_items(["a"], here_only.work, executor_work.open_ledger(tmp_path), ExecutorOptions(workers=1))


@pytest.mark.parametrize("in_process", [True, False])
def test_work_that_raises_fails_its_item_only_and_says_so_in_its_log(
    tmp_path: Path, in_process: bool
) -> None:
    logs, events = tmp_path / "logs", []
    report = run_items(
        ["a", "bad", "b", "a"],
        executor_work.raising,
        executor_work.open_ledger(tmp_path),
        ExecutorOptions(workers=1, logs=logs, in_process=in_process),
        on_progress=events.append,
    )
    assert report.ended == {"a": ItemStatus.DONE, "b": ItemStatus.DONE}
    assert report.failures["bad"].boundary is Boundary.INTERNAL
    assert "LookupError: no such thing" in log_path(logs, "bad").read_text()
    assert [(event.item, event.status.value, event.ended, event.total) for event in events] == [
        ("a", "started", 0, 3),
        ("a", "done", 1, 3),
        ("bad", "started", 1, 3),
        ("bad", "failed", 2, 3),
        ("b", "started", 2, 3),
        ("b", "done", 3, 3),
    ]


def test_item_of_another_machine_is_waited_for(tmp_path: Path) -> None:
    ledger = executor_work.open_ledger(tmp_path)
    elsewhere = ProcessMark(host="another-machine", pid=1, birth="boot/pid:[1]/7")
    ledger.leases.acquire("line", "a", elsewhere, lease_s=1.0)
    events: list[ItemEvent] = []
    options = ExecutorOptions(in_process=True)
    report = run_items(["a", "bad"], executor_work.raising, ledger, options, on_progress=events.append)
    assert list(report.ended) == ["a"]
    assert [(e.item, e.status.value) for e in events] == [
        ("a", "held"),
        ("bad", "started"),
        ("bad", "failed"),
        ("a", "started"),
        ("a", "done"),
    ]


def test_item_that_always_wants_another_go_comes_to_an_end(tmp_path: Path) -> None:
    report = run_items(
        ["a"],
        lambda _item: ItemStatus.AGAIN,
        executor_work.open_ledger(tmp_path),
        ExecutorOptions(in_process=True, retry_delay_s=0.0),
    )
    assert "another go" in report.failures["a"].message


def test_full_disk_stops_new_work_with_a_message_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """On a disk of 3 MB in a mount namespace of its own; a user namespace lets an ordinary user mount it."""
    enter = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    mount = 'mount -t tmpfs -o size=3m small-disk "$1" || exit 77; exec "$2" "$3" "$1" full_disk 0 1'
    argv = [*enter, "sh", "-c", mount, "sh", str(tmp_path), sys.executable, str(DRIVER)]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=DRIVER.parent, check=False)
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"no mount namespace here, so no small disk: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert "the same command went on" in done.stdout


def test_faked_full_disk_halts_after_one_item(tmp_path: Path) -> None:
    ledger = executor_work.open_ledger(tmp_path)
    options = ExecutorOptions(in_process=True)
    (tmp_path / "full").touch()
    work = functools.partial(executor_work.filling, tmp_path)
    report = run_items(["a", "b"], work, ledger, options)
    assert (list(report.failures), report.unfinished) == (["a"], ("b",))
    assert report.failures["a"].boundary is Boundary.STORAGE
    assert "no space left" in (report.halted or "")
    (tmp_path / "full").unlink()
    report = run_items(["a", "b"], work, ledger, options)
    assert (sorted(report.ended), report.halted) == (["a", "b"], None)
