"""What a rule sees and what it says."""

from collections.abc import Callable
from dataclasses import dataclass

from swequarry.config import CurateSettings
from swequarry.outcome import Rejected
from swequarry.records import Candidate, PullRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What is known of a repository at a candidate's base; None is unknown, and no rule drops for it."""

    has_tests: bool | None = None
    has_ci: bool | None = None
    pulls_a_year: int | None = None
    stars: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A candidate with its patches as bytes."""

    candidate: Candidate
    gold: bytes
    tests: bytes
    health: Health = Health()


Rule = Callable[[Subject, CurateSettings], Rejected | None]
"""Says why a candidate is dropped; None where this rule has nothing against it, or is switched off."""
PullRule = Callable[[PullRecord, CurateSettings], Rejected | None]
"""The same of a pull request by its record alone, before anything of it is read from git."""
