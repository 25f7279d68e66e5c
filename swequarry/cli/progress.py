"""The progress of a run on stderr: bars on a terminal, one line per ended item elsewhere."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from swequarry.cli.console import err, note
from swequarry.pipeline.executor import ItemEvent, ItemStatus
from swequarry.pipeline.run import Watch

_ENDED = frozenset({ItemStatus.ACCEPTED, ItemStatus.REJECTED, ItemStatus.FAILED, ItemStatus.DONE})
_TITLES = {"mine": "mining", "line": "verifying"}


_POLL_S = 2.0


def _never() -> str | None:
    """Wait for nothing."""


@contextmanager
def watched(*, quiet: bool = False, waits: Callable[[], str | None] = _never) -> Iterator[Watch]:
    """Yield what a run tells its events to. `waits` says what everybody is waiting for, if anything."""
    if quiet:
        yield lambda _phase, _event: None
    elif err.is_terminal:
        bars = _Bars()
        with bars as watch, _polled(waits, bars.wait):
            yield watch
    else:
        with _polled(waits, lambda text: note(text) if text else None):
            yield _lines


@contextmanager
def _polled(ask: Callable[[], str | None], tell: Callable[[str | None], None]) -> Iterator[None]:
    """Tell of every change in what is being waited for while the block runs."""
    ended = threading.Event()

    def poll() -> None:
        last: str | None = None
        while not ended.wait(_POLL_S):
            said = ask()
            if said != last:
                tell(said)
                last = said

    thread = threading.Thread(target=poll, name="waits", daemon=True)
    if ask is not _never:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if thread.is_alive():
            thread.join()


def _lines(phase: str, event: ItemEvent) -> None:
    if event.status in _ENDED:
        note(f"{_TITLES[phase]} {event.ended}/{event.total} {event.item}: {event.status.value}")


class _Bars:
    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[counts]}"),
            TextColumn("{task.fields[waits]}"),
            console=err,
        )
        self._bars: dict[str, TaskID] = {}
        self._counts: dict[str, Counter[str]] = {}

    def __enter__(self) -> Watch:
        self._progress.start()
        return self._tell

    def __exit__(self, *exc: object) -> None:
        self._progress.stop()

    def wait(self, text: str | None) -> None:
        """Show what is being waited for in the line of the phase that runs now."""
        for bar in self._bars.values():
            self._progress.update(bar, waits=text or "")

    def _tell(self, phase: str, event: ItemEvent) -> None:
        if phase not in self._bars:
            self._bars[phase] = self._progress.add_task(
                _TITLES[phase], total=event.total, counts="", waits=""
            )
            self._counts[phase] = Counter()
        if event.status in _ENDED:
            self._counts[phase][event.status.value] += 1
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self._counts[phase].items()))
        self._progress.update(self._bars[phase], completed=event.ended, total=event.total, counts=counts)
