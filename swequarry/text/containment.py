"""Sets of 64-bit hashes: which of many hashes are in a set, and what share of one set another one holds."""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from swequarry.text.hashes import Hashes

_Number = TypeVar("_Number", np.uint32, np.uint64)
_SMALLEST_FILTER, _LARGEST_FILTER = 16, 27
"""Bits of a hash that the table has a place for."""
_PLACES = 4
"""Bits more than the number of hashes has: one in sixteen others gets past the table."""


@dataclass(frozen=True)
class HashSet:
    """A set of hashes for asking many at once: a table of their first bits, then a binary search.

    `values` are sorted, each once.
    """

    values: Hashes

    @classmethod
    def of(cls, *parts: Hashes) -> "HashSet":
        """Return the set of all hashes of some arrays."""
        return cls(distinct(np.concatenate([np.empty(0, dtype=np.uint64), *parts])))

    def __len__(self) -> int:
        return int(self.values.size)

    @cached_property
    def _filter(self) -> NDArray[np.bool_]:
        table = np.zeros(1 << self._bits, dtype=np.bool_)
        table[self.values >> np.uint64(64 - self._bits)] = True
        return table

    @property
    def _bits(self) -> int:
        return min(max(_SMALLEST_FILTER, int(self.values.size).bit_length() + _PLACES), _LARGEST_FILTER)

    def places(self, hashes: Hashes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (place in `hashes`, place in `values`) of each hash that is in the set."""
        if not self.values.size:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        near = np.flatnonzero(self._filter[hashes >> np.uint64(64 - self._bits)])
        found = np.searchsorted(self.values, hashes[near])
        found[found == self.values.size] = 0
        same = self.values[found] == hashes[near]
        return near[same], found[same]

    def without(self, hashes: Hashes) -> "HashSet":
        """Return the set less some hashes."""
        if not hashes.size:
            return self
        left = np.ones(self.values.size, dtype=np.bool_)
        left[self.places(hashes)[1]] = False
        return self if left.all() else HashSet(self.values[left])


def distinct(values: NDArray[_Number]) -> NDArray[_Number]:
    """Sort an array in place and return its values, each once.

    A million hashes take 5 ms, and `numpy.unique`, which has a hash table since 2.3, a hundred times that.
    """
    values.sort()
    is_first = np.ones(values.size, dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    found: NDArray[_Number] = values[is_first]
    return found


def containment(part: HashSet, whole: Hashes) -> float:
    """Return the share of a set that occurs among some hashes; 0 for an empty set."""
    if not len(part):
        return 0.0
    return int(np.unique(part.places(whole)[1]).size) / len(part)
