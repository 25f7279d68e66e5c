"""Sets of requirement texts: tidied, freed of pins, and told apart by what they are for."""

import re
from collections.abc import Iterable
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from reconstruct.environment.evidence.pytest_settings import is_plugin
from reconstruct.environment.evidence.requirement_lines import name_of

RUNNER: Final = "pytest"
RUNNER_FAMILY: Final = frozenset({RUNNER, "py", "pluggy", "nose", "nose2"})
"""Distributions that a test runner consists of; plugins of pytest belong to it too."""


def is_runner_part(text: str) -> bool:
    """Whether a requirement is part of a test runner or one of its plugins."""
    return name_of(text) in RUNNER_FAMILY or is_plugin(text)


def unique(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts once each, in their order."""
    return tuple(dict.fromkeys(texts))


def tidy(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts without bare names that others bound, and without bounds that contradict each other."""
    return tuple(text for same in _by_name(texts).values() for text in _tidy_one(same))


def one_each(texts: Iterable[str]) -> tuple[str, ...]:
    """Return one text per distribution: an only one as it stands, of several the first without its pins."""
    return tuple(same[0] if len(same) == 1 else unpinned(same[0]) for same in _by_name(texts).values())


def unpinned(text: str) -> str:
    """Return a requirement without its exact pins; its other bounds, extras and marker stay."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return text
    kept = [str(s) for s in requirement.specifier if s.operator not in {"==", "==="}]
    requirement.specifier = SpecifierSet(",".join(kept))
    return str(requirement)


def without_runner_pins(texts: Iterable[str]) -> tuple[str, ...]:
    """Drop exact pins of the test runner: an old runner can't run on a younger interpreter."""
    return unique(unpinned(text) if is_runner_part(text) else text for text in texts)


def agreeing(pins: Iterable[str], asked: Iterable[str], python: str) -> tuple[str, ...]:
    """Return the pins (`name==version`) whose version nothing that is asked for with a Python excludes."""
    bounds: dict[str, list[SpecifierSet]] = {}
    for text in asked:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        marker = requirement.marker
        if marker is None or marker.evaluate({"python_version": python, "extra": ""}):
            bounds.setdefault(canonicalize_name(requirement.name), []).append(requirement.specifier)
    found = []
    for pin in pins:
        name, _, version = pin.partition("==")
        if all(bound.contains(version, prereleases=True) for bound in bounds.get(name, ())):
            found.append(pin)
    return tuple(found)


def can_be_met(specifier: SpecifierSet) -> bool:
    """Whether some version meets the whole set; tries the versions that it names and their neighbours."""
    tried: list[str] = []
    for bound in specifier:
        release = bound.version.removesuffix(".*")
        tried += [release, f"{release}.1", f"{release}.99999", *_just_below(release)]
    return not tried or any(specifier.contains(version, prereleases=True) for version in tried)


def _by_name(texts: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in unique(texts):
        found.setdefault(name_of(text), []).append(text)
    return found


def _tidy_one(same: list[str]) -> list[str]:
    if len(same) == 1:
        return same
    plain = [text for text in same if ";" not in text]
    together = SpecifierSet(",".join(str(Requirement(text).specifier) for text in plain))
    if len(plain) > 1 and not can_be_met(together):
        return [canonicalize_name(Requirement(plain[0]).name)]
    bounded = [text for text in same if canonicalize_name(text) != name_of(text)]
    return bounded if any(";" not in text for text in bounded) else same


def _just_below(release: str) -> list[str]:
    numbers = [int(part) for part in re.findall(r"\d+", release)]
    return [
        ".".join(str(n) for n in [*numbers[:index], number - 1, 99999])
        for index, number in enumerate(numbers)
        if number
    ]
