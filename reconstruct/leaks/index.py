"""An index of some files: which of them have a line of an answer, and whether one may hold its n-grams.

Whatever is large is looked up in it, never missed: hashes are cut and n-grams share the bits of a table, so
an index names a file too many now and then, which is then read.
"""

import contextlib
import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from reconstruct.leaks.answer import SHORTEST_LINE, SHORTEST_WORD, Answer
from reconstruct.leaks.judge import LARGEST_GRAMS, SHARE
from reconstruct.leaks.views import View, views_of
from swequarry.sandbox.visible import VisibleFile
from swequarry.text.containment import distinct
from swequarry.text.hashes import VERSION, Hashes, gram_hashes, line_spans, token_spans

MOST_FILES = 1 << 16
"""Files that one index can tell apart."""
_MAGIC = f"leaks 4.{VERSION}\n".encode("ascii")
"""What the file of an index begins with; the first number goes up with what an index holds and how."""
_CHECK_SUM = 4
"""Bytes of the check sum that follows, of all that comes after it."""
_FILE, _HALF = np.uint64(MOST_FILES - 1), np.uint64(32)
_BATCH = 1 << 18
_SMALLEST_TABLE, _LARGEST_TABLE = 13, 30
_BITS_PER_GRAM = 8
"""One bit of eight to sixteen is set: half of twelve n-grams are there by chance once in a thousand times."""
_BROKEN = (OSError, ValueError, KeyError, TypeError)


@dataclass(frozen=True, slots=True)
class Hits:
    """Where lines and words of an answer are: places among its hashes, each with the number of a file."""

    hashes: NDArray[np.int64]
    files: NDArray[np.int64]


@dataclass(frozen=True)
class FileIndex:
    """Files by their number, in the order in which they were given.

    `lines` has the first 48 bits of each line's hash with the number of a file that has it, sorted, each
    pair once. `grams` has a bit for each hash value of so many first bits. `unread` are the paths of what was
    too large or damaged; `is_whole` is off where a file couldn't be read at all.
    """

    lines: Hashes
    grams: NDArray[np.uint8]
    unread: tuple[str, ...] = ()
    is_whole: bool = True

    def hits(self, hashes: Hashes) -> Hits:
        """Return the files that have lines or words, given by their hashes."""
        first = np.searchsorted(self.lines, hashes & ~_FILE, side="left")
        last = np.searchsorted(self.lines, hashes | _FILE, side="right")
        counts = last - first
        found = np.flatnonzero(counts)
        which = np.repeat(found, counts[found])
        places = np.concatenate(
            [np.empty(0, dtype=np.int64), *(np.arange(first[one], last[one]) for one in found)]
        )
        return Hits(which, (self.lines[places] & _FILE).astype(np.int64))

    def may_hold(self, answer: Answer, share: float = SHARE) -> bool:
        """Whether one of the files may have that share of an answer's block: all of them together have it."""
        if not answer.blocks:
            return False
        bits = self.grams.size.bit_length() + 2
        places = answer.block_grams.hashes >> np.uint64(64 - bits)
        found = self.grams[places >> np.uint64(3)] >> (places & np.uint64(7)).astype(np.uint8) & 1
        sums = np.add.reduceat(found, answer.block_grams.starts, dtype=np.int64)
        return bool((sums >= share * answer.block_grams.sizes).any())

    def save(self, path: Path) -> None:
        """Write the index, whole or not at all; a cache that can't be written is no error.

        The check sum does what `fsync` would: a machine that stops may leave a file of zeros, and to wait for
        the disk a hundred times costs seconds.
        """
        told = json.dumps({"lines": self.lines.size, "unread": self.unread}).encode("ascii")
        content = told + b"\n" + self.lines.astype("<u8").tobytes() + self.grams.tobytes()
        temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(_MAGIC + crc32(content).to_bytes(_CHECK_SUM, "little") + content)
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()

    @classmethod
    def load(cls, path: Path) -> "FileIndex | None":
        """Read an index; None where there is none that can be used."""
        try:
            data = path.read_bytes()
            start = len(_MAGIC) + _CHECK_SUM
            expected = int.from_bytes(data[len(_MAGIC) : start], "little")
            if not data.startswith(_MAGIC) or crc32(memoryview(data)[start:]) != expected:
                return None
            at = data.index(b"\n", start) + 1
            told = json.loads(data[start:at])
            return cls(
                lines=np.frombuffer(data, dtype="<u8", count=told["lines"], offset=at),
                grams=np.frombuffer(data, dtype=np.uint8, offset=at + 8 * told["lines"]),
                unread=tuple(told["unread"]),
            )
        except _BROKEN:
            return None


class _Batch:
    """Texts that are hashed together: most files are small, and each call has its price."""

    def __init__(self, shortest: int, *, with_grams: bool) -> None:
        self._shortest = shortest
        self._with_grams = with_grams
        self._texts: list[bytes] = []
        self._numbers: list[int] = []
        self._size = 0
        self.lines: list[Hashes] = []
        self.grams: list[NDArray[np.uint32]] = []

    def add(self, number: int, text: bytes) -> None:
        if self._with_grams and len(text) > LARGEST_GRAMS:
            self._note_lines(text, [0], [number])
            return
        self._texts.append(text)
        self._numbers.append(number)
        self._size += len(text)
        if self._size >= _BATCH:
            self.flush()

    def flush(self) -> None:
        if not self._texts:
            return
        data = b"\n".join(self._texts)
        ends = list(accumulate(len(text) + 1 for text in self._texts))
        self._note_lines(data, [0, *ends[:-1]], self._numbers)
        if self._with_grams:
            self.grams.append((gram_hashes(token_spans(data).hashes) >> _HALF).astype(np.uint32))
        self._texts, self._numbers, self._size = [], [], 0

    def _note_lines(self, data: bytes, starts: Sequence[int], numbers: Sequence[int]) -> None:
        """Keep the lines of texts that begin at some places, with the numbers of their files."""
        spans = line_spans(data, self._shortest)
        first = np.searchsorted(spans.starts, starts, side="left")
        counts = np.diff(first, append=spans.starts.size)
        owners = np.repeat(np.array(numbers, dtype=np.uint64), counts)
        self.lines.append(spans.hashes & ~_FILE | owners)


def build_index(files: Sequence[VisibleFile]) -> FileIndex:
    """Read files, at most `MOST_FILES`, and return their index."""
    text, code = _Batch(SHORTEST_LINE, with_grams=True), _Batch(SHORTEST_WORD, with_grams=False)
    unread: list[str] = []
    is_whole = True
    for number, file in enumerate(files):
        try:
            data = file.read()
        except OSError:
            unread.append(file.path)
            is_whole = False
            continue
        for view in views_of(file.path, data):
            if view.data is None:
                unread.append(view.path)
            else:
                (code if view.is_code else text).add(number, view.data)
    text.flush()
    code.flush()
    return FileIndex(
        lines=distinct(np.concatenate([np.empty(0, dtype=np.uint64), *text.lines, *code.lines])),
        grams=_table(distinct(np.concatenate([np.empty(0, dtype=np.uint32), *text.grams]))),
        unread=tuple(unread),
        is_whole=is_whole,
    )


def read_views(file: VisibleFile) -> Iterable[View]:
    """Yield the texts of a file; one that can't be read is told as not scanned."""
    try:
        data = file.read()
    except OSError:
        return (View(file.path, None),)
    return views_of(file.path, data)


def _table(grams: NDArray[np.uint32]) -> NDArray[np.uint8]:
    bits = min(max(_SMALLEST_TABLE, (grams.size * _BITS_PER_GRAM).bit_length()), _LARGEST_TABLE)
    table = np.zeros(1 << bits, dtype=np.bool_)
    table[grams >> np.uint32(32 - bits)] = True
    return np.packbits(table, bitorder="little")
