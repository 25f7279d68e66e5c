"""Rooms that threads work in by turns, each made once and used many times."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

Room = TypeVar("Room")

_VISITS = 200


@dataclass(slots=True)
class Stay(Generic[Room]):
    """A room, and how often it was entered. Who finds it broken sets `spoilt`, and nobody enters it again."""

    room: Room
    held: ExitStack
    visits: int = 0
    spoilt: bool = False


class Rooms(Generic[Room]):
    """Rooms that threads enter in turn: one that nobody is in is used again, and all are left by `close`.

    A room is left for good after `visits` visits, since what grading writes there stays there, and after one
    that broke off: its folder may be gone or full.
    """

    def __init__(self, make: Callable[[], AbstractContextManager[Room]], *, visits: int = _VISITS) -> None:
        self._make = make
        self._visits = visits
        self._lock = threading.Lock()
        self._free: list[Stay[Room]] = []
        self._closed = False

    @contextmanager
    def enter(self) -> Iterator[Stay[Room]]:
        """Yield a stay in a room that no other thread is in; a new one where all are taken.

        Raises:
            what making a room raises.
        """
        with self._lock:
            stay = self._free.pop() if self._free else None
        stay = stay or self._new()
        whole = False
        try:
            yield stay
            whole = not stay.spoilt
        finally:
            stay.visits += 1
            with self._lock:
                kept = whole and stay.visits < self._visits and not self._closed
                if kept:
                    self._free.append(stay)
            if not kept:
                stay.held.close()

    def close(self) -> None:
        """Leave all rooms; one that somebody is in is left as soon as they go."""
        with self._lock:
            self._closed = True
            free, self._free = self._free, []
        for stay in free:
            stay.held.close()

    def _new(self) -> Stay[Room]:
        held = ExitStack()
        return Stay(held.enter_context(self._make()), held)
