"""Where a run stops spending: repositories whose candidates fail one after the other for the same cause.

Which candidates are spared follows from how those before them in the selection's order ended, and from
nothing else: not from who finished first, how many workers there are, or what an earlier run left in the
ledger. So a candidate starts only when those before it can't stop its repository any more; until then it
waits, while other repositories go on. Nothing of this is a stored result: the next run asks again, and where
a rule or a setting lets an early candidate end in another way, the rest is tried.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from reconstruct.environment.causes import cause_of
from swequarry.ledger.keys import StoredOutcome
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.queries import ending_of
from swequarry.ledger.runs import Ending
from swequarry.outcome import Accepted, RejectCode, Rejected
from swequarry.pipeline.item_queue import Admission
from swequarry.pipeline.reporting import POLICY

_STAGES_BEFORE_A_BUILD = frozenset({"mine", "snapshot", POLICY})
_OF_THE_REPOSITORY = frozenset(
    {
        RejectCode.MISSING_OBJECTS,
        RejectCode.LFS_MISSING,
        RejectCode.NO_INTERPRETER,
        RejectCode.BUILD_FAILED,
        RejectCode.RESOURCE_LIMIT,
        RejectCode.TEST_TIMEOUT,
    }
)
"""Codes that tell of the repository more than of one pull request."""


class Sign(Enum):
    """What an ended candidate says of its repository, if it's no cause: nothing, or that it can work."""

    NOTHING = "nothing"
    PASSED = "passed"


def sign_of(ending: Ending | None) -> str | Sign:
    """Return the cause for which a candidate failed, if that is its repository's, else what it says.

    Broken machinery says nothing of a repository.
    """
    match ending.outcome if ending else None:
        case Accepted():
            return Sign.PASSED
        case Rejected(code=RejectCode.BUILD_FAILED as code, evidence=evidence):
            return f"{code.value}: {cause_of(evidence)}"
        case Rejected(code=code) if code in _OF_THE_REPOSITORY:
            return code.value
        case Rejected() if ending is not None and ending.stage not in _STAGES_BEFORE_A_BUILD:
            return Sign.PASSED
        case _:
            return Sign.NOTHING


@dataclass(slots=True)
class _Repository:
    """The candidates of one repository in order, and what those that ended say; None is unknown yet.

    Before `first_open` all is known; `counts` are the failures by cause since the last one that passed.
    """

    name: str
    limit: int
    items: tuple[str, ...]
    signs: dict[str, str | Sign] = field(default_factory=dict)
    first_open: int = 0
    counts: dict[str, list[str]] = field(default_factory=dict)
    stopped_by: tuple[str, tuple[str, ...]] | None = None

    def note(self, item: str, sign: str | Sign) -> None:
        """Take in what an item that ended says."""
        self.signs[item] = sign
        while self.stopped_by is None and self.first_open < len(self.items):
            at = self.items[self.first_open]
            if at not in self.signs:
                return
            self.first_open += 1
            self._count(at, self.signs[at])

    def _count(self, item: str, sign: str | Sign) -> None:
        if sign is Sign.PASSED:
            self.counts.clear()
        elif isinstance(sign, str):
            found = self.counts.setdefault(sign, [])
            found.append(item)
            if len(found) >= self.limit:
                self.stopped_by = (sign, tuple(found))

    def may_stop_before(self, position: int) -> bool:
        """Whether what isn't known yet of earlier candidates could stop the repository."""
        counts = Counter({cause: len(found) for cause, found in self.counts.items()})
        still_open = 0
        for item in self.items[self.first_open : position]:
            sign = self.signs.get(item)
            if sign is Sign.PASSED:
                counts.clear()
                still_open = 0
            elif isinstance(sign, str):
                counts[sign] += 1
            elif sign is None:
                still_open += 1
            if max(counts.values(), default=0) + still_open >= self.limit:
                return True
        return False


class SpendingGate:
    """The gate of one run; `repositories` has the repository of each candidate, in the selection's order."""

    def __init__(self, ledger: Ledger, run: int, limit: int, repositories: Mapping[str, str]) -> None:
        self._ledger = ledger
        self._run = run
        by_name: dict[str, list[str]] = {}
        for item, name in repositories.items():
            by_name.setdefault(name, []).append(item)
        self._of: dict[str, _Repository] = {}
        self._position: dict[str, int] = {}
        for name, items in by_name.items():
            repository = _Repository(name, limit, tuple(items))
            self._of |= dict.fromkeys(items, repository)
            self._position |= {item: position for position, item in enumerate(items)}

    def ask(self, item: str) -> Admission:
        """Whether a candidate may start; see `Gate`."""
        repository = self._of[item]
        if repository.stopped_by is not None:
            return Admission.NEVER
        return Admission.LATER if repository.may_stop_before(self._position[item]) else Admission.NOW

    def ended(self, item: str) -> None:
        """Take in how a candidate ended; see `Gate`."""
        self._of[item].note(item, sign_of(ending_of(self._ledger, self._run, item)))

    def spare(self, item: str) -> None:
        """Write down that a candidate isn't tried, and for whose sake; see `Gate`."""
        repository = self._of[item]
        cause, items = repository.stopped_by or ("", ())
        outcome = Rejected(
            code=RejectCode.NOT_TRIED,
            message=(
                f"policy.stop_after_failures stops {repository.name} after {len(items)} candidates ended as "
                f"{cause}; it is tried when one of them ends otherwise, or the setting allows more"
            ),
            evidence=tuple(f"{one}: {cause}" for one in items),
        )
        self._ledger.settle(self._run, POLICY, StoredOutcome(item=item, outcome=outcome))
