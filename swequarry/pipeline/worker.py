"""The worker process: takes items from its driver one at a time, and dies with it.

It is started by `spawn`, leads a session of its own (a ^C at the terminal reaches the driver only, not the
commands that the worker runs) and ends with its driver, so that a killed driver leaves nobody at work.
"""

import ctypes
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, TypeAlias, runtime_checkable

from swequarry.errors import StorageError, StorageLostError
from swequarry.ledger.blobs import is_disk_full
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.process import ProcessMark
from swequarry.ledger.steady import steady
from swequarry.outcome import Failed
from swequarry.pipeline.item_log import item_log
from swequarry.pipeline.stage import failure_of

_PR_SET_PDEATHSIG = 1  # prctl(2)
HEARTBEATS = 3
"""How often a lease is renewed while it lasts."""
_LOG = logging.getLogger("swequarry.worker")


class ItemStatus(StrEnum):
    """What an executor says about an item; AGAIN asks for another go later in the same run."""

    STARTED = "started"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    FAILED = "failed"
    DONE = "done"
    AGAIN = "again"
    HELD = "held"


Work: TypeAlias = Callable[[str], ItemStatus | None]
"""What to do with an item. Returns how it ended (None: done); a function that can be pickled."""


@runtime_checkable
class Portioned(Protocol):
    """Work that knows something of each item: a worker is told that with the item, not all at its start."""

    def bare(self) -> Work:
        """Return the work without what it knows of items."""

    def portion(self, item: str) -> object:
        """Return what it knows of an item; can be pickled."""

    def given(self, item: str, portion: Any) -> Work:
        """Return this work, knowing an item's portion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSetup:
    """What a worker needs to know; can be pickled. Times in seconds."""

    work: Work
    ledger: str
    scope: str
    lease_s: float
    logs: Path | None
    driver_pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The worker stands and waits for an item."""

    mark: ProcessMark


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """An item came to an end in a living worker; `disk_full` asks the driver to start nothing more."""

    item: str
    status: ItemStatus
    failed: Failed | None = None
    disk_full: bool = False


def run_item(work: Work, item: str, logs: Path | None) -> Finished:
    """Run one item; whatever `work` raises, short of a request to stop, becomes a failure."""
    try:
        with item_log(logs, item):
            try:
                return Finished(item=item, status=work(item) or ItemStatus.DONE)
            except StorageLostError as error:  # says nothing about the item
                _LOG.warning("%s waits: %s", item, error)
                return Finished(item=item, status=ItemStatus.AGAIN)
            except Exception as error:  # noqa: BLE001 - whatever it was, it is one item's failure
                _LOG.exception("work on %s broke", item)
                return _failure(item, error)
    except OSError as error:  # the log itself can't be written
        return _failure(item, error)


def _failure(item: str, error: Exception) -> Finished:
    return Finished(
        item=item, status=ItemStatus.FAILED, failed=failure_of(error), disk_full=is_disk_full(error)
    )


@contextmanager
def heartbeat(ledger: Ledger, scope: str, item: str, lease_s: float) -> Iterator[None]:
    """Renew the lease of this process on an item in a thread while the block runs."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(lease_s / HEARTBEATS):
            try:
                if not ledger.leases.renew(scope, item, ledger.process, lease_s=lease_s):
                    _LOG.warning("the lease on %s was taken over; the first result stays", item)
                    return
            except StorageError as error:
                _LOG.warning("the lease on %s can't be renewed: %s", item, error)

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _die_with(driver_pid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != driver_pid:  # it died before the line above
        os._exit(1)


def _stop_now(_number: int, _frame: FrameType | None) -> None:
    sys.exit(1)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """A handler, since SIG_IGN would be inherited by the commands that the worker runs."""


def leave_none_ignored() -> None:
    """Let commands have every signal as tests expect it, also under nohup and in the background of a script.

    Those make us ignore SIGHUP, SIGINT and SIGQUIT, and what is ignored is inherited. Python's own two are
    restored where a command is started.
    """
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _ignore)


def serve(connection: Connection, setup: WorkerSetup) -> None:
    """Be a worker until the driver sends None or is gone."""
    os.setsid()
    _die_with(setup.driver_pid)
    os.dup2(2, 1)  # stdout belongs to what the driver's command prints
    logging.getLogger().setLevel(logging.INFO)  # for the items' logs; no other handler is set here
    leave_none_ignored()
    signal.signal(signal.SIGINT, _ignore)
    signal.signal(signal.SIGTERM, _stop_now)
    ledger = steady(Ledger.open)(setup.ledger)  # it may be started while the server is away
    with suppress(BrokenPipeError):  # the driver closed its end: it needs no more
        connection.send(Ready(mark=ledger.process))
        while (order := _receive(connection)) is not None:
            item, portion = order
            work = setup.work.given(item, portion) if isinstance(setup.work, Portioned) else setup.work
            with heartbeat(ledger, setup.scope, item, setup.lease_s):
                finished = run_item(work, item, setup.logs)
            connection.send(finished)


def _receive(connection: Connection) -> tuple[str, object] | None:
    try:
        order: tuple[str, object] | None = connection.recv()
    except (EOFError, OSError):
        return None
    return order
