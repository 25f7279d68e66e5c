"""The inner loop of signatures as machine code, where the extra `fast` (numba) is installed.

It does what the loop over arrays in `miner.decontam.minhash` does, bit for bit. Every n-gram is read once and
goes through all permutations, while their minima stay in the processor's cache.
"""

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Lower: TypeAlias = Callable[
    [NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]], None
]
"""A function such as `lower`."""


def lower(
    mixed: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    factors: NDArray[np.uint32],
    shifts: NDArray[np.uint32],
    result: NDArray[np.uint32],
) -> None:
    """Lower each text's row of `result` to the smallest value that each permutation gives its n-grams.

    Shapes: `mixed` has one value for each n-gram, `offsets` one more than there are texts, `factors` and
    `shifts` one for each permutation, `result` is (texts, permutations). Sums and products are modulo 2^32.
    """
    for text in range(offsets.size - 1):
        row = result[text]
        for place in range(offsets[text], offsets[text + 1]):
            value = mixed[place]
            for number in range(factors.size):
                row[number] = min(row[number], np.uint32(value * factors[number] + shifts[number]))


@cache
def compiled_lower() -> Lower | None:
    """Return `lower` as machine code, made in about a second; None where numba isn't installed or usable."""
    try:
        from numba import njit, types  # noqa: PLC0415 - an optional extra that takes half a second to import
    except ImportError:
        return None
    values, offsets, table = (
        types.Array(types.uint32, 1, "C"),
        types.Array(types.int64, 1, "C"),
        types.Array(types.uint32, 2, "C"),
    )
    made: Lower = njit(types.void(values, offsets, values, values, table), nogil=True)(lower)
    return made
