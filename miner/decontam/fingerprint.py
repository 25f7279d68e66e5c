"""Fingerprints of benchmarks: hashes of their texts by which items are recognised, and no text.

A file says with which parameters it was made; one made with others is refused before anything is compared.
"""

import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miner.decontam.grams import Grams, batches, grams_of, joined
from miner.decontam.items import Item, Part
from miner.decontam.minhash import SCHEME, Signatures, Sketcher
from miner.decontam.near import BandIndex
from swequarry.errors import InputError
from swequarry.text.containment import HashSet
from swequarry.text.hashes import VERSION, Hashes

FORMAT = 1
SIZES: Mapping[Part, int] = {Part.STATEMENT: 8, Part.GOLD: 13, Part.TESTS: 10, Part.TEXT: 13}
"""Tokens in an n-gram by which containment is told."""
NEAR_SIZE = 5
"""Tokens in an n-gram by which near-duplicates are told."""
COMMON_REPOSITORIES = 3
"""An n-gram that more repositories of a benchmark have says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """What hashes depend on: two files can be compared only where all of it is the same."""

    format: int = FORMAT
    hashes: int = VERSION
    scheme: str = SCHEME
    permutations: int = 128
    seed: int = 1
    near_size: int = NEAR_SIZE
    sizes: Mapping[str, int]

    @classmethod
    def ours(cls) -> "Parameters":
        """Return the parameters of this version."""
        return cls(sizes={part.value: size for part, size in SIZES.items()})

    @property
    def sketcher(self) -> Sketcher:
        """What makes signatures that can be compared with these."""
        return Sketcher(self.permutations, self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """An item of a benchmark, without its texts."""

    id: str
    benchmark: str
    repo: str | None = None
    pull: int | None = None
    base: str | None = None
    change: str | None = None
    roots: tuple[str, ...] = ()


@dataclass(frozen=True)
class PartPrints:
    """One part of all items: n-grams for containment, and for near-duplicates with their signatures.

    Both are sets: sorted, each once. An item without the part has none.
    """

    contained: Grams
    near: Grams
    signatures: Signatures

    @cached_property
    def all_grams(self) -> HashSet:
        """Every n-gram that some item has."""
        return HashSet.of(self.contained.values)

    @cached_property
    def _postings(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = np.argsort(self.contained.values, kind="stable")
        starts = np.searchsorted(self.contained.values[order], self.all_grams.values)
        return self.contained.owners()[order], np.concatenate([starts, [order.size]])

    def owners_of(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (index in `places`, item) for n-grams given by their place in `all_grams`."""
        owners, starts = self._postings
        counts = starts[places + 1] - starts[places]
        index = np.repeat(np.arange(places.size), counts)
        within = np.arange(index.size) - np.repeat(np.cumsum(counts) - counts, counts)
        return index, owners[starts[places][index] + within]

    @cached_property
    def bands(self) -> BandIndex:
        """The index of near-duplicates."""
        return BandIndex(self.signatures, np.diff(self.near.offsets) > 0)


@dataclass(frozen=True)
class Fingerprints:
    """The items of one or more benchmarks and their parts, in one order."""

    parameters: Parameters
    items: tuple[Known, ...]
    parts: Mapping[Part, PartPrints]

    def save(self, path: Path) -> None:
        """Write them as one file: JSON for what has names, arrays for the rest.

        Raises:
            OSError: the file can't be written.
        """
        about = {"parameters": asdict(self.parameters), "items": [asdict(item) for item in self.items]}
        arrays: dict[str, NDArray[np.generic]] = {
            "about": np.frombuffer(json.dumps(about, sort_keys=True).encode("utf-8"), dtype=np.uint8)
        }
        for part, prints in self.parts.items():
            arrays[f"{part}.contained"] = prints.contained.values
            arrays[f"{part}.contained_at"] = prints.contained.offsets
            arrays[f"{part}.near"] = prints.near.values
            arrays[f"{part}.near_at"] = prints.near.offsets
            arrays[f"{part}.signatures"] = prints.signatures
        with path.open("wb") as out:
            np.savez_compressed(out, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> "Fingerprints":
        """Read a file of fingerprints.

        Raises:
            InputError: it can't be read, is no such file, or was made with other parameters than ours.
        """
        try:
            with np.load(path, allow_pickle=False) as stored:
                about = json.loads(bytes(stored["about"]))
                _check(about["parameters"], path)
                parts = {
                    part: PartPrints(
                        Grams(stored[f"{part}.contained"], stored[f"{part}.contained_at"]),
                        Grams(stored[f"{part}.near"], stored[f"{part}.near_at"]),
                        stored[f"{part}.signatures"],
                    )
                    for part in Part
                    if f"{part}.near" in stored
                }
                return cls(Parameters.ours(), tuple(map(_known, about["items"])), parts)
        except OSError as error:
            raise InputError(
                f"{path} can't be read: {error.strerror or error}; name a file of `swequarry fingerprint`"
            ) from error
        except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise InputError(
                f"{path} holds no fingerprints: {error}; make them with `swequarry fingerprint`"
            ) from error


def _known(stored: Mapping[str, Any]) -> Known:
    return Known(**{**stored, "roots": tuple(stored.get("roots", ()))})


def _check(stored: Mapping[str, object], path: Path) -> None:
    ours = asdict(Parameters.ours())
    other = sorted(name for name in ours | dict(stored) if ours.get(name) != stored.get(name))
    if other:
        told = ", ".join(f"{name} is {stored.get(name)} there and {ours.get(name)} here" for name in other)
        raise InputError(f"{path} can't be compared: {told}; make it again with `swequarry fingerprint`")


def make_fingerprints(items: Iterable[Item], benchmark: str) -> Fingerprints:
    """Return the fingerprints of a benchmark, without the n-grams that many of its repositories have."""
    parameters = Parameters.ours()
    held = tuple(items)
    known = tuple(
        Known(
            id=i.id,
            benchmark=benchmark,
            repo=i.repo,
            pull=i.pull,
            base=i.base,
            change=i.change,
            roots=i.roots,
        )
        for i in held
    )
    present = [part for part in Part if any(part in item.parts for item in held)]
    return Fingerprints(parameters, known, {part: _prints(held, part, parameters) for part in present})


def _prints(items: Sequence[Item], part: Part, parameters: Parameters) -> PartPrints:
    contained, near, signatures = [], [], []
    for first, last in batches(len(items)):
        texts = [item.parts.get(part, b"") for item in items[first:last]]
        contained.append(grams_of(texts, SIZES[part]).sets())
        grams = grams_of(texts, NEAR_SIZE)
        near.append(grams.sets())
        signatures.append(parameters.sketcher.signatures(grams))
    every = _chained(contained)
    common = _common(every, [item.repo or item.id for item in items])
    return PartPrints(
        joined([np.setdiff1d(every.of(i), common, assume_unique=True) for i in range(len(every))]),
        _chained(near),
        np.concatenate([np.empty((0, parameters.permutations), dtype=np.uint32), *signatures]),
    )


def _chained(parts: Sequence[Grams]) -> Grams:
    return joined([grams.of(text) for grams in parts for text in range(len(grams))])


def _common(sets: Grams, repositories: Sequence[str]) -> Hashes:
    """Return the n-grams that items of many repositories have."""
    numbers = {repo: number for number, repo in enumerate(dict.fromkeys(repositories))}
    if len(numbers) <= COMMON_REPOSITORIES:
        return np.empty(0, dtype=np.uint64)
    places = np.array([numbers[repo] for repo in repositories], dtype=np.int64)[sets.owners()]
    pairs = np.unique(np.stack([sets.values, places.astype(np.uint64)]), axis=1)
    values, counts = np.unique(pairs[0], return_counts=True)
    return values[counts > COMMON_REPOSITORIES]


def merged(parts: Sequence[Fingerprints]) -> Fingerprints:
    """Return several benchmarks as one, in their order."""
    present = [part for part in Part if any(part in prints.parts for prints in parts)]
    joint: dict[Part, PartPrints] = {}
    for part in present:
        empty = [_nothing(len(one.items)) for one in parts]
        found = [one.parts.get(part, none) for one, none in zip(parts, empty, strict=True)]
        joint[part] = PartPrints(
            _chained([prints.contained for prints in found]),
            _chained([prints.near for prints in found]),
            np.concatenate([prints.signatures for prints in found]),
        )
    return Fingerprints(Parameters.ours(), tuple(item for one in parts for item in one.items), joint)


def _nothing(count: int) -> PartPrints:
    none = Grams(np.empty(0, dtype=np.uint64), np.zeros(count + 1, dtype=np.int64))
    return PartPrints(none, none, Parameters.ours().sketcher.signatures(none))
