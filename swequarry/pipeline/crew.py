"""The worker processes of one driver: started when needed, given items, and never left behind."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Self, TypeAlias

from swequarry.errors import WorkerError
from swequarry.ledger.process import ProcessMark
from swequarry.pipeline.worker import Finished, Ready, WorkerSetup, serve

_EARLY_DEATHS = 3
_GRACE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """A worker is dead; `how` is for people."""

    how: str


Message: TypeAlias = Ready | Finished | Died


@dataclass(slots=True, eq=False)
class Hand:
    """One worker as its driver sees it; `mark` is None until it is ready, `item` while it is idle."""

    process: BaseProcess
    connection: Connection
    mark: ProcessMark | None = None
    item: str | None = None


def _describe(exit_code: int | None) -> str:
    if exit_code is None:
        return "it closed its pipe"
    if exit_code < 0:
        return signal.Signals(-exit_code).name
    return f"exit status {exit_code}"


class Crew:
    """A context manager: leaving it ends the workers, by force if they are busy."""

    def __init__(self, setup: WorkerSetup) -> None:
        self._setup = setup
        self._context = multiprocessing.get_context("spawn")
        self._hands: list[Hand] = []
        self._early_deaths = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    @property
    def busy(self) -> tuple[Hand, ...]:
        """The workers that have an item."""
        return tuple(hand for hand in self._hands if hand.item is not None)

    @property
    def idle(self) -> tuple[Hand, ...]:
        """The workers that wait for an item."""
        return tuple(hand for hand in self._hands if hand.item is None and hand.mark is not None)

    def fill(self, number: int) -> None:
        """Start workers until there are that many."""
        while len(self._hands) < number:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=serve, args=(theirs, self._setup), name="swequarry-worker")
            process.start()
            theirs.close()  # so that the end of the worker is the end of the pipe
            self._hands.append(Hand(process, ours))

    def give(self, hand: Hand, item: str) -> None:
        """Send an item to an idle worker; one that just died is noticed by `listen`."""
        hand.item = item
        try:
            hand.connection.send(item)
        except OSError:
            return

    def listen(self, timeout_s: float) -> Iterator[tuple[Hand, Message]]:
        """Yield what workers say within a time; a dead one is removed before its Died is yielded.

        Raises:
            WorkerError: several workers in a row died before they were ready.
        """
        by_connection = {hand.connection: hand for hand in self._hands}
        for connection in wait(list(by_connection), timeout_s):
            hand = by_connection[connection]  # type: ignore[index]
            message = self._next(hand)
            if isinstance(message, Ready):
                hand.mark = message.mark
                self._early_deaths = 0
            yield hand, message

    def stop(self) -> None:
        """End all workers: idle ones are asked, busy ones told, and those that don't listen killed."""
        for hand in self._hands:
            if hand.mark is None:
                hand.process.kill()
            elif hand.item is None:
                hand.connection.close()
            else:
                hand.process.terminate()
        for hand in self._hands:
            wait([hand.process.sentinel], _GRACE_S)
            self._bury(hand)
        self._hands.clear()

    def _next(self, hand: Hand) -> Message:
        with suppress(EOFError, OSError):
            message: Message = hand.connection.recv()
            return message
        how = self._bury(hand)
        self._hands.remove(hand)
        if hand.mark is None:
            self._count_early_death(how)
        return Died(how=how)

    def _count_early_death(self, how: str) -> None:
        self._early_deaths += 1
        if self._early_deaths >= _EARLY_DEATHS:
            raise WorkerError(
                f"{self._early_deaths} workers in a row died before they took an item ({how}); "
                "their messages are above; free memory or lower the number of workers"
            )

    def _bury(self, hand: Hand) -> str:
        pid = hand.process.pid
        if pid is not None:
            try:
                # The worker leads its group: this ends it and what it left running. Before `join`, since
                # until then its number, and so its group's, can't be another's.
                os.killpg(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                hand.process.kill()
        hand.process.join()
        hand.connection.close()
        return _describe(hand.process.exitcode)
