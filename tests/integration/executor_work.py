"""What the executor tests run in worker processes, and a driver that can be killed as a whole."""

import contextlib
import errno
import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy

from swequarry.ledger.blobs import BlobStore
from swequarry.ledger.keys import StoredOutcome, StoredValue, outcome_from_json
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.tables import attempts, items, results
from swequarry.outcome import Accepted, Boundary, Failed, RejectCode, Rejected
from swequarry.pipeline.executor import ExecutorOptions, ItemEvent, ItemStatus, RunReport, run_items
from swequarry.pipeline.stage import Stage, StageContext, StageItem, run_stage
from swequarry.records import ContentHash, sha256_hex


def open_ledger(root: Path) -> Ledger:
    """Open the ledger of a folder: a file in it, or where its `ledger.url` says."""
    named = root / "ledger.url"
    return _open(named.read_text()) if named.exists() else Ledger.open(root / "ledger.sqlite")


@functools.cache
def _open(location: str) -> Ledger:
    return Ledger.open(location)


def workers_of(root: Path, item: str) -> set[int]:
    """Return the processes that tried an item."""
    with open_ledger(root).database.read() as connection:
        return set(connection.scalars(sqlalchemy.select(attempts.c.pid).where(attempts.c.item == item)))


def lacking() -> tuple[str, ...]:
    """Be a machine that can't do the work."""
    return ("no bubblewrap here",)


def note(root: Path, text: str) -> None:
    """Append a line in one write, so that killed and parallel writers can't mix theirs."""
    handle = os.open(root / "notes", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, f"{text}\n".encode())
    os.close(handle)


def notes(root: Path) -> list[str]:
    path = root / "notes"
    return path.read_text().splitlines() if path.exists() else []


@dataclass(frozen=True)
class Split:
    """Ends the item and two parts of it, with a blob each; slow enough to be killed in the middle."""

    root: Path
    seconds: float
    name = "split"
    version = 1
    settings_hash = ContentHash("0" * 64)

    def run(self, item: StageItem[str], context: StageContext) -> Sequence[StoredOutcome]:
        note(self.root, f"split {item.key}")
        parts = []
        for part in ("one", "two"):
            time.sleep(self.seconds / 2)
            blob = context.blobs.put(f"{item.value} {part}".encode() * 500)
            parts.append(StoredOutcome(item=f"{item.key}/{part}", outcome=Accepted(value={"blob": blob})))
        return [StoredOutcome(item=item.key, outcome=Accepted(value={"parts": 2})), *parts]


@dataclass(frozen=True)
class Judge:
    """Accepts or rejects by the item's hash."""

    root: Path
    seconds: float
    name = "judge"
    version = 1
    settings_hash = ContentHash("1" * 64)

    def run(self, item: StageItem[str], context: StageContext) -> Sequence[StoredOutcome]:
        time.sleep(self.seconds)
        context.log.info("judging %s", item.key)
        if int(item.input_hash[:2], 16) % 3:
            return [StoredOutcome(item=item.key, outcome=Accepted(value={"hash": item.input_hash}))]
        return [StoredOutcome(item=item.key, outcome=Rejected(code=RejectCode.UNSTABLE, message="m"))]


def two_stages(root: Path, seconds: float, item: str) -> ItemStatus:
    ledger, blobs = open_ledger(root), BlobStore(root / "blobs")
    stages: tuple[Stage[str], ...] = (Split(root, seconds), Judge(root, seconds))
    subject = StageItem(key=item, input_hash=ContentHash(sha256_hex(item.encode())), value=item)
    for stage in stages:
        result = run_stage(stage, subject, ledger, blobs, max_attempts=3)
        if not result.final:
            return ItemStatus.AGAIN
        match result.outcomes[0].outcome:
            case Rejected():
                return ItemStatus.REJECTED
            case Failed():
                return ItemStatus.FAILED
            case Accepted():
                pass
    return ItemStatus.ACCEPTED


@dataclass(frozen=True)
class Kill:
    """Kills its worker if the item says so."""

    root: Path
    name = "kill"
    version = 1
    settings_hash = ContentHash("2" * 64)

    def run(self, item: StageItem[str], context: StageContext) -> Sequence[StoredOutcome]:
        del context
        note(self.root, f"kill {item.key}")
        if item.key.startswith("poison") and not (self.root / "healed").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return [StoredOutcome(item=item.key, outcome=Accepted(value={}))]


def killing_stage(root: Path, item: str) -> ItemStatus:
    if item.startswith("outside"):
        os.kill(os.getpid(), signal.SIGKILL)
    ledger, blobs = open_ledger(root), BlobStore(root / "blobs")
    subject = StageItem(key=item, input_hash=ContentHash(sha256_hex(item.encode())), value=item)
    (stored,) = run_stage(Kill(root), subject, ledger, blobs, max_attempts=3).outcomes
    return ItemStatus.FAILED if isinstance(stored.outcome, Failed) else ItemStatus.ACCEPTED


@dataclass(frozen=True)
class Fill:
    """Stores 100 kB for an item, if there is space."""

    root: Path
    name = "fill"
    version = 1
    settings_hash = ContentHash("3" * 64)

    def run(self, item: StageItem[str], context: StageContext) -> Sequence[StoredOutcome]:
        if (self.root / "full").exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        blob = context.blobs.put(item.key.encode() * (100_000 // len(item.key)))
        return [StoredOutcome(item=item.key, outcome=Accepted(value={"blob": blob}))]


def filling(root: Path, item: str) -> ItemStatus:
    subject = StageItem(key=item, input_hash=ContentHash(sha256_hex(item.encode())), value=item)
    result = run_stage(Fill(root), subject, open_ledger(root), BlobStore(root / "blobs"), max_attempts=3)
    return ItemStatus.ACCEPTED if result.final else ItemStatus.AGAIN


def with_child(root: Path, item: str) -> None:
    """Start a long command, as a sandbox would be, and wait for it."""
    with subprocess.Popen(["sleep", "600"]) as child:
        note(root, f"child {child.pid}")
        try:
            child.wait()
        finally:
            note(root, f"cleaned up {item}")
            child.kill()


def raising(item: str) -> None:
    if item == "bad":
        raise LookupError("no such thing")


def child_signals(root: Path, item: str) -> None:
    """Tell which signals a command that a worker starts would ignore."""
    del item
    status = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True, check=True).stdout
    note(root, next(line for line in status.splitlines() if line.startswith("SigIgn")))


def printing(item: str) -> None:
    sys.stdout.write(f"noise about {item}\n")
    sys.stdout.flush()


def content(root: Path) -> list[tuple[Any, ...]]:
    """Return all that was decided, as rows."""
    with open_ledger(root).database.read() as connection:
        return [
            tuple(row)
            for table in (results, items)
            for row in connection.execute(sqlalchemy.select(table).order_by(*table.primary_key))
        ]


def outcomes(root: Path, item: str) -> list[StoredValue]:
    """Return the stored outcomes of an item."""
    with open_ledger(root).database.read() as connection:
        found = connection.scalars(sqlalchemy.select(items.c.outcome).where(items.c.item == item))
        return [outcome_from_json(json.loads(text)) for text in found]


def run(root: Path, names: Sequence[str], seconds: float, options: ExecutorOptions, **more: Any) -> RunReport:
    work = functools.partial(two_stages, root, seconds)
    return run_items(names, work, open_ledger(root), options, **more)


def full_disk(root: Path) -> None:
    """Fill the disk that `root` is, run, make space, run again; raise if anything isn't as it should be."""
    names = [f"item-{number}" for number in range(6)]
    ledger = open_ledger(root)
    ballast = root / "ballast"
    with ballast.open("wb", buffering=0) as handle, contextlib.suppress(OSError):
        while True:
            handle.write(bytes(4096))
    os.truncate(ballast, ballast.stat().st_size - 400 * 1024)
    work = functools.partial(filling, root)
    report = run_items(names, work, ledger, ExecutorOptions(workers=1))
    assert "no space left" in (report.halted or "")
    assert report.unfinished
    assert {failed.boundary for failed in report.failures.values()} <= {Boundary.STORAGE}
    ballast.unlink()
    report = run_items(names, work, ledger, ExecutorOptions(workers=1))
    assert (sorted(report.ended), report.halted, report.unfinished) == (names, None, ())
    assert all(len(outcomes(root, name)) == 1 for name in names)
    sys.stdout.write("the same command went on\n")


def _print_event(event: ItemEvent) -> None:
    sys.stdout.write(f"{event.item} {event.status.value}\n")
    sys.stdout.flush()


def main() -> int:
    """Be a driver: `executor_work.py ROOT WORK SECONDS WORKERS ITEM...`."""
    root, name, seconds, workers, *names = sys.argv[1:]
    if name == "full_disk":
        full_disk(Path(root))
        return 0
    functions = {
        "two_stages": functools.partial(two_stages, Path(root), float(seconds)),
        "with_child": functools.partial(with_child, Path(root)),
        "printing": printing,
    }
    lease_s = float(os.environ.get("TEST_LEASE_S", "3600"))
    options = ExecutorOptions(workers=int(workers), lease_s=lease_s, logs=Path(root) / "logs")
    report = run_items(names, functions[name], open_ledger(Path(root)), options, on_progress=_print_event)
    sys.stdout.write(f"ended {len(report.ended)} unfinished {len(report.unfinished)}\n")
    return 130 if report.interrupted else 0


if __name__ == "__main__":
    # Work is pickled by module name, and in a worker `__main__` is another module.
    from executor_work import main as importable_main

    sys.exit(importable_main())
