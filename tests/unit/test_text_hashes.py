"""Hashes of lines, tokens and n-grams against the plain definition, on any bytes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from swequarry.text import hashes
from swequarry.text.containment import HashSet, containment
from swequarry.text.hashes import gram_hashes, grams_of, line_spans, prose_form, token_spans

PIECES = st.lists(
    st.sampled_from(
        [b" ", b"\t", b"\n", b"\r\n", b"+", b"a", b"name", b"x" * 9, b"(", b"\xc3\xa9", b"\0", b" " * 8]
    ),
    max_size=60,
)
WORDS = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") | set(range(128, 256))
SPACES = set(range(33)) | {127}


def plain_tokens(data: bytes) -> list[bytes]:
    found, word = [], b""
    for byte in data:
        if byte in WORDS:
            word += bytes([byte])
            continue
        found += [word] if word else []
        word = b""
        found += [] if byte in SPACES else [bytes([byte])]
    return found + ([word] if word else [])


@given(PIECES.map(b"".join))
def test_tokens_are_those_of_the_definition(data: bytes) -> None:
    spans = token_spans(data)
    cut = [data[s : s + n] for s, n in zip(spans.starts, spans.lengths, strict=True)]
    assert cut == plain_tokens(data)
    by_text = dict(zip(cut, spans.hashes.tolist(), strict=True))
    assert [by_text[text] for text in cut] == spans.hashes.tolist()
    assert len(set(by_text.values())) == len(by_text)


@given(PIECES.map(b"".join), st.integers(1, 12))
def test_lines_are_those_of_the_definition(data: bytes, shortest: int) -> None:
    spans = line_spans(data, shortest)
    cut = [data[s : s + n] for s, n in zip(spans.starts, spans.lengths, strict=True)]
    assert cut == [
        line for line in (raw.strip(b" \t\r\f\v") for raw in data.split(b"\n")) if len(line) >= shortest
    ]
    assert all(
        line_spans(line).hashes.tolist() == [h] for line, h in zip(cut, spans.hashes.tolist(), strict=True)
    )


@given(PIECES.map(b"".join), st.integers(1, 9))
def test_equal_n_grams_have_equal_hashes_and_others_do_not(data: bytes, size: int) -> None:
    tokens = plain_tokens(data)
    grams = [tuple(tokens[at : at + size]) for at in range(len(tokens) - size + 1)]
    hashed = gram_hashes(token_spans(data).hashes, size).tolist()
    assert len(hashed) == len(grams)
    assert len(set(zip(grams, hashed, strict=True))) == len(set(grams)) == len(set(hashed))


@given(PIECES.map(b"".join))
def test_layout_does_not_change_n_grams(data: bytes) -> None:
    assert grams_of(data).tolist() == grams_of(b"\n\t ".join(plain_tokens(data))).tolist()


def test_pieces_of_a_long_text_do_not_change_its_hashes(monkeypatch) -> None:
    data = b"".join(b"    value_%d = call(%d, name)\n" % (n, n * n) for n in range(500))
    whole = line_spans(data), token_spans(data)
    monkeypatch.setattr(hashes, "_PIECE", 64)
    for one, other in zip(whole, (line_spans(data), token_spans(data)), strict=True):
        assert np.array_equal(one.hashes, other.hashes)
        assert np.array_equal(one.starts, other.starts)


@given(st.sets(st.integers(0, 2**64 - 1)), st.lists(st.integers(0, 2**64 - 1)))
def test_containment_is_the_share_of_the_set(part: set[int], whole: list[int]) -> None:
    whole += list(part)[::2]
    made = HashSet.of(np.array(sorted(part), dtype=np.uint64))
    want = len(part & set(whole)) / len(part) if part else 0.0
    assert containment(made, np.array(whole, dtype=np.uint64)) == want
    left = made.without(np.array(whole, dtype=np.uint64))
    assert set(left.values.tolist()) == part - set(whole)


def test_prose_form_drops_what_does_not_matter() -> None:
    assert prose_form("  The\u00a0\ufb01x \n IS here ") == "the fix is here"
