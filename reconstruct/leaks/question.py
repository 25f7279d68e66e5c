"""What the indexes of an environment say of an answer: which lines tell nothing, which files to read."""

from collections.abc import Iterator

import numpy as np

from reconstruct.leaks.answer import Answer, without_lines
from reconstruct.leaks.groups import FileGroup
from reconstruct.leaks.index import FileIndex, Hits
from swequarry.sandbox.visible import VisibleFile
from swequarry.text.hashes import line_spans

COMMON = 10
"""Files of an environment that have a line which says nothing: copies of an answer lie in fewer places."""


class Question:
    """Asks the index of one group after the other, and keeps of each what matters only."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._hashes = answer.line_hashes.values
        self._counts = np.zeros(self._hashes.size, dtype=np.int64)
        self._asked: list[tuple[FileGroup, Hits, bool]] = []

    def ask(self, group: FileGroup, index: FileIndex) -> None:
        """Look an answer up in the index of a group."""
        hits, every = index.hits(self._hashes), index.may_hold(self._answer)
        self._counts += np.bincount(hits.hashes, minlength=self._hashes.size)
        if every or hits.files.size:
            self._asked.append((group, hits, every))

    def answer(self) -> Answer:
        """Return the answer less its lines that many files have: what everybody writes tells nothing."""
        lines = sorted(self._answer.all_lines)
        places = np.searchsorted(self._hashes, line_spans(b"\n".join(lines)).hashes)
        common = self._counts[places] >= COMMON
        return without_lines(
            self._answer, frozenset(line for line, told in zip(lines, common, strict=True) if told)
        )

    def suspects(self) -> Iterator[VisibleFile]:
        """Yield the files that need a closer look.

        Those with a line or name that tells something, and all files of a group that may hold a block.
        """
        left = np.isin(self._hashes, self.answer().line_hashes.values)
        for group, hits, every in self._asked:
            numbers = range(len(group.files)) if every else np.unique(hits.files[left[hits.hashes]])
            for number in numbers:
                yield group.files[number]
