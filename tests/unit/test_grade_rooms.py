"""Rooms: no two threads are in one, none is made without need, no broken one is kept, and all are left."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from swequarry.pipeline.rooms import Rooms


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
            assert first.room != second.room
        with rooms.enter():
            pass
        assert (hotel.made, hotel.left) == (2, [])
    assert sorted(hotel.left) == [1, 2]


def test_room_of_a_stay_that_broke_off_is_left_and_never_entered_again() -> None:
    hotel = Hotel()
    with closing(Rooms(hotel.room)) as rooms:
        with pytest.raises(ValueError, match="broken"), rooms.enter():
            raise ValueError("broken")
        assert hotel.left == [1]
        with rooms.enter() as stay:
            assert stay.room == 2


def test_room_that_a_guest_found_broken_is_left() -> None:
    hotel = Hotel()
    with closing(Rooms(hotel.room)) as rooms:
        with rooms.enter() as stay:
            stay.spoilt = True
        with rooms.enter() as stay:
            assert (stay.room, hotel.left) == (2, [1])


def test_room_does_not_fill_up_for_ever() -> None:
    hotel = Hotel()
    with closing(Rooms(hotel.room, visits=3)) as rooms:
        for _ in range(7):
            with rooms.enter():
                pass
        assert (hotel.made, hotel.left) == (3, [1, 2])


def test_room_in_which_somebody_still_is_when_all_are_left_is_left_behind_them() -> None:
    hotel = Hotel()
    rooms = Rooms(hotel.room)
    with rooms.enter():
        rooms.close()
        assert hotel.left == []
    assert hotel.left == [1]
