"""One task for one change: backports and second tries are variants, of which one is kept.

Two candidates of a repository are variants if they make the same change (the same lines removed and added in
the same files, wherever they stand), or resolve the same issue with mostly the same lines. The one on the
default branch is kept, else the one that was merged first; the others name it. Nothing depends on the order
of the candidates. Rows of a published dataset are taken as they are; `swequarry decontam --duplicates` tells
of those.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import combinations

import numpy as np

from miner.decontam.fingerprint import NEAR_SIZE
from miner.decontam.grams import grams_of
from miner.decontam.items import Part, change_hash, normal_form
from miner.decontam.near import SIMILAR, jaccard
from swequarry.outcome import RejectCode, Rejected
from swequarry.records import BlobHash, Candidate
from swequarry.text.hashes import Hashes

NOT_ON_DEFAULT = "not_on_default_branch"
"""Flag: the pull request was merged into another branch than the default one."""
_OTHER_BRANCH = frozenset({"other_branch", NOT_ON_DEFAULT})
_PUBLISHED = "rows"
_LATE = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class _Member:
    """A candidate in the set, with its gold patch read once."""

    item: str
    candidate: Candidate
    gold: bytes

    @cached_property
    def change(self) -> str | None:
        return change_hash(self.gold)

    @cached_property
    def lines(self) -> Hashes:
        added = normal_form(self.gold.decode("utf-8", "surrogateescape"), Part.GOLD)
        return np.unique(grams_of([added], NEAR_SIZE).values)

    @property
    def issues(self) -> tuple[int, ...]:
        clear = (link.number for link in self.candidate.links if not link.ambiguous and link.repo is None)
        return tuple(dict.fromkeys((*self.candidate.statement.issue_numbers, *clear)))

    @property
    def rank(self) -> tuple[bool, datetime, int, str]:
        """What is kept of some variants: the smallest."""
        elsewhere = bool(_OTHER_BRANCH & set(self.candidate.flags))
        merged = self.candidate.merged_at or _LATE
        return elsewhere, merged, self.candidate.pull_number or 0, self.item


@dataclass(frozen=True, slots=True)
class _Tie:
    left: str
    right: str
    why: str


def find_variants(
    candidates: Iterable[tuple[str, Candidate]], read: Callable[[BlobHash], bytes]
) -> Mapping[str, Rejected]:
    """Return the items to drop, each with the one that is kept for it; `read` gives the bytes of a patch.

    Raises:
        StorageError: a patch can't be read.
    """
    found: dict[str, Rejected] = {}
    by_repo: dict[str, list[tuple[str, Candidate]]] = defaultdict(list)
    for item, candidate in candidates:
        if candidate.source != _PUBLISHED:
            by_repo[candidate.repo.full_name.lower()].append((item, candidate))
    for group in by_repo.values():
        if len(group) > 1:
            members = [_Member(item, candidate, read(candidate.gold_patch)) for item, candidate in group]
            found |= _dropped(members)
    return found


def _dropped(members: Sequence[_Member]) -> dict[str, Rejected]:
    by_item = {member.item: member for member in members}
    group = {item: {item} for item in by_item}
    why: dict[str, str] = {}
    for tie in _ties(sorted(members, key=lambda member: member.rank)):
        why.setdefault(tie.right, tie.why)
        why.setdefault(tie.left, f"{tie.right} is a variant of both")
        joint = group[tie.left] | group[tie.right]
        group |= dict.fromkeys(joint, joint)
    found: dict[str, Rejected] = {}
    for item, others in group.items():
        kept = min((by_item[other] for other in others), key=lambda member: member.rank)
        if kept.item != item:
            found[item] = Rejected(
                code=RejectCode.VARIANT,
                message=f"{kept.item} is kept for it: {why[item]}",
                evidence=(f"variant_of={kept.item}",),
            )
    return found


def _ties(members: Sequence[_Member]) -> Iterator[_Tie]:
    """Yield pairs of variants; in each the second one ranks after the first."""
    first: dict[str, _Member] = {}
    by_issue: dict[int, list[_Member]] = defaultdict(list)
    for member in members:
        if member.change is not None:
            known = first.setdefault(member.change, member)
            if known is not member:
                yield _Tie(known.item, member.item, f"it makes the same change as {known.item}")
        for number in member.issues:
            by_issue[number].append(member)
    for number, those in by_issue.items():
        for left, right in combinations(those, 2):
            alike = jaccard(left.lines, right.lines)
            if alike >= SIMILAR and left.change != right.change:
                why = f"both resolve #{number}, and {alike:.0%} of what they add is the same"
                yield _Tie(left.item, right.item, why)
