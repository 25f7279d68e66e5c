"""Compares items with benchmarks, layer by layer; each decision names the item and quotes the span.

Layers: the same instance; the same change; n-grams of one contained in the other; near-duplicates; a passage
of prose in common; the same base commit; the same repository. Boilerplate was taken off both sides before.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from miner.decontam.fingerprint import NEAR_SIZE, SIZES, Fingerprints, Known
from miner.decontam.grams import BATCH, Grams, grams_of
from miner.decontam.items import Item, Part
from miner.decontam.near import SIMILAR, jaccard
from swequarry.text.containment import HashSet
from swequarry.text.hashes import Hashes, token_spans

CONTAINED = 0.5
"""Share of n-grams from which an item is removed."""
DOUBTFUL = 0.2
"""Share of n-grams from which a person should look."""
FEWEST = 8
"""Distinct n-grams in common below which a share says nothing."""
SUBSTANTIAL = 20
"""N-grams of a text from which it is removed without a person's look."""
PASSAGE = 12
"""Words in a row, in a statement, that aren't written twice by chance."""
_WORD = re.compile(rb"[a-z]{2,}")
_LONGEST_QUOTE = 200


class Action(StrEnum):
    """What is to be done with an item."""

    KEEP = "keep"
    REVIEW = "review"
    REMOVE = "remove"


class Layer(StrEnum):
    """By what an item was recognised, the surest first."""

    INSTANCE = "instance"
    CHANGE = "change"
    CONTAINED = "contained"
    NEAR = "near_duplicate"
    PASSAGE = "passage"
    BASE = "base"
    REPOSITORY = "repository"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One recognition: the benchmark's item, how sure (a share from 0 to 1), and the span in our item."""

    action: Action
    layer: Layer
    item: str
    benchmark: str
    score: float = 1.0
    part: Part | None = None
    span: str = ""

    def __str__(self) -> str:
        """Say it in one sentence."""
        what = {
            Layer.INSTANCE: "is the instance",
            Layer.CHANGE: "makes the same change as",
            Layer.CONTAINED: f"{self.score:.0%} of the {self.part} n-grams are in common with",
            Layer.NEAR: f"the {self.part} is {self.score:.0%} similar to that of",
            Layer.PASSAGE: f"the {self.part} shares a passage with",
            Layer.BASE: "has the base commit of",
            Layer.REPOSITORY: "is of the repository of",
        }[self.layer]
        quoted = f": {self.span!r}" if self.span else ""
        return f"{what} {self.item} ({self.benchmark}){quoted}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What becomes of an item, and every match it rests on, the surest first."""

    id: str
    action: Action
    matches: tuple[Match, ...] = ()


@dataclass(frozen=True, slots=True)
class _Hit:
    """N-grams in common of one of our texts and one known item."""

    text: int
    known: int
    shared: int


class Comparer:
    """Compares with one set of fingerprints; `repository` is what being of a benchmark's repository means."""

    def __init__(self, fingerprints: Fingerprints, repository: Action = Action.KEEP) -> None:
        self._prints = fingerprints
        self._repository = repository
        self._instances: dict[object, Known] = {}
        self._changes: dict[str, Known] = {}
        self._repositories: dict[str, Known] = {}
        self._roots: dict[str, Known] = {}
        for known in fingerprints.items:
            for key in _identities(known.id, known.repo, known.pull, known.base):
                self._instances.setdefault(key, known)
            if known.change is not None:
                self._changes.setdefault(known.change, known)
            if known.repo is not None:
                self._repositories.setdefault(known.repo.lower(), known)
            for root in known.roots:
                self._roots.setdefault(root, known)

    @property
    def knows_roots(self) -> bool:
        """Whether some item is known by the first commits of its repository."""
        return bool(self._roots)

    def decisions(self, items: Iterable[Item]) -> Iterator[Decision]:
        """Yield one decision for each item, in order; memory doesn't grow with their number."""
        batch: list[Item] = []
        for item in items:
            batch.append(item)
            if len(batch) == BATCH:
                yield from self._batch(batch)
                batch = []
        yield from self._batch(batch)

    def _batch(self, items: Sequence[Item]) -> Iterator[Decision]:
        found: dict[int, list[Match]] = defaultdict(list)
        for number, item in enumerate(items):
            found[number] += self._by_name(item)
        for part in self._prints.parts:
            texts = [item.parts.get(part, b"") for item in items]
            if any(texts):
                self._contained(part, texts, found)
                self._near(part, texts, found)
        for number, item in enumerate(items):
            yield _decided(item.id, found[number])

    def _by_name(self, item: Item) -> Iterator[Match]:
        for key in _identities(item.id, item.repo, item.pull, item.base):
            known = self._instances.get(key)
            if known is not None:
                is_base = isinstance(key, tuple) and key[0] == Layer.BASE
                layer, action = (Layer.BASE, Action.REVIEW) if is_base else (Layer.INSTANCE, Action.REMOVE)
                yield _match(action, layer, known)
        known = self._changes.get(item.change or "")
        if known is not None:
            yield _match(Action.REMOVE, Layer.CHANGE, known)
        known = self._repositories.get((item.repo or "").lower())
        roots = (self._roots[root] for root in item.roots if root in self._roots)
        known = known or next(roots, None)
        if known is not None:
            yield _match(self._repository, Layer.REPOSITORY, known)

    # --- n-grams in common -----------------------------------------------------------------------

    def _contained(self, part: Part, texts: Sequence[bytes], found: Mapping[int, list[Match]]) -> None:
        prints, grams = self._prints.parts[part], grams_of(texts, SIZES[part])
        sizes = np.diff(prints.contained.offsets)
        distinct = [int(np.unique(grams.of(text)).size) for text in range(len(texts))]
        best: dict[tuple[int, Layer], Match] = {}
        for hit in self._hits(part, grams):
            sides = (int(sizes[hit.known]), distinct[hit.text])
            share = (
                max(hit.shared / size for size in sides if size >= FEWEST) if max(sides) >= FEWEST else 0.0
            )
            sure = any(hit.shared >= CONTAINED * size for size in sides if size >= SUBSTANTIAL)
            span = _shared(texts[hit.text], grams.of(hit.text), prints.contained.of(hit.known), SIZES[part])
            if hit.shared >= FEWEST and share >= DOUBTFUL:
                action, layer = Action.REMOVE if sure else Action.REVIEW, Layer.CONTAINED
            elif part is Part.STATEMENT and len(_WORD.findall(span)) >= PASSAGE:
                action, layer = Action.REVIEW, Layer.PASSAGE
            else:
                continue
            before = best.get((hit.text, layer))
            if before is None or share > before.score:
                known = self._prints.items[hit.known]
                best[hit.text, layer] = _match(action, layer, known, share, part, _quoted(span))
        for (text, _), match in best.items():
            found[text].append(match)

    def _hits(self, part: Part, grams: Grams) -> Iterator[_Hit]:
        prints = self._prints.parts[part]
        at, places = prints.all_grams.places(grams.values)
        if not at.size:
            return
        pairs = np.unique(np.stack([grams.owners()[at], places]), axis=1)
        index, known = prints.owners_of(pairs[1])
        both, shared = np.unique(np.stack([pairs[0][index], known]), axis=1, return_counts=True)
        for text, item, count in zip(*both.tolist(), shared.tolist(), strict=True):
            yield _Hit(text, item, count)

    # --- near-duplicates -------------------------------------------------------------------------

    def _near(self, part: Part, texts: Sequence[bytes], found: Mapping[int, list[Match]]) -> None:
        prints, grams = self._prints.parts[part], grams_of(texts, NEAR_SIZE)
        signatures = self._prints.parameters.sketcher.signatures(grams)
        for text, candidates in enumerate(prints.bands.candidates(signatures)):
            ours = np.unique(grams.of(text))
            if ours.size < FEWEST:
                continue
            alike = [(jaccard(ours, prints.near.of(known)), -known) for known in candidates]
            similarity, known = max(alike, default=(0.0, 0))
            if similarity >= SIMILAR:
                action = Action.REMOVE if ours.size >= SUBSTANTIAL else Action.REVIEW
                span = _shared(texts[text], grams.of(text), prints.near.of(-known), NEAR_SIZE)
                item = self._prints.items[-known]
                found[text].append(_match(action, Layer.NEAR, item, similarity, part, _quoted(span)))


def _match(
    action: Action, layer: Layer, known: Known, score: float = 1.0, part: Part | None = None, span: str = ""
) -> Match:
    return Match(
        action=action,
        layer=layer,
        item=known.id,
        benchmark=known.benchmark,
        score=score,
        part=part,
        span=span,
    )


def _identities(id_: str, repo: str | None, pull: int | None, base: str | None) -> Iterator[object]:
    yield id_
    if repo is not None and pull is not None:
        yield (Layer.INSTANCE, repo.lower(), pull)
    if repo is not None and base is not None:
        yield (Layer.BASE, repo.lower(), base)


def _decided(id_: str, matches: Sequence[Match]) -> Decision:
    order = (Action.REMOVE, Action.REVIEW, Action.KEEP)
    ranked = sorted(
        matches, key=lambda m: (order.index(m.action), list(Layer).index(m.layer), -m.score, m.item)
    )
    kept = tuple(dict.fromkeys(ranked))
    return Decision(id=id_, action=kept[0].action if kept else Action.KEEP, matches=kept)


def _longest_run(ours: Hashes, theirs: Hashes) -> tuple[int, int]:
    """Return where the longest run of n-grams begins that the others have, and how long it is."""
    inside = np.zeros(ours.size + 2, dtype=np.int8)
    inside[1 + HashSet(theirs).places(ours)[0]] = 1
    edges = np.diff(inside)
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    if not starts.size:
        return 0, 0
    longest = int(np.argmax(ends - starts))
    return int(starts[longest]), int(ends[longest] - starts[longest])


def _shared(text: bytes, ours: Hashes, theirs: Hashes, size: int) -> bytes:
    """Return the longest span of a text whose n-grams the others have."""
    start, length = _longest_run(ours, theirs)
    if not length:
        return b""
    tokens = token_spans(text)
    last = min(start + length + size - 2, tokens.starts.size - 1)
    return text[tokens.starts[start] : tokens.starts[last] + tokens.lengths[last]]


def _quoted(span: bytes) -> str:
    text = span.decode("utf-8", "replace")
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 1]}…"
