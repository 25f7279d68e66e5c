"""n-grams of many texts at once: one flat array of hashes, with the places where each text begins."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from swequarry.text.hashes import Hashes, gram_hashes, token_spans

BATCH = 128
"""Texts that are hashed together: each call has its price, and large arrays leave the processor's cache."""


@dataclass(frozen=True, slots=True)
class Grams:
    """The n-grams of some texts, in order; those of text `i` are `values[offsets[i]:offsets[i + 1]]`."""

    values: Hashes
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return self.offsets.size - 1

    def of(self, text: int) -> Hashes:
        """Return the n-grams of one text, in order."""
        return self.values[self.offsets[text] : self.offsets[text + 1]]

    def owners(self) -> NDArray[np.int64]:
        """Return the number of the text that each n-gram is from."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def sets(self) -> "Grams":
        """Return each text's n-grams sorted, each once."""
        return joined([np.unique(self.of(text)) for text in range(len(self))])


def joined(parts: Sequence[Hashes]) -> Grams:
    """Return n-grams from those of each text."""
    offsets = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([part.size for part in parts], out=offsets[1:])
    return Grams(np.concatenate([np.empty(0, dtype=np.uint64), *parts]), offsets)


def grams_of(texts: Sequence[bytes], size: int) -> Grams:
    """Return the n-grams of `size` tokens of each text.

    A text of fewer tokens has one n-gram of all of them, so that short texts can be compared too; a text
    without tokens has none.
    """
    tokens = token_spans(b"\n".join(texts))
    borders = np.cumsum([0, *(len(text) + 1 for text in texts)])
    places = np.searchsorted(tokens.starts, borders)
    counts = np.diff(places)
    found = gram_hashes(tokens.hashes, size)
    owners = np.repeat(np.arange(len(texts)), counts)
    whole = owners[: found.size] == owners[tokens.hashes.size - found.size :]
    short = np.flatnonzero((counts > 0) & (counts < size))
    values, numbers = found[whole], owners[: found.size][whole]
    if short.size:
        alone = [gram_hashes(tokens.hashes[places[i] : places[i + 1]], int(counts[i])) for i in short]
        order = np.argsort(np.concatenate([numbers, short]), kind="stable")
        values = np.concatenate([values, *alone])[order]
    kept = np.maximum(counts - size + 1, (counts > 0).astype(np.int64))
    return Grams(values, np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept)]))


def batches(count: int) -> list[tuple[int, int]]:
    """Return the borders of the batches of so many texts."""
    return list(pairwise([*range(0, count, BATCH), count]))
