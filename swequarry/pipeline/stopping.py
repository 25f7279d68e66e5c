"""SIGINT and SIGTERM: once means finish what is running and start no more, twice means stop now."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Protocol

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopEvent(Protocol):
    """What a caller may set to drain: a `threading.Event`, a multiprocessing one, or the like."""

    def is_set(self) -> bool:
        """Whether no new item may be started."""


@dataclass(slots=True)
class StopRequest:
    """How often a stop was asked for by a signal; `event` counts as the first time."""

    event: StopEvent | None = None
    signals: int = 0

    @property
    def drain(self) -> bool:
        """Start no more items."""
        return self.signals > 0 or (self.event is not None and self.event.is_set())

    @property
    def now(self) -> bool:
        """Don't wait for running items either."""
        return self.signals > 1


@contextmanager
def stop_signals(event: StopEvent | None = None, *, raise_at_second: bool = False) -> Iterator[StopRequest]:
    """Count stop signals while the block runs (in the main thread; elsewhere only `event` counts).

    With `raise_at_second` the second signal raises KeyboardInterrupt: for work in this very process.
    """
    request = StopRequest(event)

    def count(_number: int, _frame: FrameType | None) -> None:
        request.signals += 1
        if raise_at_second and request.now:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, count) for number in STOP_SIGNALS}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
