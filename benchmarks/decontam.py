"""Speed and recall of decontamination, beside datasketch and a Python set, on the same texts in one run.

    python -m benchmarks.decontam [--folder DIR] [--texts N]

Texts are pieces of 2,000 bytes of the Python files below a folder (default: the standard library). Times are
processor time of one core. Text-dedup is a third peer where it is installed; signatures are made
a second time with the extra `fast` where that is.
"""

import argparse
import random
import re
import resource
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from datasketch import MinHash

from benchmarks.options import sampled
from miner.decontam.compare import Comparer
from miner.decontam.compiled import compiled_lower
from miner.decontam.fingerprint import make_fingerprints
from miner.decontam.grams import BATCH, batches, grams_of
from miner.decontam.items import Item, Part
from miner.decontam.minhash import Sketcher
from miner.decontam.near import SIMILAR, candidate_pairs, jaccard
from swequarry.text.containment import HashSet

_SIZE, _NEAR, _CONTAINED = 2000, 5, 13
_TOKEN = re.compile(rb"\w+|[^\w\s]")
_PLANTED = 2000
_STREAMED = 2000
_CHANGES = (0.01, 0.02, 0.04, 0.06)


def main() -> None:
    """Measure and print one line for each figure."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--folder", type=Path, default=Path(sysconfig.get_path("stdlib")))
    options.add_argument("--texts", type=int, default=12_000)
    given = options.parse_args()
    texts = sampled(list(_pieces(given.folder)), given.texts)
    print(f"{len(texts)} texts of {_SIZE} bytes")
    _memory(texts)
    _signatures(texts)
    _containment(texts)
    _recall(texts)


def _pieces(folder: Path) -> Iterator[bytes]:
    for path in sorted(folder.rglob("*.py")):
        data = path.read_bytes()
        yield from (data[at : at + _SIZE] for at in range(0, len(data) - _SIZE, _SIZE))


def _rate(work: Callable[[Sequence[bytes]], object], texts: Sequence[bytes], rounds: int = 3) -> float:
    """Return texts per second of processor time, the best of some rounds."""
    best = 0.0
    for _ in range(rounds):
        began = time.process_time()
        work(texts)
        best = max(best, len(texts) / (time.process_time() - began))
    return best


def _signatures(texts: Sequence[bytes]) -> None:
    plain, fast = Sketcher(compiled=False), Sketcher()

    def sketch_all(batch: Sequence[bytes], sketcher: Sketcher) -> None:
        for first, last in batches(len(batch)):
            sketcher.signatures(grams_of(batch[first:last], _NEAR))

    def ours(batch: Sequence[bytes]) -> None:
        sketch_all(batch, plain)

    def theirs(batch: Sequence[bytes]) -> None:
        for text in batch:
            sketch = MinHash(num_perm=128, seed=1)
            for gram in _shingles(text, _NEAR):
                sketch.update(gram)

    def theirs_bulk(batch: Sequence[bytes]) -> None:
        MinHash.bulk([list(_shingles(text, _NEAR)) for text in batch], num_perm=128, seed=1)

    rate, update, bulk = _rate(ours, texts), _rate(theirs, texts[:200]), _rate(theirs_bulk, texts[:1000])
    print(f"signatures, text in: {rate:,.0f} texts/s")
    for name, other in (("update", update), ("bulk", bulk)):
        print(f"  datasketch, `{name}`: {other:,.0f} ({rate / other:.0f} x)")
    _beside_text_dedup(texts, rate)
    if compiled_lower() is None:
        print("the extra `fast` isn't installed: not measured")
        return
    rate, other = _in_turns(ours, lambda batch: sketch_all(batch, fast), texts)
    print(
        f"  with the extra `fast`: {other:,.0f} texts/s ({other / rate:.2f} x numpy alone in turns with it)"
    )


def _in_turns(
    first: Callable[[Sequence[bytes]], object],
    second: Callable[[Sequence[bytes]], object],
    texts: Sequence[bytes],
) -> tuple[float, float]:
    turns = [(_rate(first, texts, 1), _rate(second, texts, 1)) for _ in range(3)]
    return max(turn[0] for turn in turns), max(turn[1] for turn in turns)


def _beside_text_dedup(texts: Sequence[bytes], rate: float) -> None:
    """Compare with text-dedup's own function, at its fastest hash and 32 bits, on the same texts."""
    try:
        from text_dedup.minhash import embed_func  # noqa: PLC0415 - a peer that may be absent
        from text_dedup.utils.hashfunc import xxh3_32hash  # noqa: PLC0415 - the same
    except ImportError:
        print("text-dedup isn't installed: not compared")
        return
    drawn = np.random.RandomState(1)
    prime = np.uint32((1 << 32) - 5)
    permutations = (
        drawn.randint(1, prime, size=(128,), dtype=np.uint32),
        drawn.randint(0, prime, size=(128,), dtype=np.uint32),
    )
    ranges = [(at, at + 8) for at in range(0, 128, 8)]

    def theirs(batch: Sequence[bytes]) -> None:
        for number, text in enumerate(batch):
            embed_func(
                content=text.decode("utf-8", "replace"),
                idx=number,
                num_perm=128,
                ngram_size=_NEAR,
                min_length=1,
                hashranges=ranges,
                permutations=permutations,
                hash_func=xxh3_32hash,
                dtype=np.uint32,
                max_hash=np.uint32((1 << 32) - 1),
                modulo_prime=prime,
            )

    other = _rate(theirs, texts[:1000])
    print(f"  text-dedup: {other:,.0f} texts/s ({rate / other:.0f} x)")


def _shingles(text: bytes, size: int) -> Iterator[bytes]:
    tokens = _TOKEN.findall(text)
    return (b" ".join(tokens[at : at + size]) for at in range(len(tokens) - size + 1))


def _containment(texts: Sequence[bytes]) -> None:
    half = len(texts) // 2
    known, asked = texts[:half], texts[half:]
    stored = HashSet.of(*(grams_of(known[a:b], _CONTAINED).values for a, b in batches(half)))
    plain = {gram for text in known for gram in _tuples(text)}

    def ours(batch: Sequence[bytes]) -> None:
        for first, last in batches(len(batch)):
            stored.places(grams_of(batch[first:last], _CONTAINED).values)

    def theirs(batch: Sequence[bytes]) -> None:
        for text in batch:
            sum(gram in plain for gram in _tuples(text))

    rate, other = _rate(ours, asked), _rate(theirs, asked[:2000])
    print(f"containment in {len(stored):,} 13-grams: {rate:,.0f} texts/s")
    print(f"  a Python set: {other:,.0f} ({rate / other:.1f} x)")


def _tuples(text: bytes) -> Iterator[int]:
    tokens = _TOKEN.findall(text)
    return (hash(tuple(tokens[at : at + _CONTAINED])) for at in range(len(tokens) - _CONTAINED + 1))


def _recall(texts: Sequence[bytes]) -> None:
    """Plant near-duplicates among strangers; how many are found, and how many pairs are false."""
    rng = random.Random(0)
    originals = list(texts[:_PLANTED])
    copies = [_changed(text, rng.choice(_CHANGES), rng) for text in originals]
    every = [*originals, *copies, *texts[_PLANTED : 3 * _PLANTED]]
    parts = [grams_of(every[first : first + BATCH], _NEAR) for first in range(0, len(every), BATCH)]
    sets = [np.unique(part.of(number)) for part in parts for number in range(len(part))]
    signatures = np.concatenate([Sketcher().signatures(part) for part in parts])
    found = set(candidate_pairs(signatures, np.array([part.size > 0 for part in sets])))
    verified = {pair for pair in found if jaccard(sets[pair[0]], sets[pair[1]]) >= SIMILAR}
    alike = [(n, n + _PLANTED) for n in range(_PLANTED) if jaccard(sets[n], sets[n + _PLANTED]) >= 0.8]
    hit = sum(pair in verified for pair in alike)
    print(f"planted pairs at 0.8 or more: {hit} of {len(alike)} found ({hit / len(alike):.2%}); ", end="")
    print(f"{len(found):,} candidate pairs, {len(verified):,} of them exactly {SIMILAR} or more")
    false = sum(_plain_jaccard(every[left], every[right]) < SIMILAR for left, right in verified)
    print(f"  of these by sets of token tuples below {SIMILAR}, so false: {false}")


def _plain_jaccard(left: bytes, right: bytes) -> float:
    ours, theirs = (set(_shingles(text, _NEAR)) for text in (left, right))
    return len(ours & theirs) / len(ours | theirs)


def _memory(texts: Sequence[bytes]) -> None:
    """Stream items through the comparison; the peak must not grow with their number."""
    known = [Item(id=f"known-{n}", parts={Part.GOLD: text}) for n, text in enumerate(texts[:500])]
    comparer = Comparer(make_fingerprints(known, "benchmark"))
    peaks = []
    for count in (_STREAMED, 4 * _STREAMED):
        items = (Item(id=str(n), parts={Part.GOLD: texts[n % len(texts)]}) for n in range(count))
        for _ in comparer.decisions(items):
            pass
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(
        f"peak memory after {_STREAMED:,} and {4 * _STREAMED:,} more items: "
        f"{peaks[0]:.0f} and {peaks[1]:.0f} MB"
    )


def _changed(text: bytes, share: float, rng: random.Random) -> bytes:
    words = text.split(b" ")
    for place in rng.sample(range(len(words)), max(1, int(share * len(words)))):
        words[place] = b"changed%d" % rng.randrange(10**9)
    return b" ".join(words)


if __name__ == "__main__":
    main()
