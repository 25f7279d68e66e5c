"""n-grams, signatures and near-duplicates of decontamination (edge cases B058, B060)."""

import os
import random
import subprocess
import sys

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given
from hypothesis import strategies as st

from miner.decontam.compiled import compiled_lower, lower
from miner.decontam.grams import grams_of
from miner.decontam.minhash import EMPTY, Sketcher, _mixed
from miner.decontam.near import BandIndex, candidate_pairs, jaccard
from swequarry.text.hashes import gram_hashes, token_spans

TEXTS = st.lists(st.text(alphabet="ab c\n(.é", max_size=40).map(str.encode), max_size=12)


@given(TEXTS, st.integers(2, 13))
def test_a_batch_has_the_grams_that_each_text_has_alone(texts, size):
    grams = grams_of(texts, size)
    assert len(grams) == len(texts)
    for number, text in enumerate(texts):
        tokens = token_spans(text).hashes
        alone = (
            gram_hashes(tokens, size)
            if tokens.size >= size
            else gram_hashes(tokens, tokens.size)[: tokens.size]
        )
        assert grams.of(number).tolist() == alone.tolist()


@given(TEXTS)
def test_sets_are_sorted_without_doubles(texts):
    sets = grams_of(texts, 2).sets()
    for number in range(len(texts)):
        assert sets.of(number).tolist() == sorted(set(grams_of(texts, 2).of(number).tolist()))


@pytest.mark.parametrize("permutations, seed", [(128, 1), (64, 7)])
def test_signatures_are_datasketchs_bit_for_bit(permutations, seed):
    texts = [b"a b c d e f g", b"", b"one", b"x " * 3000]
    grams = grams_of(texts, 5)
    ours = Sketcher(permutations, seed, compiled=False).signatures(grams)
    for number in range(len(texts)):
        theirs = MinHash(num_perm=permutations, seed=seed, scheme="affine32", hashfunc=int)
        theirs.update_batch((grams.of(number) & np.uint64(0xFFFFFFFF)).tolist())
        assert ours[number].tolist() == theirs.hashvalues.tolist()
    assert set(ours[1].tolist()) == {int(EMPTY)}


@given(TEXTS)
def test_the_loop_that_is_compiled_gives_the_same_signatures(texts):
    """The loop itself, as Python: what the compiler makes of it is tested where it is installed."""
    grams, sketcher = grams_of(texts, 3), Sketcher(4, compiled=False)
    rows = np.full((len(texts), 4), EMPTY, dtype=np.uint32)
    with np.errstate(over="ignore"):
        lower(_mixed(grams.values.astype(np.uint32)), grams.offsets, *sketcher._lines, rows)
    assert rows.tolist() == sketcher.signatures(grams).tolist()


def test_machine_code_gives_the_same_signatures():
    pytest.importorskip("numba", reason="numba isn't installed (extra `fast`)")
    assert compiled_lower() is not None
    rng = random.Random(1)
    words = [b"w%d" % number for number in range(40)]
    texts = [b" ".join(rng.choices(words, k=rng.randrange(300))) for _ in range(300)]
    for batch in (texts, [], [b""], [b"", b"one", b""]):
        grams = grams_of(batch, 5)
        fast, plain = Sketcher(), Sketcher(compiled=False)
        assert fast.signatures(grams).tolist() == plain.signatures(grams).tolist()


def test_without_numba_numpy_alone_does_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    compiled_lower.cache_clear()
    try:
        assert compiled_lower() is None
        assert Sketcher() == Sketcher(compiled=False)
        assert Sketcher().signatures(grams_of([b"a b c d e f"], 5)).shape == (1, 128)
    finally:
        compiled_lower.cache_clear()


def test_a_signature_becomes_an_object_of_datasketch():
    sketcher = Sketcher()
    grams = grams_of([b"a b c d e f", b"a b c d e f", b"u v w x y z"], 3)
    left, same, other = map(sketcher.as_minhash, sketcher.signatures(grams))
    assert (left.jaccard(same), left.jaccard(other)) == (1.0, 0.0)


def test_texts_without_tokens_are_like_nothing():
    grams = grams_of([b"", b" \n", b"cat", b"dog", b"cat"], 5)
    signatures = Sketcher().signatures(grams)
    assert candidate_pairs(signatures, np.diff(grams.offsets) > 0) == ((2, 4),)
    assert jaccard(grams.of(0), grams.of(1)) == 0.0


def planted(count: int, changed: int, rng: random.Random) -> tuple[list[bytes], list[tuple[int, int]]]:
    """Return texts of 200 tokens, each followed by a copy in which some tokens in a row are others."""
    texts, pairs = [], []
    for _ in range(count):
        words = [f"w{rng.randrange(10**9)}" for _ in range(200)]
        at = rng.randrange(200 - changed)
        copy = words[:at] + [f"n{rng.randrange(10**9)}" for _ in range(changed)] + words[at + changed :]
        pairs.append((len(texts), len(texts) + 1))
        texts += [" ".join(words).encode(), " ".join(copy).encode()]
    return texts, pairs


@pytest.mark.parametrize("changed", [5, 15])
def test_near_duplicates_are_found_and_strangers_are_not(changed):
    texts, pairs = planted(400, changed, random.Random(changed))
    grams = grams_of(texts, 5)
    found = set(candidate_pairs(Sketcher().signatures(grams), np.diff(grams.offsets) > 0))
    sets = grams.sets()
    assert min(jaccard(sets.of(left), sets.of(right)) for left, right in pairs) >= 0.8
    assert len(found & set(pairs)) >= 0.99 * len(pairs)
    assert all(jaccard(sets.of(left), sets.of(right)) < 0.1 for left, right in found - set(pairs))


def test_an_index_gives_what_all_pairs_give():
    texts, pairs = planted(50, 10, random.Random(0))
    grams = grams_of(texts, 5)
    signatures = Sketcher().signatures(grams)
    index = BandIndex(signatures[::2], np.ones(50, dtype=np.bool_))
    found = index.candidates(signatures[1::2])
    assert all(left // 2 in found[number] for number, (left, _) in enumerate(pairs))


def test_hashes_are_the_same_in_another_process():
    code = (
        "from miner.decontam.grams import grams_of; from miner.decontam.minhash import Sketcher; "
        "print(Sketcher().signatures(grams_of([b'a b c d e f g'], 5)).tolist())"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1")
    }
    assert len(told) == 1
