"""What stands for a worker on another machine: a process there that keeps a local crew of one.

So a worker is the same process wherever it runs: spawned, in a session of its own, gone with who started it.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from swequarry.pipeline.crews.interface import Died, Hand
from swequarry.pipeline.crews.local import LocalCrew
from swequarry.pipeline.worker import Finished, Ready, WorkerSetup

_TICK_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfit:
    """A machine that can't do this work, and why."""

    reasons: tuple[str, ...]


@contextmanager
def _no_main() -> Iterator[None]:
    """Keep a spawned process from running the program of this one again: that is the cluster's, not ours."""
    main = sys.modules["__main__"]
    path = main.__dict__.pop("__file__", None)
    try:
        yield
    finally:
        if path is not None:
            main.__file__ = path


class NodeWorker:
    """Its methods are called from afar, `stop` while another runs. `check` says what the machine lacks."""

    def __init__(self, setup: WorkerSetup, check: Callable[[], tuple[str, ...]] | None) -> None:
        self._setup = replace(setup, driver_pid=os.getpid())
        self._check = check
        self._crew = LocalCrew(self._setup)

    def start(self) -> Ready | Unfit:
        """Start the worker and return when it stands.

        Raises:
            WorkerError: it died several times.
        """
        reasons = self._check() if self._check else ()
        if reasons:
            return Unfit(reasons=reasons)
        while True:
            with _no_main():
                self._crew.fill(1)
            for _, message in self._crew.listen(_TICK_S):
                if isinstance(message, Ready):
                    return message

    def work(self, item: str, portion: object) -> Finished | Died:
        """Have an item done; return how that ended."""
        (hand,) = self._crew.idle
        self._crew.give(hand, item, portion)
        return self._end_of(hand)

    def stop(self) -> None:
        """Tell a busy worker to stop: its `work` returns when it has cleaned up."""
        for hand in self._crew.busy:
            hand.process.terminate()

    def _end_of(self, hand: Hand) -> Finished | Died:
        while True:
            for _, message in self._crew.listen(_TICK_S):
                if isinstance(message, (Finished, Died)):
                    hand.item = None
                    return message
