"""An index of many files: which of them have a line of an answer, and whether they may hold its n-grams.

Made once for each lock and kept in the cache: environments of one lock share their files. A file counts as
known by its identity on disk, so that an index never speaks for a file that it hasn't seen.
"""

import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reconstruct.leaks.answer import SHORTEST_LINE, SHORTEST_WORD, Answer
from reconstruct.leaks.views import View, views_of
from swequarry.sandbox.visible import VisibleFile
from swequarry.text.containment import containment
from swequarry.text.hashes import Hashes, gram_hashes, line_spans, token_spans

FORMAT = 2
COMMON = 10
"""Files of an environment that have a line which says nothing: copies of an answer lie in fewer places."""
_BATCH = 1 << 18
_SMALLEST_TABLE, _LARGEST_TABLE = 16, 27
_BROKEN = (OSError, ValueError, KeyError, EOFError)


@dataclass(frozen=True)
class FileIndex:
    """Files by identity; line hashes, sorted, with the number of the file that has each; a table of n-grams.

    `grams` has a bit for each hash value of so many first bits: a share of n-grams is never under-counted.
    `unread` are the paths of what was too large or damaged.
    """

    identities: NDArray[np.int64]
    lines: Hashes
    owners: NDArray[np.uint32]
    grams: NDArray[np.uint8]
    unread: tuple[str, ...]

    def known(self) -> dict[tuple[int, ...], int]:
        """Return the numbers of files by identity."""
        return {tuple(row): number for number, row in enumerate(self.identities.tolist())}

    def owners_of(self, answer: Answer) -> frozenset[int]:
        """Return the files that have one of an answer's lines or words."""
        if not len(answer.line_hashes):
            return frozenset()
        values = answer.line_hashes.values
        first = np.searchsorted(self.lines, values, side="left")
        last = np.searchsorted(self.lines, values, side="right")
        found: set[int] = set()
        for start, end in zip(first.tolist(), last.tolist(), strict=True):
            found.update(self.owners[start:end].tolist())
        return frozenset(found)

    def common_lines(self, answer: Answer) -> frozenset[bytes]:
        """Return those of an answer's lines that many files have: what everybody writes tells nothing."""
        found = set()
        for line in answer.all_lines:
            value = line_spans(line).hashes
            first, last = (np.searchsorted(self.lines, value[:1], side=side) for side in ("left", "right"))
            if value.size == 1 and np.unique(self.owners[int(first[0]) : int(last[0])]).size >= COMMON:
                found.add(line)
        return frozenset(found)

    def may_hold(self, answer: Answer, share: float) -> bool:
        """Whether all files together may have that share of one of the answer's blocks."""
        table = np.unpackbits(self.grams).astype(np.bool_)
        shift = np.uint64(65 - table.size.bit_length())
        return any(
            containment(block.grams, block.grams.values[table[block.grams.values >> shift]]) >= share
            for block in answer.blocks
        )

    def save(self, path: Path) -> None:
        """Write the index, whole or not at all; a cache that can't be written is no error."""
        temporary = path.with_name(f"{path.stem}.{secrets.token_hex(8)}.npz")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(
                temporary,
                format=np.array([FORMAT]),
                identities=self.identities,
                lines=self.lines,
                owners=self.owners,
                grams=self.grams,
                unread=np.array(self.unread, dtype=np.str_),
            )
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: Path) -> "FileIndex | None":
        """Read an index; None where there is none that can be used."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                if stored["format"].tolist() != [FORMAT]:
                    return None
                return cls(
                    identities=stored["identities"],
                    lines=stored["lines"],
                    owners=stored["owners"],
                    grams=stored["grams"],
                    unread=tuple(stored["unread"].tolist()),
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
        self.owners: list[NDArray[np.uint32]] = []
        self.grams: list[Hashes] = []

    def add(self, number: int, text: bytes) -> None:
        self._texts.append(text)
        self._numbers.append(number)
        self._size += len(text)
        if self._size >= _BATCH:
            self.flush()

    def flush(self) -> None:
        if not self._texts:
            return
        data = b"\n".join(self._texts)
        borders = np.cumsum([0] + [len(text) + 1 for text in self._texts[:-1]])
        spans = line_spans(data, self._shortest)
        which = np.searchsorted(borders, spans.starts, side="right") - 1
        self.lines.append(spans.hashes)
        self.owners.append(np.array(self._numbers, dtype=np.uint32)[which])
        if self._with_grams:
            self.grams.append(gram_hashes(token_spans(data).hashes))
        self._texts, self._numbers, self._size = [], [], 0


def build_index(files: Iterable[VisibleFile]) -> tuple[FileIndex, tuple[VisibleFile, ...]]:
    """Read files and return their index with those that it knows, in the order of its numbers."""
    text, code = _Batch(SHORTEST_LINE, with_grams=True), _Batch(SHORTEST_WORD, with_grams=False)
    known: list[VisibleFile] = []
    unread: list[str] = []
    for number, file in enumerate(files):
        known.append(file)
        for view in read_views(file):
            if view.data is None:
                unread.append(view.path)
            else:
                (code if view.is_code else text).add(number, view.data)
    text.flush()
    code.flush()
    lines = np.concatenate([np.empty(0, dtype=np.uint64), *text.lines, *code.lines])
    owners = np.concatenate([np.empty(0, dtype=np.uint32), *text.owners, *code.owners])
    order = np.argsort(lines, kind="stable")
    return FileIndex(
        identities=np.array([file.identity for file in known], dtype=np.int64).reshape(-1, 4),
        lines=lines[order],
        owners=owners[order],
        grams=_table(text.grams),
        unread=tuple(unread),
    ), tuple(known)


def read_views(file: VisibleFile) -> Iterable[View]:
    """Yield the texts of a file; one that can't be read is told as not scanned."""
    try:
        data = file.read()
    except OSError:
        return (View(file.path, None),)
    return views_of(file.path, data)


def _table(parts: list[Hashes]) -> NDArray[np.uint8]:
    count = sum(part.size for part in parts)
    bits = min(max(_SMALLEST_TABLE, (count * 4).bit_length()), _LARGEST_TABLE)
    table = np.zeros(1 << bits, dtype=np.bool_)
    for part in parts:
        table[part >> np.uint64(64 - bits)] = True
    return np.packbits(table)


def index_place(folder: Path, key: str) -> Path:
    """Return where the index of a key lies."""
    return folder / f"{os.path.basename(key)}.npz"  # noqa: PTH119 - text
