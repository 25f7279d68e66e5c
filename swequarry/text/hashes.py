"""Hashes of lines, tokens and n-grams, many at a time: equal text gives equal 64 bits on every machine.

For all who ask whether text occurs in other text: the leak audit, decontamination, checks of statements,
review. Code and prose are bytes here; prose goes through `prose_form` first. Nothing is decoded, so any
bytes can be hashed. Hashes aren't secret: whoever wants a collision can make one.

A line's normal form has no blanks at its start and end. A token is a run of letters, digits, `_` and bytes
from 128 on, else one byte of punctuation; blanks are none, so that layout doesn't matter. Both are hashed
eight bytes at a time from unaligned words.
"""

import unicodedata
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

GRAM = 8
"""Tokens in an n-gram of code: about a line and a half."""
LONGEST = 1024
"""Bytes of a line or token that count; what comes after is ignored on both sides."""
_PIECE = 1 << 20
"""Bytes that are hashed together: the working arrays stay in the processor's cache."""
_MULTIPLIERS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93, 0xFF51AFD7ED558CCD] * 8, dtype=np.uint64
) * np.arange(1, 65, 2, dtype=np.uint64)
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(8)], dtype=np.uint64)
_SPACE, _WORD, _MARK = 0, 1, 2


def _classes() -> NDArray[np.uint8]:
    kinds = np.full(256, _MARK, dtype=np.uint8)
    kinds[:33] = _SPACE
    kinds[127] = _SPACE
    kinds[128:] = _WORD
    for byte in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_":
        kinds[byte] = _WORD
    return kinds


_KIND = _classes()
_BLANK = np.isin(np.arange(256), list(b" \t\r\f\v"))
_EIGHT_BLANKS = np.uint64(0x2020202020202020)


def prose_form(text: str) -> str:
    """Return prose without what doesn't matter: compatibility forms, case, the kind and number of blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@dataclass(frozen=True, slots=True)
class Spans:
    """Hashed parts of some bytes, in their order: where each starts, how long it is, its hash."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    hashes: Hashes


def _hash_spans(words: Hashes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Hashes:
    """Hash parts of a buffer, given as the 8-byte words that begin at each of its bytes."""
    counted = np.minimum(lengths, LONGEST)
    whole, rest = counted >> 3, counted & 7
    hashes: Hashes = counted.astype(np.uint64) * _MULTIPLIERS[1]
    active = np.flatnonzero(whole)
    step = 0
    while active.size:
        mixed = (hashes[active] ^ words[starts[active] + 8 * step]) * _MULTIPLIERS[0]
        hashes[active] = mixed ^ (mixed >> np.uint64(29))
        step += 1
        active = active[whole[active] > step]
    hashes ^= words[starts + 8 * whole] & _MASKS[rest]
    hashes *= _MULTIPLIERS[2]
    hashes ^= hashes >> np.uint64(32)
    hashes *= _MULTIPLIERS[3]
    hashes ^= hashes >> np.uint64(29)
    return hashes


def _open(data: bytes) -> tuple[NDArray[np.uint8], Hashes]:
    """Return bytes as an array, and the little-endian words that begin at each byte (and at their end)."""
    padded = data + b"\0" * 8
    words = np.ndarray((len(data) + 1,), dtype="<u8", buffer=padded, strides=(1,))
    return np.frombuffer(data, dtype=np.uint8), words


def line_spans(data: bytes, shortest: int = 1) -> Spans:
    """Return the lines in normal form that have at least `shortest` bytes; lines end at LF."""
    pieces = [_lines_of(data[at:end], at, max(1, shortest)) for at, end in _pieces(data, b"\n")]
    return _joined(pieces)


def _pieces(data: bytes, border: bytes) -> list[tuple[int, int]]:
    """Return borders of pieces that end behind a border byte, or at the end."""
    found, at = [], 0
    while at < len(data):
        end = len(data)
        if end - at > _PIECE:
            end = data.find(border, at + _PIECE) + 1 or len(data)
        found.append((at, end))
        at = end
    return found


def _joined(pieces: list[Spans]) -> Spans:
    if len(pieces) == 1:
        return pieces[0]
    if not pieces:
        none = np.empty(0, dtype=np.int64)
        return Spans(none, none, np.empty(0, dtype=np.uint64))
    return Spans(
        np.concatenate([piece.starts for piece in pieces]),
        np.concatenate([piece.lengths for piece in pieces]),
        np.concatenate([piece.hashes for piece in pieces]),
    )


def _lines_of(data: bytes, at: int, shortest: int) -> Spans:
    array, words = _open(data)
    breaks = np.flatnonzero(array == ord("\n"))
    starts = np.concatenate([np.zeros(1, dtype=np.int64), breaks + 1])
    ends = np.concatenate([breaks, np.array([len(data)], dtype=np.int64)])
    long = ends - starts >= shortest
    starts, ends = starts[long], ends[long]
    _strip(array, words, starts, ends)
    long = ends - starts >= shortest
    starts, lengths = starts[long], (ends - starts)[long]
    return Spans(starts + at, lengths, _hash_spans(words, starts, lengths))


def _strip(
    array: NDArray[np.uint8], words: Hashes, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> None:
    """Move starts and ends of lines over what the normal form leaves out."""
    active = np.flatnonzero(starts + 8 <= ends)
    while active.size:
        active = active[words[starts[active]] == _EIGHT_BLANKS]
        starts[active] += 8
        active = active[starts[active] + 8 <= ends[active]]
    active = np.flatnonzero(starts < ends)
    while active.size:
        active = active[_BLANK[array[starts[active]]]]
        starts[active] += 1
        active = active[starts[active] < ends[active]]
    active = np.flatnonzero(starts < ends)
    while active.size:
        active = active[_BLANK[array[ends[active] - 1]]]
        ends[active] -= 1
        active = active[starts[active] < ends[active]]


def token_spans(data: bytes) -> Spans:
    """Return the tokens of code or of prose."""
    return _joined([_tokens_of(data[at:end], at) for at, end in _pieces(data, b"\n")])


def _tokens_of(data: bytes, at: int) -> Spans:
    array, words = _open(data)
    kinds = _KIND[array]
    word = kinds == _WORD
    first = word.copy()
    first[1:] &= ~word[:-1]
    starts = np.flatnonzero(first | (kinds == _MARK))
    lengths = np.ones(starts.size, dtype=np.int64)
    last = word.copy()
    last[:-1] &= ~word[1:]
    lengths[word[starts]] = np.flatnonzero(last) - np.flatnonzero(first) + 1
    return Spans(starts + at, lengths, _hash_spans(words, starts, lengths))


def gram_hashes(tokens: Hashes, size: int = GRAM) -> Hashes:
    """Return the hash of each run of `size` tokens (at most 32), in order; fewer tokens give none."""
    count = tokens.size - size + 1
    if count <= 0:
        return np.empty(0, dtype=np.uint64)
    total: Hashes = tokens[:count] * _MULTIPLIERS[0]
    for place in range(1, size):
        total += tokens[place : place + count] * _MULTIPLIERS[place]
    total ^= total >> np.uint64(31)
    total *= _MULTIPLIERS[2]
    total ^= total >> np.uint64(29)
    return total


def grams_of(data: bytes, size: int = GRAM) -> Hashes:
    """Return the n-gram hashes of some code or prose, in order."""
    return gram_hashes(token_spans(data).hashes, size)
