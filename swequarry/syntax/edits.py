"""Change bytes of a source in place: every other byte stays."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ByteEdit:
    """Bytes `start` to `end` of a source give way to `text`."""

    start: int
    end: int
    text: bytes


def edited(data: bytes, edits: Iterable[ByteEdit]) -> bytes:
    """Return a source with some edits made.

    Raises:
        ValueError: two edits overlap, or one lies outside of the source.
    """
    bound = len(data)
    for edit in sorted(edits, key=lambda e: (e.start, e.end), reverse=True):
        if not 0 <= edit.start <= edit.end <= bound:
            raise ValueError(f"edit {edit.start} to {edit.end} overlaps another or leaves the source")
        data = data[: edit.start] + edit.text + data[edit.end :]
        bound = edit.start
    return data


def line_starts(data: bytes) -> list[int]:
    """Return where each line begins; lines end at LF alone, and the last one needs none."""
    starts = [0]
    place = data.find(b"\n")
    while place >= 0:
        starts.append(place + 1)
        place = data.find(b"\n", place + 1)
    return starts
