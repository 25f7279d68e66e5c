"""Near-duplicates within one file, in two readings: signatures, then the texts that they bring together.

Memory grows by half a kilobyte for each row. Of rows that are alike the first one stays; rows are alike if
all the parts that both have are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miner.decontam.fingerprint import NEAR_SIZE, Parameters
from miner.decontam.grams import BATCH, grams_of
from miner.decontam.items import Item, Part, read_items
from miner.decontam.minhash import Signatures
from miner.decontam.near import SIMILAR, candidate_pairs, jaccard
from swequarry.text.hashes import Hashes


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A row that is like an earlier one: that one's name, and how similar they are."""

    of: str
    similarity: float

    def __str__(self) -> str:
        """Say it in one sentence."""
        return f"is {self.similarity:.0%} similar to {self.of}, an earlier row"


def find_duplicates(path: Path, columns: Sequence[str] = (), least: float = SIMILAR) -> dict[int, Duplicate]:
    """Return the rows that are like an earlier row that stays, by their number from 0.

    Raises:
        InputError: as `read_items`.
    """
    signatures, filled = _signatures(path, columns)
    pairs = candidate_pairs(signatures, filled)
    names, texts = _texts(path, columns, {number for pair in pairs for number in pair})
    found: dict[int, Duplicate] = {}
    for left, right in pairs:
        if left in found or right in found:
            continue
        similarity = _similarity(texts[left], texts[right])
        if similarity >= least:
            found[right] = Duplicate(names[left], similarity)
    return found


def _signatures(path: Path, columns: Sequence[str]) -> tuple[Signatures, NDArray[np.bool_]]:
    """Return a row's signature over all its parts together, and whether it has a text."""
    sketcher = Parameters.ours().sketcher
    rows: list[Signatures] = []
    filled: list[NDArray[np.bool_]] = []
    batch: list[bytes] = []

    def flush() -> None:
        grams = grams_of(batch, NEAR_SIZE)
        rows.append(sketcher.signatures(grams))
        filled.append(np.diff(grams.offsets) > 0)
        batch.clear()

    for read in read_items(path, columns):
        batch.append(b"\n".join(read.parts.values()) if isinstance(read, Item) else b"")
        if len(batch) == BATCH:
            flush()
    flush()
    return np.concatenate(rows), np.concatenate(filled)


def _texts(
    path: Path, columns: Sequence[str], numbers: set[int]
) -> tuple[dict[int, str], dict[int, dict[Part, Hashes]]]:
    """Return names and n-grams by part of some rows."""
    names: dict[int, str] = {}
    texts: dict[int, dict[Part, Hashes]] = {}
    for number, read in enumerate(read_items(path, columns)):
        if number in numbers and isinstance(read, Item):
            names[number] = read.id
            parts = read.parts.items()
            texts[number] = {part: np.unique(grams_of([text], NEAR_SIZE).values) for part, text in parts}
    return names, texts


def _similarity(left: dict[Part, Hashes], right: dict[Part, Hashes]) -> float:
    shared = left.keys() & right.keys()
    return min((jaccard(left[part], right[part]) for part in shared), default=0.0)
