"""Recognises pull requests at the commits of a branch's lines: by message first, then by refs.

The rules are told in `history`, whose eyes this is.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from swequarry.git.commitlog import Commit, Lines
from swequarry.git.pullrefs import PullRefs, RebaseIndex, commits_of_head
from swequarry.git.subjects import PullMention, merged_by_merge, merged_by_squash, split_message
from swequarry.outcome import RejectCode, Rejected
from swequarry.records import CommitSha, MergeKind

FOUND_BY_SOURCE = "found_by_source"
"""Flag: neither a message nor a ref shows where the pull request landed; its source said so."""
_COMPLETE_SHARE = 0.5
_MAX_FORWARDED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One pull request recognised at a line commit. `own` are the commits that it brought, oldest first."""

    number: int
    kind: MergeKind
    at: Commit
    base: CommitSha | None
    own: tuple[Commit, ...]
    title: str | None = None
    body: str | None = None
    head: CommitSha | None = None
    rejection: Rejected | None = None
    flags: tuple[str, ...] = ()


class Recogniser:
    """Collects the claims of one branch; the first claim of a number stands."""

    def __init__(self, lines: Lines, refs: PullRefs, unmerged: Mapping[CommitSha, Commit]) -> None:
        self.lines = lines
        self.refs = refs
        self.unmerged = unmerged
        self.claims: dict[int, Claim] = {}
        self._numbers_at: dict[CommitSha, list[int]] = defaultdict(list)
        self._numbers_by_head = refs.numbers_by_head()
        self._complete = self._refs_are_complete()
        self._rebases = RebaseIndex(lines.main)

    def _refs_are_complete(self) -> bool:
        """Whether the clone has the refs of (nearly) all pull requests, or just a few fetched by hand."""
        named = [m.numbers[0] for c in self.lines.main if (m := self._mention(c))]
        known = sum(number in self.refs.heads for number in named)
        return bool(self.refs.heads) and known >= _COMPLETE_SHARE * len(named)

    @staticmethod
    def _mention(commit: Commit) -> PullMention | None:
        merge = len(commit.parents) > 1
        return merged_by_merge(commit.message) if merge else merged_by_squash(commit.message)

    def run(self) -> Iterator[Claim]:
        """Yield the claims: lines first, oldest first, then what only the refs tell.

        Merge buttons come before anything else: an older subject may mention a number in passing.
        """
        main = [(commit, self._mention(commit)) for commit in reversed(self.lines.main)]
        for commit, mention in sorted(main, key=lambda pair: not (pair[1] and pair[1].certain)):
            self._at_line(commit, mention, main=True)
        for commit in reversed(self.lines.others):
            self._at_line(commit, self._mention(commit), main=False)
        for number in sorted(set(self.refs.heads) - set(self.claims)):
            self._by_ref(number)
        yield from self.claims.values()

    def _add(self, claim: Claim) -> None:
        self.claims[claim.number] = claim
        self._numbers_at[claim.at.sha].append(claim.number)

    @property
    def complete(self) -> bool:
        """Whether the clone has the refs of (nearly) all pull requests."""
        return self._complete

    def claim_landed(self, number: int, landed: CommitSha, commit_count: int | None) -> Claim | None:
        """Claim a commit for a pull request because its source says that it landed there; None: not here.

        A commit with one parent is a squash, or the last of so many rebased ones; the head tells which.
        """
        at = self.lines.commits.get(landed)
        if at is None or number in self.claims or landed not in self.lines.owner:
            return None
        claim = self._landed(number, at, self._mention(at))
        head = self.unmerged.get(self.refs.heads.get(number, CommitSha("")))
        if len(at.parents) == 1 and claim.kind is MergeKind.SQUASH and commit_count != 1:
            copied = head is not None and head.message.strip() == at.message.strip()
            if head is None or copied:
                claim = replace(claim, base=None, rejection=_start_unknown(at))
        claim = replace(claim, flags=(FOUND_BY_SOURCE, *claim.flags))
        self._add(claim)
        return claim

    # --- by message ----------------------------------------------------------------------------------

    def _at_line(self, commit: Commit, mention: PullMention | None, *, main: bool) -> None:
        numbers = mention.numbers if mention else ()
        if mention and len(numbers) == 1 and not self._agrees(numbers[0], commit, mention, main=main):
            mention, numbers = None, ()
        flags: tuple[str, ...] = () if main else ("other_branch",)
        if not numbers and len(commit.parents) > 1:
            numbers = self._numbers_by_head.get(commit.parents[1], ())[:1]
            flags += ("found_by_ref",)
        for number in numbers:
            if number not in self.claims:
                claim = self._landed(number, commit, mention)
                together = _together(numbers) if len(numbers) > 1 else None
                self._add(replace(claim, flags=flags + claim.flags, rejection=together))

    def _agrees(self, number: int, commit: Commit, mention: PullMention, *, main: bool) -> bool:
        head = self.refs.heads.get(number)
        if not self._complete:
            return main or len(commit.parents) > 1 or number not in self.claims
        if len(commit.parents) > 1:
            same = head in commit.parents[1:] or (head and self.lines.owner.get(head) == commit.sha)
            return bool(same) or (mention.certain and main)
        if head is None:
            return False
        return main or self._same_author(head, commit)

    def _same_author(self, head: CommitSha, commit: Commit) -> bool:
        other = self.unmerged.get(head) or self.lines.commits.get(head)
        return other is not None and bool(set(other.author) & set(commit.author))

    def _landed(self, number: int, commit: Commit, mention: PullMention | None) -> Claim:
        title, body = (mention.title, mention.body) if mention else (None, None)
        head: CommitSha | None = self.refs.heads.get(number)
        if len(commit.parents) > 1:
            own = self.lines.brought.get(commit.sha, ())
            kind, head = MergeKind.MERGE, head or commit.parents[1]
        else:
            copies = self._copies(number) if head else ()
            if len(copies) > 1 and copies[-1].sha == commit.sha:
                return self._rebased(number, copies)
            own, kind = (commit,), MergeKind.SQUASH
        base = commit.parents[0] if commit.parents else None
        return Claim(
            number=number, kind=kind, at=commit, base=base, own=own, title=title, body=body, head=head
        )

    # --- by ref --------------------------------------------------------------------------------------

    def _copies(self, number: int) -> tuple[Commit, ...]:
        own = commits_of_head(self.refs.heads[number], self.unmerged)
        return self._rebases.find(own)

    def _rebased(self, number: int, copies: Sequence[Commit]) -> Claim:
        parents = copies[0].parents
        title, body = split_message(copies[0].message) if len(copies) == 1 else (None, None)
        return Claim(
            number=number,
            kind=MergeKind.REBASE,
            at=copies[-1],
            base=parents[0] if parents else None,
            own=tuple(copies),
            title=title,
            body=body,
            head=self.refs.heads[number],
        )

    def _by_ref(self, number: int) -> None:
        head = self.refs.heads[number]
        claim: Claim | None
        if head in self.lines.owner:
            at = self.lines.commits[self.lines.owner[head]]
            claim = self._fast_forwarded(number, at) if at.sha == head else self._inside(number, at)
        else:
            copies = self._copies(number)
            claim = self._rebased(number, copies) if copies else None
        if claim is not None:
            self._add(replace(claim, flags=("found_by_ref", *claim.flags)))

    def _fast_forwarded(self, number: int, at: Commit) -> Claim | None:
        """The head is itself on the line. Its start is known only from GitHub's test merge, if it is here."""
        test_merge = self.unmerged.get(self.refs.test_merges.get(number, CommitSha("")))
        start = test_merge.parents[0] if test_merge and test_merge.parents else None
        own: list[Commit] = []
        step: Commit | None = at
        while step is not None and step.sha != start and len(own) <= _MAX_FORWARDED:
            own.append(step)
            step = self.lines.commits.get(step.parents[0]) if step.parents else None
        known = start is not None and step is not None and step.sha == start and bool(own)
        return Claim(
            number=number,
            kind=MergeKind.REBASE if known else MergeKind.UNKNOWN,
            at=at,
            base=start if known else None,
            own=tuple(reversed(own)) if known else (at,),
            head=at.sha,
            rejection=None if known else _base_unknown(at),
        )

    def _inside(self, number: int, at: Commit) -> Claim:
        """The head came in below a merge that is another pull request's, or nobody's."""
        others = tuple(self._numbers_at[at.sha])
        claim = self._landed(number, at, None)
        if others:
            return replace(claim, rejection=_together((number, *others)))
        return replace(claim, flags=("merged_with_more_commits",))


def _together(numbers: Sequence[int]) -> Rejected:
    named = ", ".join(f"#{number}" for number in numbers)
    return Rejected(
        code=RejectCode.MERGED_TOGETHER,
        message=f"one commit brought {named}; which change belongs to which can't be told",
        evidence=tuple(f"merged_with=#{number}" for number in numbers),
    )


def _start_unknown(at: Commit) -> Rejected:
    return Rejected(
        code=RejectCode.BASE_UNKNOWN,
        message=f"it ends at {at.sha}, squashed or rebased: where it began can't be told without its head",
        evidence=(f"merge_commit={at.sha}",),
    )


def _base_unknown(at: Commit) -> Rejected:
    return Rejected(
        code=RejectCode.BASE_UNKNOWN,
        message=f"its head {at.sha} is a commit of the branch itself; where it began can't be told",
        evidence=(f"head={at.sha}",),
    )
