"""Which side of a release a task is on, and which tasks may not be on the side where they'd be.

The rule: *no task of the training split has a world, or a fix of its own, that holds the fix of a task of the
test split* (`git.heldfixes` says what holds a fix). A training task that does is left out; a test task never
is, since what a test world tells of training tasks spoils no test. So leaving one out puts no other in doubt,
and the order in which tasks are looked at doesn't matter.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from fnmatch import fnmatchcase

from swequarry.config import ReleaseSettings
from swequarry.git.heldfixes import HeldFix
from swequarry.records import Candidate, sha256_hex

_SHARE_DIGITS = 13
"""Hex digits of a hash that count for a share: 52 bits, which a float holds."""


class Split(StrEnum):
    """The sides of a release."""

    TRAIN = "train"
    TEST = "test"


def moment_of(candidate: Candidate) -> datetime:
    """Return the moment by which tasks are divided: the merge, else the later of creation and base commit."""
    moment = candidate.merged_at or candidate.cutoff
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def split_of(candidate: Candidate, settings: ReleaseSettings) -> Split:
    """Return the side that the settings put a task on."""
    name = candidate.repo.full_name.lower()
    rules = (settings.test_repositories, settings.test_share, settings.test_since)
    if all(rule in ((), None) for rule in rules):
        return Split.TEST
    tests = (
        any(fnmatchcase(name, pattern.lower()) for pattern in settings.test_repositories)
        or (settings.test_share is not None and _place(name) < settings.test_share)
        or (settings.test_since is not None and moment_of(candidate) >= settings.test_since)
    )
    return Split.TEST if tests else Split.TRAIN


def _place(name: str) -> float:
    """Return where a repository stands between 0 and 1: by its name alone, whatever others there are."""
    return int(sha256_hex(name.encode("utf-8"))[:_SHARE_DIGITS], 16) / float(16**_SHARE_DIGITS)


def spoilt(splits: Mapping[str, Split], told: Sequence[HeldFix]) -> dict[str, tuple[HeldFix, ...]]:
    """Return the training tasks that tell the answer of a test task, each with all that it tells."""
    found: dict[str, list[HeldFix]] = {}
    for one in told:
        if splits.get(one.holder) is Split.TRAIN and splits.get(one.fix) is Split.TEST:
            found.setdefault(one.holder, []).append(one)
    return {holder: tuple(sorted(ones, key=lambda one: one.fix)) for holder, ones in sorted(found.items())}
