"""Runs, their selections and endings, and the books: in = accepted + rejected + failed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from swequarry.errors import AccountingError
from swequarry.ledger.keys import StoredOutcome, StoredValue
from swequarry.outcome import Accepted, Failed, Rejected

CANDIDATES = "candidates"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One start of a command, with the resolved settings that it was given."""

    number: int
    settings: Mapping[str, Any]
    started_at: float
    ended_at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an item of a run ended, and at which stage."""

    item: str
    stage: str
    outcome: StoredValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The books of a selection: every item stands in exactly one of the three."""

    accepted: tuple[str, ...]
    rejected: tuple[str, ...]
    failed: tuple[str, ...]

    @property
    def total(self) -> int:
        """How many items came in."""
        return len(self.accepted) + len(self.rejected) + len(self.failed)


def _name_some(items: Sequence[str]) -> str:
    shown = ", ".join(items[:5])
    return shown if len(items) <= 5 else f"{shown} and {len(items) - 5} more"  # noqa: PLR2004


def balance(expected: Sequence[str], endings: Sequence[Ending | StoredOutcome]) -> Account:
    """Prove that each expected item ended exactly once and that nothing else did.

    Raises:
        AccountingError: an item is expected twice, has no ending, has two, or has one unexpectedly.
    """
    selected, ended = Counter(expected), Counter(ending.item for ending in endings)
    problems = [
        f"{len(items)} {what}: {_name_some(items)}"
        for what, items in (
            ("selected twice", [item for item, times in selected.items() if times > 1]),
            ("without an ending", [item for item in selected if item not in ended]),
            ("ended twice", [item for item, times in ended.items() if times > 1]),
            ("ended but never selected", [item for item in ended if item not in selected]),
        )
        if items
    ]
    if problems:
        raise AccountingError(
            "the books don't add up, items are " + "; ".join(problems) + "; run the same command again"
        )
    by_item = {ending.item: ending.outcome for ending in endings}
    return Account(
        accepted=tuple(item for item in expected if isinstance(by_item[item], Accepted)),
        rejected=tuple(item for item in expected if isinstance(by_item[item], Rejected)),
        failed=tuple(item for item in expected if isinstance(by_item[item], Failed)),
    )
