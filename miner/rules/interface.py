"""What a rule sees and what it says."""

from collections.abc import Callable
from dataclasses import dataclass

from swequarry.config import CurateSettings
from swequarry.outcome import Rejected
from swequarry.records import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A candidate with its patches as bytes."""

    candidate: Candidate
    gold: bytes
    tests: bytes


Rule = Callable[[Subject, CurateSettings], Rejected | None]
"""Says why a candidate is dropped; None where this rule has nothing against it, or is switched off."""
