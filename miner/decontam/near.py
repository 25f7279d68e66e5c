"""Near-duplicates: pairs of texts whose n-grams are mostly the same.

Signatures are cut into bands; texts that agree in a whole band are looked at closely, and count only by the
exact Jaccard similarity of their n-grams. Deterministic: neither order nor process changes what is found.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from miner.decontam.minhash import Signatures
from swequarry.text.hashes import Hashes

SIMILAR = 0.7
ROWS = 4
"""Columns in a band: with 128 columns, 99.9 % of the pairs with a similarity of 0.7 or more share one."""
_LARGEST_BUCKET = 64
"""Texts that agree in a band are compared each with each up to so many, then with the first ones only."""
_MIXER = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93, 0xFF51AFD7ED558CCD], dtype=np.uint64
)


def jaccard(left: Hashes, right: Hashes) -> float:
    """Return the similarity of two sets, each sorted without doubles; 0 where one is empty."""
    if not left.size or not right.size:
        return 0.0
    shared = np.intersect1d(left, right, assume_unique=True).size
    return float(shared / (left.size + right.size - shared))


def band_keys(signatures: Signatures) -> Hashes:
    """Return one hash for each text (row) and band (column)."""
    count, columns = signatures.shape
    bands = signatures[:, : columns // ROWS * ROWS].reshape(count, -1, ROWS).astype(np.uint64)
    keys: Hashes = (bands * _MIXER).sum(axis=2, dtype=np.uint64)
    return keys ^ (keys >> np.uint64(31))


def candidate_pairs(signatures: Signatures, filled: NDArray[np.bool_]) -> tuple[tuple[int, int], ...]:
    """Return the pairs of texts that agree in a band, in order; only those with n-grams, `filled`, count."""
    numbers = np.flatnonzero(filled)
    keys = band_keys(signatures[numbers])
    found: set[tuple[int, int]] = set()
    for band in range(keys.shape[1]):
        found.update((int(numbers[left]), int(numbers[right])) for left, right in _equal(keys[:, band]))
    return tuple(sorted(found))


def _equal(keys: Hashes) -> Iterator[tuple[int, int]]:
    """Yield pairs of places with equal keys, the smaller one first."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    borders = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1], [True]]))
    for start in np.flatnonzero(np.diff(borders) > 1):
        bucket = order[borders[start] : borders[start + 1]].tolist()
        for place, left in enumerate(bucket[:_LARGEST_BUCKET]):
            for right in bucket[place + 1 :]:
                yield left, right


class BandIndex:
    """Bands of known texts, for asking which of them others may be similar to."""

    def __init__(self, signatures: Signatures, filled: NDArray[np.bool_]) -> None:
        numbers = np.flatnonzero(filled)
        keys = band_keys(signatures[numbers])
        order = np.argsort(keys, axis=0, kind="stable")
        self._keys = np.take_along_axis(keys, order, axis=0)
        self._numbers = numbers[order]

    def candidates(self, signatures: Signatures) -> list[set[int]]:
        """Return for each signature the known texts that agree with it in a band."""
        keys = band_keys(signatures)
        found: list[set[int]] = [set() for _ in range(len(signatures))]
        for band in range(self._keys.shape[1]):
            known = self._keys[:, band]
            first = np.searchsorted(known, keys[:, band], side="left")
            last = np.searchsorted(known, keys[:, band], side="right")
            for row in np.flatnonzero(last > first):
                found[row].update(self._numbers[first[row] : last[row], band].tolist())
        return found
