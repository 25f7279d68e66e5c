"""MinHash signatures of many texts at once, bit for bit those of datasketch's scheme `affine32`.

Permutations come from datasketch, so that a signature can become one of its objects at any time. Here they
are applied to all n-grams of a batch, one permutation after the other: no Python per n-gram.
"""

from dataclasses import dataclass, field

import numpy as np
from datasketch import LeanMinHash, MinHash
from numpy.typing import NDArray

from miner.decontam.grams import Grams

SCHEME = "affine32"
Signatures = NDArray[np.uint32]
"""One row for each text, one column for each permutation."""
EMPTY = np.uint32(0xFFFFFFFF)
"""What a text without n-grams has in each column, as in datasketch."""


@dataclass(frozen=True)
class Sketcher:
    """Makes signatures with `permutations` permutations drawn from `seed`."""

    permutations: int = 128
    seed: int = 1
    _lines: NDArray[np.uint32] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        drawn = MinHash(num_perm=self.permutations, seed=self.seed, scheme=SCHEME).permutations
        object.__setattr__(self, "_lines", np.asarray(drawn, dtype=np.uint32))

    def signatures(self, grams: Grams) -> Signatures:
        """Return the signature of each text, from the low 32 bits of its n-grams."""
        result = np.full((self.permutations, len(grams)), EMPTY, dtype=np.uint32)
        filled = np.flatnonzero(np.diff(grams.offsets))
        if filled.size:
            mixed = _mixed(grams.values.astype(np.uint32))
            starts = grams.offsets[:-1][filled]
            moved = np.empty_like(mixed)
            for row, (factor, shift) in enumerate(self._lines.T):
                np.multiply(mixed, factor, out=moved)
                np.add(moved, shift, out=moved)
                result[row, filled] = np.minimum.reduceat(moved, starts)
        return np.ascontiguousarray(result.T)

    def as_minhash(self, signature: NDArray[np.uint32]) -> LeanMinHash:
        """Return a signature as an object of datasketch."""
        return LeanMinHash(seed=self.seed, hashvalues=signature, scheme=SCHEME)


def _mixed(values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return 32-bit values through the finalizer of MurmurHash3, which the scheme begins with."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        values = (values ^ (values >> np.uint32(shift))) * np.uint32(factor)
    return values ^ (values >> np.uint32(16))
