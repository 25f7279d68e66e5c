"""The executor: worker processes that take leased items, watched by one driver.

Starting the same program again on the same ledger, at the same time too, is more drivers: an item is worked
on by one of them, the others wait and then find it done. A worker that dies (out of memory, kill -9) costs
its item one more try; the item that kills its worker twice ends as failed at the worker boundary. Where the
workers run is the crew's business: on this machine, or on those of a cluster.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from swequarry.errors import DiskFullError
from swequarry.ledger.attempts import AttemptEnd, AttemptStatus
from swequarry.ledger.keys import StoredOutcome
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.process import ProcessMark
from swequarry.outcome import Boundary
from swequarry.pipeline.crews.interface import Crew, Died, Hand, Lost, Message, OpenCrew
from swequarry.pipeline.crews.local import LocalCrew
from swequarry.pipeline.item_queue import (
    Gate,
    ItemEvent,
    ItemQueue,
    Progress,
    RunReport,
    ignore_progress,
    poison,
)
from swequarry.pipeline.stopping import StopEvent, StopRequest, stop_signals
from swequarry.pipeline.worker import (
    HEARTBEATS,
    Finished,
    ItemStatus,
    Portioned,
    Work,
    WorkerSetup,
    heartbeat,
    run_item,
)

__all__ = ["ExecutorOptions", "ItemEvent", "ItemStatus", "RunReport", "Work", "run_items"]

_TICK_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorOptions:
    """How to run. Times in seconds.

    `scope` names what is done with the items: leases of two scopes don't meet. `lease_s` is how long an
    item of another machine's dead worker stays held; on one machine the dead are seen at once. `open_crew`
    makes the workers.
    """

    workers: int = 2
    scope: str = "line"
    lease_s: float = 60.0
    max_deaths: int = 2
    retry_delay_s: float = 2.0
    logs: Path | None = None
    in_process: bool = False
    open_crew: OpenCrew = LocalCrew


def run_items(
    items: Sequence[str],
    work: Work,
    ledger: Ledger,
    options: ExecutorOptions | None = None,
    *,
    on_progress: Progress = ignore_progress,
    stop_event: StopEvent | None = None,
    gate: Gate | None = None,
) -> RunReport:
    """Run `work` on every item in worker processes; return when all ended or a stop was asked for.

    `work` can be pickled, opens what it needs (the ledger too) and may run again on an item that it
    finished before. Signals are handled as in `stopping`, if this is the main thread. `gate` decides which
    items start, and is asked in this process alone.

    Raises:
        WorkerError: workers die before they take an item.
        StorageError: the ledger can't be used.
    """
    options = options or ExecutorOptions()
    ledger.close_orphans()
    with stop_signals(stop_event, raise_at_second=options.in_process) as stop:
        queue = ItemQueue(items, ledger, options.scope, options.lease_s, options.max_deaths, on_progress)
        queue.retry_delay_s = options.retry_delay_s
        queue.gate = gate or queue.gate
        if options.in_process:
            _run_here(queue, work, options, stop)
        else:
            _Driver(queue, options, stop).run(work)
        return queue.close(interrupted=stop.drain)


def _run_here(queue: ItemQueue, work: Work, options: ExecutorOptions, stop: StopRequest) -> None:
    ledger = queue.ledger
    while queue.more and not stop.drain:
        item = queue.lease(ledger.process)
        if item is None:
            time.sleep(_TICK_S)
            continue
        queue.tell(item, ItemStatus.STARTED)
        try:
            with heartbeat(ledger, options.scope, item, options.lease_s):
                finished = run_item(work, item, options.logs)
        except BaseException:
            queue.give_back(item, ledger.process, finished=False)
            raise
        queue.finished(finished, ledger.process)


class _Driver:
    """Watches the workers of one `run_items`."""

    def __init__(self, queue: ItemQueue, options: ExecutorOptions, stop: StopRequest) -> None:
        self._queue = queue
        self._options = options
        self._stop = stop
        self._deaths: dict[str, list[str]] = {}
        self._silence = _Silence(queue.ledger, options.scope, options.lease_s)

    def run(self, work: Work) -> None:
        """Work until nothing is left or a stop was asked for, and all workers have ended."""
        options = self._options
        setup = WorkerSetup(
            work=work.bare() if isinstance(work, Portioned) else work,
            ledger=self._queue.ledger.location,
            scope=options.scope,
            lease_s=options.lease_s,
            logs=options.logs,
            driver_pid=os.getpid(),
        )
        with options.open_crew(setup) as crew:
            while not self._stop.now and (crew.busy or self._may_start()):
                if self._may_start():
                    crew.fill(min(options.workers, len(crew.busy) + self._queue.waiting))
                    self._assign(crew, work)
                self._hear(list(crew.listen(_TICK_S)))
                for hand in self._silence.among(crew.busy):
                    crew.drop(hand)
                    self._hear([(hand, Lost(how="it stopped renewing its lease"))])
            busy = crew.busy
            crew.stop()
            for hand in busy:
                self._abandon(hand)

    def _may_start(self) -> bool:
        return self._queue.more and not self._stop.drain

    def _assign(self, crew: Crew, work: Work) -> None:
        idle = {hand.mark: hand for hand in crew.idle if hand.mark}
        if not idle or not self._may_start():
            return
        for mark, item in self._queue.lease_many(tuple(idle)):
            crew.give(idle[mark], item, work.portion(item) if isinstance(work, Portioned) else None)
            self._queue.tell(item, ItemStatus.STARTED)

    def _hear(self, heard: Sequence[tuple[Hand, Message]]) -> None:
        ended: list[tuple[Finished, ProcessMark]] = []
        for hand, message in heard:
            match message:
                case Finished() if hand.mark is not None:
                    hand.item = None
                    self._deaths.pop(message.item, None)
                    ended.append((message, hand.mark))
                case Died() | Lost() if hand.item is not None and hand.mark is not None:
                    item, hand.item = hand.item, None
                    try:
                        self._bereave(item, hand.mark, message)
                    except DiskFullError as error:
                        self._queue.halt(str(error))
                case _:
                    pass
        self._queue.finished_many(ended)

    def _bereave(self, item: str, mark: ProcessMark, message: Died | Lost) -> None:
        """Give an item back whose worker is gone; one that killed its worker has that counted against it."""
        queue, ledger = self._queue, self._queue.ledger
        if isinstance(message, Lost):
            queue.give_back(item, mark, finished=False)
            words = f"the worker was lost: {message.how}"
            end = AttemptEnd(status=AttemptStatus.DIED, boundary=Boundary.WORKER, message=words)
            ledger.close_attempts_of(mark, end)
            queue.again(item, delay_s=0.0)
            return
        self._deaths.setdefault(item, []).append(message.how)
        deaths = ledger.leases.report_death(self._options.scope, item, mark)
        observed = {"last_lines": list(message.last_lines)}
        end = AttemptEnd(
            status=AttemptStatus.DIED,
            boundary=Boundary.WORKER,
            message=f"the worker died: {message.how}",
            observed=observed,
        )
        unfinished = ledger.close_attempts_of(mark, end)
        if deaths < self._options.max_deaths:
            queue.again(item, delay_s=0.0)
            return
        failed = poison(deaths, self._deaths.pop(item))
        for attempt in unfinished:
            ledger.record(attempt.key, [StoredOutcome(item=attempt.item, outcome=failed)])
        if unfinished:
            # The stage has its result now; the next go of the work finds it and ends the item with it.
            ledger.leases.pardon((item,))
            queue.again(item, delay_s=0.0)
        else:
            queue.fail(item, failed)

    def _abandon(self, hand: Hand) -> None:
        if hand.item is None or hand.mark is None:
            return
        self._queue.give_back(hand.item, hand.mark, finished=False)
        end = AttemptEnd(status=AttemptStatus.STOPPED, message="stopped before its end")
        self._queue.ledger.close_attempts_of(hand.mark, end)


@dataclass(slots=True)
class _Silence:
    """Finds workers that are there and don't renew their leases: frozen, or cut off from the ledger.

    One look isn't enough: where the ledger was away, nobody could renew, and all do so at once afterwards.
    """

    ledger: Ledger
    scope: str
    lease_s: float
    _next_look: float = field(default_factory=time.monotonic)
    _silent: frozenset[tuple[str, ProcessMark]] = frozenset()

    def among(self, busy: Sequence[Hand]) -> tuple[Hand, ...]:
        """Return the workers whose lease was over at two looks, a heartbeat apart."""
        now = time.monotonic()
        if not busy or now < self._next_look:
            return ()
        self._next_look = now + self.lease_s / HEARTBEATS
        found = frozenset(self.ledger.leases.overdue(self.scope).items())
        twice, self._silent = self._silent & found, found
        return tuple(hand for hand in busy if (hand.item, hand.mark) in twice)
