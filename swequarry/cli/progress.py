"""The progress of a run on stderr: bars on a terminal, one line per ended item elsewhere."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from swequarry.cli.console import err, note
from swequarry.pipeline.executor import ItemEvent, ItemStatus
from swequarry.pipeline.run import Watch

_ENDED = frozenset({ItemStatus.ACCEPTED, ItemStatus.REJECTED, ItemStatus.FAILED, ItemStatus.DONE})
_TITLES = {"mine": "mining", "line": "verifying"}


@contextmanager
def watched(*, quiet: bool = False) -> Iterator[Watch]:
    """Yield what a run tells its events to."""
    if quiet:
        yield lambda _phase, _event: None
    elif err.is_terminal:
        with _Bars() as bars:
            yield bars
    else:
        yield _lines


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
            console=err,
        )
        self._bars: dict[str, TaskID] = {}
        self._counts: dict[str, Counter[str]] = {}

    def __enter__(self) -> Watch:
        self._progress.start()
        return self._tell

    def __exit__(self, *exc: object) -> None:
        self._progress.stop()

    def _tell(self, phase: str, event: ItemEvent) -> None:
        if phase not in self._bars:
            self._bars[phase] = self._progress.add_task(_TITLES[phase], total=event.total, counts="")
            self._counts[phase] = Counter()
        if event.status in _ENDED:
            self._counts[phase][event.status.value] += 1
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self._counts[phase].items()))
        self._progress.update(self._bars[phase], completed=event.ended, total=event.total, counts=counts)
