"""Rooms of an opened task: no two threads are in one, none is made without need, and all are left."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from swequarry.pipeline.graded_task import Rooms


class Hotel:
    """Counts the rooms that are made and left."""

    def __init__(self) -> None:
        self.made = 0
        self.left: list[int] = []

    @contextmanager
    def room(self) -> Iterator[int]:
        self.made += 1
        number = self.made
        yield number
        self.left.append(number)


def test_room_is_never_shared_and_used_again_when_it_is_free() -> None:
    hotel = Hotel()
    with closing(Rooms(hotel.room)) as rooms:
        with rooms.enter() as first, rooms.enter() as second:
            assert first != second
        with rooms.enter():
            pass
        assert (hotel.made, hotel.left) == (2, [])
    assert sorted(hotel.left) == [1, 2]


def test_room_of_a_grading_that_broke_off_is_free_again() -> None:
    hotel = Hotel()
    with closing(Rooms(hotel.room)) as rooms:
        with pytest.raises(ValueError, match="broken"), rooms.enter():
            raise ValueError("broken")
        with rooms.enter() as room:
            assert room == 1
