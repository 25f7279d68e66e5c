"""Worker processes of this machine: started when needed, given items, and never left behind."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Self

from swequarry.errors import WorkerError
from swequarry.pipeline.crews.interface import Died, Hand, Message
from swequarry.pipeline.item_log import last_lines
from swequarry.pipeline.worker import Ready, WorkerSetup, serve

_EARLY_DEATHS = 3
_GRACE_S = 5.0


@dataclass(slots=True, eq=False, kw_only=True)
class LocalHand(Hand):
    """A process of this machine."""

    process: BaseProcess
    connection: Connection


def _describe(exit_code: int | None) -> str:
    if exit_code is None:
        return "it closed its pipe"
    if exit_code < 0:
        return signal.Signals(-exit_code).name
    return f"exit status {exit_code}"


class LocalCrew:
    """See `Crew`. `fill` always has room."""

    def __init__(self, setup: WorkerSetup) -> None:
        self._setup = setup
        self._context = multiprocessing.get_context("spawn")
        self._hands: list[LocalHand] = []
        self._early_deaths = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    @property
    def busy(self) -> tuple[LocalHand, ...]:
        """The workers that have an item."""
        return tuple(hand for hand in self._hands if hand.item is not None)

    @property
    def idle(self) -> tuple[LocalHand, ...]:
        """The workers that wait for an item."""
        return tuple(hand for hand in self._hands if hand.item is None and hand.mark is not None)

    def fill(self, number: int) -> None:
        """Start workers until there are that many."""
        while len(self._hands) < number:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=serve, args=(theirs, self._setup), name="swequarry-worker")
            process.start()
            theirs.close()  # so that the end of the worker is the end of the pipe
            self._hands.append(LocalHand(process=process, connection=ours))

    def give(self, hand: Hand, item: str, portion: object) -> None:
        """Send an item to an idle worker; one that just died is noticed by `listen`."""
        hand.item = item
        assert isinstance(hand, LocalHand)  # noqa: S101 - it is given what `idle` returned
        try:
            hand.connection.send((item, portion))
        except OSError:
            return

    def listen(self, timeout_s: float) -> Iterator[tuple[LocalHand, Message]]:
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

    def drop(self, hand: Hand) -> None:
        """End a worker by force; one that is stopped (SIGSTOP) dies of that too."""
        assert isinstance(hand, LocalHand)  # noqa: S101 - it is given what `busy` returned
        self._hands.remove(hand)
        self._bury(hand)

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

    def _next(self, hand: LocalHand) -> Message:
        with suppress(EOFError, OSError):
            message: Message = hand.connection.recv()
            return message
        how = self._bury(hand)
        self._hands.remove(hand)
        if hand.mark is None:
            self._count_early_death(how)
        return Died(how=how, last_lines=self._last_lines(hand))

    def _last_lines(self, hand: LocalHand) -> tuple[str, ...]:
        if self._setup.logs is None or hand.item is None:
            return ()
        return last_lines(self._setup.logs, hand.item)

    def _count_early_death(self, how: str) -> None:
        self._early_deaths += 1
        if self._early_deaths >= _EARLY_DEATHS:
            raise WorkerError(
                f"{self._early_deaths} workers in a row died before they took an item ({how}); "
                "their messages are above; free memory or lower the number of workers"
            )

    def _bury(self, hand: LocalHand) -> str:
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
