"""The workers of one driver, wherever they are. A stage can't tell which crew it works in."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, TypeAlias

from swequarry.ledger.process import ProcessMark
from swequarry.pipeline.worker import Finished, Ready, WorkerSetup


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """A worker died while its machine lived on; `how` and the `last_lines` of its log are for people."""

    how: str
    last_lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A worker's machine is gone or doesn't answer: says nothing about the item."""

    how: str


Message: TypeAlias = Ready | Finished | Died | Lost


@dataclass(slots=True, eq=False)
class Hand:
    """One worker as its driver sees it; `mark` is None until it is ready, `item` while it is idle."""

    mark: ProcessMark | None = None
    item: str | None = None


class Crew(Protocol):
    """A context manager: leaving it ends the workers, by force if they are busy."""

    def __enter__(self) -> Self:
        """Start no worker yet."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """End all workers."""

    @property
    def busy(self) -> tuple[Hand, ...]:
        """The workers that have an item."""

    @property
    def idle(self) -> tuple[Hand, ...]:
        """The workers that wait for an item."""

    def fill(self, number: int) -> None:
        """Have so many workers, if there is room for them; None of those that are there is ended."""

    def give(self, hand: Hand, item: str, portion: object) -> None:
        """Send an item to an idle worker, with its portion of the work; see `worker.Portioned`."""

    def listen(self, timeout_s: float) -> Iterator[tuple[Hand, Message]]:
        """Yield what workers say within a time; one that is gone is removed before that is yielded.

        Raises:
            WorkerError: several workers in a row died before they were ready, or none can be had at all.
        """

    def drop(self, hand: Hand) -> None:
        """End a worker that doesn't answer, by force, and forget it."""

    def stop(self) -> None:
        """End all workers: idle ones are asked, busy ones told, and those that don't listen killed."""


OpenCrew: TypeAlias = Callable[[WorkerSetup], Crew]
