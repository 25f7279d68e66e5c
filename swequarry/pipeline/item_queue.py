"""The items of one run: which may start, which wait, how each ended."""

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from swequarry.errors import DiskFullError, StorageError
from swequarry.ledger.leases import LeaseState
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.process import ProcessMark
from swequarry.outcome import Boundary, Failed
from swequarry.pipeline.worker import Finished, ItemStatus

_HELD_POLL_S = 0.5
_MAX_ROUNDS = 20
_LOG = logging.getLogger("swequarry.executor")


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemEvent:
    """Something happened to an item; `ended` of `total` items have come to their end."""

    item: str
    status: ItemStatus
    ended: int
    total: int
    failed: Failed | None = None


@dataclass(slots=True)
class RunReport:
    """What came of the items: each is in exactly one of `ended`, `failures` and `unfinished`.

    `ended` came back from the work with a status; `failures` broke outside any stage (the work raised, or it
    is poison). `halted` says why no new work was started (no space left).
    """

    ended: dict[str, ItemStatus] = field(default_factory=dict)
    failures: dict[str, Failed] = field(default_factory=dict)
    unfinished: tuple[str, ...] = ()
    interrupted: bool = False
    halted: str | None = None


class Admission(Enum):
    """Whether an item may start: now, perhaps when others have ended, or never."""

    NOW = "now"
    LATER = "later"
    NEVER = "never"


class Gate(Protocol):
    """Decides which items are worth their cost. Of items that wait some other is at work, or may start."""

    def ask(self, item: str) -> Admission:
        """Whether an item may start."""

    def ended(self, item: str) -> None:
        """Take note that an item has its end.

        Raises:
            StorageError: how it ended can't be read.
        """

    def spare(self, item: str) -> None:
        """Write down that an item never starts.

        Raises:
            StorageError: that can't be written.
        """


class OpenGate:
    """Lets everything in."""

    def ask(self, _item: str) -> Admission:
        """Let it start."""
        return Admission.NOW

    def ended(self, _item: str) -> None:
        """Nothing follows from it."""

    def spare(self, _item: str) -> None:
        """Never happens."""


Progress = Callable[[ItemEvent], None]


def ignore_progress(_event: ItemEvent) -> None:
    """Tell nobody."""


def poison(deaths: int, hows: Sequence[str] = ()) -> Failed:
    """Return the failure of an item that took its workers down; `hows` are of the deaths that were seen."""
    last = f", the last by {hows[-1]}" if hows else ""
    return Failed(
        boundary=Boundary.WORKER,
        message=f"poison: {deaths} workers died on it{last}; `swequarry retry` tries it again",
        retryable=False,
        evidence=tuple(f"death {number}: {how}" for number, how in enumerate(hows, start=1)),
    )


@dataclass(slots=True)
class ItemQueue:
    """Items in the order given; held and retried ones come back later. For one thread."""

    items: Sequence[str]
    ledger: Ledger
    scope: str
    lease_s: float
    max_deaths: int
    on_progress: Progress
    retry_delay_s: float = 2.0
    gate: Gate = field(default_factory=OpenGate)
    report: RunReport = field(default_factory=RunReport)
    _ready: deque[str] = field(default_factory=deque)
    _later: dict[str, float] = field(default_factory=dict)
    _rounds: dict[str, int] = field(default_factory=dict)
    _held: set[str] = field(default_factory=set)
    _gated: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.items = tuple(dict.fromkeys(self.items))
        self._ready.extend(self.items)

    @property
    def waiting(self) -> int:
        """How many items haven't started."""
        return len(self._ready) + len(self._later) + len(self._gated)

    @property
    def more(self) -> bool:
        """Whether an item may start, now or later."""
        return self.waiting > 0 and self.report.halted is None

    def lease(self, mark: ProcessMark) -> str | None:
        """Return the next item that may start now, leased to a process; None if there is none."""
        taken = self.lease_many((mark,))
        return taken[0][1] if taken else None

    def lease_many(self, marks: Sequence[ProcessMark]) -> list[tuple[ProcessMark, str]]:
        """Return the next items that may start now, each leased to one of these processes."""
        now = time.monotonic()
        for item in [item for item, due in self._later.items() if due <= now]:
            del self._later[item]
            self._ready.append(item)
        taken: list[tuple[ProcessMark, str]] = []
        free = deque(marks)
        while free and (asked := self._let_some_in(len(free))):
            wanted = {item: free.popleft() for item in asked}
            states = self._acquire(wanted)
            if states is None:
                self._ready.extendleft(reversed(asked))
                return taken
            for item, mark in wanted.items():
                if states[item] is LeaseState.TAKEN:
                    self._held.discard(item)
                    taken.append((mark, item))
                    continue
                free.append(mark)
                if states[item] is LeaseState.HELD:
                    self._wait_for(item, now + _HELD_POLL_S)
                else:
                    self.fail(item, poison(self.max_deaths))
        return taken

    def _let_some_in(self, count: int) -> list[str]:
        """Take the next items that may start now off the queue, no more than `count`."""
        found: list[str] = []
        while self._ready and len(found) < count:
            item = self._ready.popleft()
            if self._let_in(item):
                found.append(item)
        return found

    def finished(self, finished: Finished, mark: ProcessMark) -> None:
        """Note how an item ended, or that it wants another go."""
        self.finished_many(((finished, mark),))

    def finished_many(self, ended: Sequence[tuple[Finished, ProcessMark]]) -> None:
        """Note how some items ended; their leases go back together."""
        for again in (False, True):
            given = [(one.item, mark) for one, mark in ended if (one.status is ItemStatus.AGAIN) is again]
            if given:
                self._give_back(given, finished=not again)
        for one, _ in ended:
            self._note(one)

    def _note(self, finished: Finished) -> None:
        item = finished.item
        if finished.disk_full and finished.failed is not None:
            self.halt(finished.failed.message)
        if finished.failed is not None:
            self.fail(item, finished.failed)
        elif finished.status is ItemStatus.AGAIN:
            self.again(item, delay_s=self.retry_delay_s * 2 ** self._rounds.get(item, 0))
        else:
            self._end(item, finished.status)
            self.tell(item, finished.status)

    def again(self, item: str, *, delay_s: float) -> None:
        """Let an item start once more, after a delay; the number of goes is bounded."""
        self._rounds[item] = self._rounds.get(item, 0) + 1
        if self._rounds[item] > _MAX_ROUNDS:
            message = f"asked for another go {_MAX_ROUNDS} times"
            self.fail(item, Failed(boundary=Boundary.INTERNAL, message=message))
            return
        self._later[item] = time.monotonic() + delay_s
        self.tell(item, ItemStatus.AGAIN)

    def fail(self, item: str, failed: Failed) -> None:
        """Note that an item ended outside any stage."""
        self.report.failures[item] = failed
        self._open_gate_after(item)
        self.tell(item, ItemStatus.FAILED, failed)

    def halt(self, why: str) -> None:
        """Start no more items."""
        if self.report.halted is None:
            _LOG.error("no new work is started: %s", why)
            self.report.halted = why

    def give_back(self, item: str, mark: ProcessMark, *, finished: bool) -> None:
        """Return a lease; one that can't be returned ends with its process."""
        self._give_back(((item, mark),), finished=finished)

    def _give_back(self, given: Sequence[tuple[str, ProcessMark]], *, finished: bool) -> None:
        try:
            self.ledger.leases.release_many(self.scope, given, finished=finished)
        except StorageError as error:
            names = ", ".join(item for item, _ in given)
            _LOG.warning("the lease on %s can't be returned: %s", names, error)

    def tell(self, item: str, status: ItemStatus, failed: Failed | None = None) -> None:
        """Report progress to the caller."""
        ended = len(self.report.ended) + len(self.report.failures)
        self.on_progress(
            ItemEvent(item=item, status=status, ended=ended, total=len(self.items), failed=failed)
        )

    def close(self, *, interrupted: bool) -> RunReport:
        """Return the report, with what is left over."""
        known = self.report.ended.keys() | self.report.failures.keys()
        self.report.unfinished = tuple(item for item in self.items if item not in known)
        self.report.interrupted = interrupted
        return self.report

    def _let_in(self, item: str) -> bool:
        """Whether an item may start now; one that never may has its end."""
        admission = self.gate.ask(item)
        if admission is Admission.LATER:
            self._gated.append(item)
        elif admission is Admission.NEVER:
            self.gate.spare(item)
            self._end(item, ItemStatus.REJECTED)
            self.tell(item, ItemStatus.REJECTED)
        return admission is Admission.NOW

    def _end(self, item: str, status: ItemStatus) -> None:
        self.report.ended[item] = status
        self._open_gate_after(item)

    def _open_gate_after(self, item: str) -> None:
        """Let those that wait ask again, in their order."""
        self.gate.ended(item)
        self._ready.extendleft(reversed(self._gated))
        self._gated.clear()

    def _acquire(self, wanted: Mapping[str, ProcessMark]) -> dict[str, LeaseState] | None:
        try:
            return self.ledger.leases.acquire_many(
                self.scope, wanted, lease_s=self.lease_s, max_deaths=self.max_deaths
            )
        except DiskFullError as error:
            self.halt(str(error))
            return None

    def _wait_for(self, item: str, until: float) -> None:
        self._later[item] = until
        if item not in self._held:
            self._held.add(item)
            self.tell(item, ItemStatus.HELD)
