"""What a leak audit looks for: the lines, n-grams and names that only gold patch and hidden tests bring."""

import keyword
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from swequarry.git.patchreader import PatchReader
from swequarry.text.containment import HashSet
from swequarry.text.hashes import Hashes, Spans, gram_hashes, grams_of, line_spans, token_spans

SHORTEST_LINE = 20
"""Bytes of a line, without its blanks, that can tell something."""
SHORTEST_WORD = 6
FEWEST_GRAMS = 12
"""n-grams of a block for which a share means something: about twenty tokens."""
_BATCH = 1 << 18
_BORDER = b"\n\xff\xfe\xff\n"
"""Between the texts of a batch: no n-gram of an answer has such a token, so none is seen across a border."""
_WORDS = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_LICENCE = re.compile(r"(?i)licen[cs]e|copying|notice\b|authors\b")
"""Files whose text is everybody's, or is no answer."""
_SYNTAX = re.compile(rb"(from [\w.]+ )?import |@|#!|# -\*-|\"\"\"|'''|<<<<<<<|=======|>>>>>>>")
"""Starts of lines that many files share: imports, decorators, marks."""


@dataclass(frozen=True)
class Block:
    """What one hunk adds: whose (`gold` or `tests`), to which file, the n-grams that base doesn't have."""

    kind: str
    path: str
    grams: HashSet


@dataclass(frozen=True, kw_only=True)
class BlockGrams:
    """The n-grams of several blocks: where each block starts, and how many it has."""

    hashes: Hashes
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]


@dataclass(frozen=True)
class Answer:
    """What only the answer has, and base hasn't anywhere.

    `lines` and `words` are in normal form, by kind (`gold`, `tests`). `names` are markers of the task itself
    (its id, its pull request); `stems` the names of changed Python modules; `modules` the changed files below
    their top-level packages, as they would lie in site-packages.
    """

    lines: dict[str, frozenset[bytes]]
    words: dict[str, frozenset[bytes]]
    blocks: tuple[Block, ...]
    names: tuple[str, ...] = ()
    stems: frozenset[str] = frozenset()

    @cached_property
    def line_hashes(self) -> HashSet:
        """The hashes of all lines and words."""
        found = frozenset().union(*self.lines.values(), *self.words.values())
        return HashSet.of(line_spans(b"\n".join(sorted(found))).hashes)

    @cached_property
    def all_lines(self) -> frozenset[bytes]:
        """The lines of both kinds."""
        return frozenset().union(*self.lines.values())

    @cached_property
    def block_grams(self) -> "BlockGrams":
        """The n-grams of all blocks, one block after the other; there is at least one."""
        sizes = np.array([len(block.grams) for block in self.blocks])
        hashes = np.concatenate([block.grams.values for block in self.blocks])
        return BlockGrams(hashes=hashes, starts=np.cumsum(sizes) - sizes, sizes=sizes)

    @cached_property
    def grams(self) -> HashSet:
        """The n-grams of all blocks."""
        return HashSet.of(*(block.grams.values for block in self.blocks))


def is_distinctive(line: bytes) -> bool:
    """Whether a line in normal form says enough to be known again: long, no mere syntax, some words."""
    if len(line) < SHORTEST_LINE or _SYNTAX.match(line):
        return False
    words = {word for word in _WORDS.findall(line) if not keyword.iskeyword(word.decode("ascii"))}
    return len(words) >= 2 and any(len(word) > 3 for word in words)  # noqa: PLR2004


def read_answer(patches: Iterable[tuple[str, bytes]], *, names: Sequence[str] = ()) -> Answer:
    """Return what some patches add, each given with its kind; what base has is still in it.

    Raises:
        PatchError: a patch can't be parsed.
    """
    lines: dict[str, set[bytes]] = {}
    words: dict[str, set[bytes]] = {}
    blocks, stems = [], set()
    for kind, patch in patches:
        for file in PatchReader(patch).files():
            path = file.paths[-1].decode("utf-8", "replace")
            if _LICENCE.match(PurePosixPath(path).name):
                continue
            if path.endswith(".py"):
                stems.add(PurePosixPath(path).stem)
            for hunk in file.hunks:
                text = b"".join(hunk.added)
                kept = {line.strip() for line in hunk.added}
                lines.setdefault(kind, set()).update(filter(is_distinctive, kept))
                if path.endswith(".py"):
                    found = {word for word in _WORDS.findall(text) if len(word) >= SHORTEST_WORD}
                    words.setdefault(kind, set()).update(found)
                blocks.append(Block(kind, path, HashSet.of(grams_of(text))))
    return Answer(
        lines={kind: frozenset(found) for kind, found in lines.items()},
        words={kind: frozenset(found) for kind, found in words.items()},
        blocks=tuple(block for block in blocks if len(block.grams) >= FEWEST_GRAMS),
        names=tuple(names),
        stems=frozenset(stems),
    )


def without_lines(answer: Answer, lines: frozenset[bytes]) -> Answer:
    """Return an answer that some lines don't give away."""
    return replace(answer, lines={kind: found - lines for kind, found in answer.lines.items()})


class Novelty:
    """Takes out of an answer what base has, file by file; small files are hashed together."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._lines = set(answer.all_lines)
        self._words = set(frozenset().union(*answer.words.values()))
        self._word_hashes = HashSet.of(_hashes_of_words(sorted(self._words)))
        self._grams = answer.grams
        self._texts: list[bytes] = []
        self._size = 0

    def see(self, data: bytes) -> None:
        """Take out what a file of base has."""
        if b"\0" in data[:8192]:
            return
        self._texts.append(data)
        self._size += len(data)
        if self._size >= _BATCH:
            self._take_out()

    def _take_out(self) -> None:
        data = _BORDER.join(self._texts)
        self._texts, self._size = [], 0
        self._lines.difference_update(map(bytes.strip, data.split(b"\n")))
        tokens = token_spans(data)
        self._grams = self._grams.without(gram_hashes(tokens.hashes))
        self._word_hashes = self._word_hashes.without(tokens.hashes)
        self._words.difference_update(_words_inside(data, tokens))

    def rest(self) -> Answer:
        """Return the answer less all that was seen."""
        self._take_out()
        left = self._grams.values
        blocks = [
            replace(block, grams=HashSet(np.intersect1d(block.grams.values, left, assume_unique=True)))
            for block in self._answer.blocks
        ]
        words = sorted(self._words)
        is_new = np.isin(_hashes_of_words(words), self._word_hashes.values)
        new = frozenset(word for word, told in zip(words, is_new, strict=True) if told)
        return replace(
            self._answer,
            lines={kind: found & self._lines for kind, found in self._answer.lines.items()},
            words={kind: found & new for kind, found in self._answer.words.items()},
            blocks=tuple(block for block in blocks if len(block.grams) >= FEWEST_GRAMS),
        )


def _hashes_of_words(words: Sequence[bytes]) -> Hashes:
    return token_spans(b"\n".join(words)).hashes


def _words_inside(data: bytes, tokens: Spans) -> Iterator[bytes]:
    """Yield the words that are parts of tokens: behind digits, or beside bytes from 128 on."""
    array = np.frombuffer(data, dtype=np.uint8)
    is_digit = array[tokens.starts] - np.uint8(ord("0")) < 10  # noqa: PLR2004
    holds_words = is_digit & (tokens.lengths > SHORTEST_WORD)
    if not data.isascii():
        others = np.flatnonzero(array >= 128)  # noqa: PLR2004
        holds_words[np.searchsorted(tokens.starts, others, side="right") - 1] = True
    found = np.flatnonzero(holds_words)
    for start, length in zip(tokens.starts[found].tolist(), tokens.lengths[found].tolist(), strict=True):
        yield from _WORDS.findall(data[start : start + length])
