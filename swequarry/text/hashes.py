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

VERSION = 2
"""Goes up with every change of what a text's hashes are; whoever stores hashes stores it beside them."""
GRAM = 8
"""Tokens in an n-gram of code: about a line and a half."""
LONGEST = 1024
"""Bytes of a line or token that count; what comes after is ignored on both sides."""
_PIECE = 1 << 18
"""Bytes that are hashed together: the working arrays stay in the processor's cache."""
_STEP, _LENGTH, _LAST = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93], dtype=np.uint64
)
"""Odd multipliers: for each word of a part and each token of an n-gram, for a length, for the end."""
_WORD_BYTES = 8
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(_WORD_BYTES + 1)], dtype=np.uint64)
"""What counts of a word, by the number of bytes that are left of a part: the last for all larger numbers."""
_SPACE, _WORD, _MARK = 0, 1, 2


def _classes() -> bytes:
    kinds = bytearray([_MARK] * 256)
    kinds[:33] = bytes([_SPACE] * 33)
    kinds[127] = _SPACE
    kinds[128:] = bytes([_WORD] * 128)
    for byte in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_":
        kinds[byte] = _WORD
    return bytes(kinds)


_KINDS = _classes()
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
    """Hash parts of a buffer, none empty, given as the 8-byte words that begin at each of its bytes."""
    counted = np.minimum(lengths, LONGEST)
    hashes: Hashes = words.take(starts) & _MASKS.take(counted, mode="clip")
    hashes ^= counted.astype(np.uint64) * _LENGTH
    _mix(hashes, _STEP)
    longer = np.flatnonzero(counted > _WORD_BYTES)
    at = _WORD_BYTES
    while longer.size:
        left = counted[longer] - at
        mixed = hashes[longer] ^ (words.take(starts[longer] + at) & _MASKS.take(left, mode="clip"))
        _mix(mixed, _STEP)
        hashes[longer] = mixed
        longer = longer[left > _WORD_BYTES]
        at += _WORD_BYTES
    _mix(hashes, _LAST)
    return hashes


def _mix(hashes: Hashes, multiplier: np.uint64) -> None:
    """Spread each hash over its 64 bits, in place."""
    hashes *= multiplier
    hashes ^= hashes >> np.uint64(32)


def _open(data: bytes) -> tuple[NDArray[np.uint8], Hashes]:
    """Return bytes as an array, and the little-endian words that begin at each byte (and at their end)."""
    padded = data + b"\0" * 8
    words = np.ndarray((len(data) + 1,), dtype="<u8", buffer=padded, strides=(1,))
    return np.frombuffer(data, dtype=np.uint8), words.copy()


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
    long = np.flatnonzero(ends - starts >= shortest)
    starts, ends = starts[long], ends[long]
    _strip(array, words, starts, ends)
    long = np.flatnonzero(ends - starts >= shortest)
    starts, lengths = starts[long], ends[long] - starts[long]
    return Spans(starts + at, lengths, _hash_spans(words, starts, lengths))


def _strip(
    array: NDArray[np.uint8], words: Hashes, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> None:
    """Move starts and ends of lines, none of them empty, over what the normal form leaves out."""
    active = np.arange(starts.size)
    while active.size:
        blanks = _leading_blanks(words.take(starts[active]))
        starts[active] += blanks
        active = active[blanks == _WORD_BYTES]
    active = np.flatnonzero((starts < ends) & _BLANK[array.take(starts, mode="clip")])
    while active.size:
        starts[active] += 1
        active = active[starts[active] < ends[active]]
        active = active[_BLANK[array[starts[active]]]]
    active = np.flatnonzero((starts < ends) & _BLANK[array[ends - 1]])
    while active.size:
        ends[active] -= 1
        active = active[starts[active] < ends[active]]
        active = active[_BLANK[array[ends[active] - 1]]]


def _leading_blanks(words: Hashes) -> NDArray[np.int64]:
    """Return with how many spaces each word begins: the place of the lowest bit that is none of theirs."""
    other = words ^ _EIGHT_BLANKS
    lowest = other & (~other + np.uint64(1))
    places = (lowest.astype(np.float64).view(np.int64) >> 52) - 1023
    places[other == 0] = 8 * _WORD_BYTES
    return places >> 3


def token_spans(data: bytes) -> Spans:
    """Return the tokens of code or of prose."""
    return _joined([_tokens_of(data[at:end], at) for at, end in _pieces(data, b"\n")])


def _tokens_of(data: bytes, at: int) -> Spans:
    _, words = _open(data)
    kinds = np.frombuffer(data.translate(_KINDS), dtype=np.uint8)
    word, starts_here = kinds == _WORD, kinds == _MARK
    ends_here = starts_here.copy()
    starts_here[:1] |= word[:1]
    starts_here[1:] |= word[1:] > word[:-1]
    ends_here[:-1] |= word[:-1] > word[1:]
    ends_here[-1:] |= word[-1:]
    starts = np.flatnonzero(starts_here)
    lengths = np.flatnonzero(ends_here) + 1 - starts
    return Spans(starts + at, lengths, _hash_spans(words, starts, lengths))


def gram_hashes(tokens: Hashes, size: int = GRAM) -> Hashes:
    """Return the hash of each run of `size` tokens, in order; fewer tokens give none.

    It is the polynomial of the tokens, first to last, put together from those of runs of 1, 2, 4, ... tokens.
    """
    count = tokens.size - size + 1
    if count <= 0:
        return np.empty(0, dtype=np.uint64)
    total: Hashes = np.zeros(count, dtype=np.uint64)
    run, width, power, done = tokens, 1, int(_STEP), 0
    while True:
        if size & width:
            total *= np.uint64(power)
            total += run[done : done + count]
            done += width
        if done == size:
            break
        run = run[:-width] * np.uint64(power) + run[width:]
        width, power = 2 * width, power * power % (1 << 64)
    _mix(total, _LAST)
    return total


def grams_of(data: bytes, size: int = GRAM) -> Hashes:
    """Return the n-gram hashes of some code or prose, in order."""
    return gram_hashes(token_spans(data).hashes, size)
