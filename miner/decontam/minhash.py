"""MinHash signatures of many texts at once, bit for bit those of datasketch's scheme `affine32`.

Permutations come from datasketch, so that a signature can become one of its objects at any time. Here they
are applied to all n-grams of a batch, one permutation after the other: no Python per n-gram. With the extra
`fast` the same is done by machine code (`miner.decontam.compiled`).
"""

from dataclasses import dataclass, field

import numpy as np
from datasketch import LeanMinHash, MinHash
from numpy.typing import NDArray

from miner.decontam.compiled import compiled_lower
from miner.decontam.grams import Grams

SCHEME = "affine32"
Signatures = NDArray[np.uint32]
"""One row for each text, one column for each permutation."""
EMPTY = np.uint32(0xFFFFFFFF)
"""What a text without n-grams has in each column, as in datasketch."""


@dataclass(frozen=True)
class Sketcher:
    """Makes signatures with `permutations` permutations drawn from `seed`.

    `compiled` allows machine code where it can be had; the signatures are the same.
    """

    permutations: int = 128
    seed: int = 1
    compiled: bool = field(default=True, repr=False, compare=False)
    _lines: NDArray[np.uint32] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        drawn = MinHash(num_perm=self.permutations, seed=self.seed, scheme=SCHEME).permutations
        object.__setattr__(self, "_lines", np.ascontiguousarray(drawn, dtype=np.uint32))

    def signatures(self, grams: Grams) -> Signatures:
        """Return the signature of each text, from the low 32 bits of its n-grams."""
        mixed = _mixed(grams.values.astype(np.uint32))
        lower = compiled_lower() if self.compiled else None
        if lower is not None:
            rows = np.full((len(grams), self.permutations), EMPTY, dtype=np.uint32)
            lower(mixed, grams.offsets, self._lines[0], self._lines[1], rows)
            return rows
        return self._by_arrays(mixed, grams.offsets)

    def _by_arrays(self, mixed: NDArray[np.uint32], offsets: NDArray[np.int64]) -> Signatures:
        result = np.full((self.permutations, offsets.size - 1), EMPTY, dtype=np.uint32)
        filled = np.flatnonzero(np.diff(offsets))
        if filled.size:
            starts = offsets[:-1][filled]
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
