"""The merged pull requests of a clone, found without asking anybody.

Evidence, strongest first: a merge commit that names the pull request; a squash commit whose subject ends
in `(#N)`; `refs/pull/N/head` (where the clone has it) as the second parent of a merge, or its commits found
again, in a row, on the line: a rebase. Numbers in commit messages are only words (a fork or another
forge has its own numbers), so where the clone holds the pull requests' refs they must agree.

Base commit: the first parent for merge and squash; for a rebase of k commits the tip's k-th ancestor. Never
a nearby commit: where the base can't be told the pull request is rejected, with what was seen.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from swequarry.errors import ObjectMissingError, RepositoryError
from swequarry.git.commitlog import Commit, Lines, draw_lines, read_commits
from swequarry.git.pullrefs import PullRefs, RebaseIndex, commits_of_head, patch_ids, read_pull_refs
from swequarry.git.repository import Repository
from swequarry.git.reverts import Landing, Revert, find_reverts
from swequarry.git.subjects import PullMention, merged_by_merge, merged_by_squash, split_message
from swequarry.outcome import RejectCode, Rejected
from swequarry.records import CommitSha, MergeKind, PullRecord, RepoRef, TreeSha

_COMPLETE_SHARE = 0.5
_MAX_FORWARDED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPull:
    """A merged pull request as the history shows it.

    `base_tree` and `merged_tree` are its trees before and after, `base_time` is when the base was committed
    and `begun_at` when the first of its commits was written. `rejection` says why no base can be told,
    or that it was reverted; the record then holds what is known. `flags`: `other_branch` (merged into
    another line of the repository, which reached this one), `found_by_ref` (no message names it),
    `partly_reverted`, `is_revert`, `rebased_with_changes`, `merged_with_more_commits`.
    """

    record: PullRecord
    base_tree: TreeSha | None
    merged_tree: TreeSha
    base_time: datetime | None = None
    begun_at: datetime | None = None
    rejection: Rejected | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All merged pull requests that reach a branch, newest merge first.

    `known_pulls` are all numbers that name a pull request here, merged or not. `untraced` are those of them
    that left no trace on the branch: never merged, or merged in a way that shows neither number nor commits.
    """

    tip: CommitSha
    pulls: tuple[MergedPull, ...]
    known_pulls: frozenset[int] = frozenset()
    untraced: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
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


def branch_tip(repository: Repository, branch: str | None) -> CommitSha:
    """Return the commit of a branch (local, else of `origin`, else any revision), or of HEAD for None.

    Raises:
        RepositoryError: there is no such branch.
    """
    names = ["HEAD"] if branch is None else [f"refs/heads/{branch}", f"refs/remotes/origin/{branch}", branch]
    for name in names:
        try:
            return repository.resolve(name)
        except ObjectMissingError:
            continue
    raise RepositoryError(
        f"the repository at {repository.path} has no commit at {branch or 'HEAD'}; set source.branch"
    )


class _Recogniser:
    """Collects the claims of one branch; the first claim of a number stands."""

    def __init__(self, lines: Lines, refs: PullRefs, unmerged: Mapping[CommitSha, Commit]) -> None:
        self.lines = lines
        self.refs = refs
        self.unmerged = unmerged
        self.claims: dict[int, _Claim] = {}
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

    def run(self) -> Iterator[_Claim]:
        """Yield the claims: lines first, oldest first, then what only the refs tell."""
        for commit in reversed(self.lines.main):
            self._at_line(commit, main=True)
        for commit in reversed(self.lines.others):
            self._at_line(commit, main=False)
        for number in sorted(set(self.refs.heads) - set(self.claims)):
            self._by_ref(number)
        yield from self.claims.values()

    # --- by message ----------------------------------------------------------------------------------

    def _at_line(self, commit: Commit, *, main: bool) -> None:
        mention = self._mention(commit)
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
                self.claims[number] = replace(claim, flags=flags + claim.flags, rejection=together)

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

    def _landed(self, number: int, commit: Commit, mention: PullMention | None) -> _Claim:
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
        return _Claim(
            number=number, kind=kind, at=commit, base=base, own=own, title=title, body=body, head=head
        )

    # --- by ref --------------------------------------------------------------------------------------

    def _copies(self, number: int) -> tuple[Commit, ...]:
        own = commits_of_head(self.refs.heads[number], self.unmerged)
        return self._rebases.find(own)

    def _rebased(self, number: int, copies: Sequence[Commit]) -> _Claim:
        parents = copies[0].parents
        title, body = split_message(copies[0].message) if len(copies) == 1 else (None, None)
        return _Claim(
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
        claim: _Claim | None
        if head in self.lines.owner:
            at = self.lines.commits[self.lines.owner[head]]
            claim = self._fast_forwarded(number, at) if at.sha == head else self._inside(number, at)
        else:
            copies = self._copies(number)
            claim = self._rebased(number, copies) if copies else None
        if claim is not None:
            self.claims[number] = replace(claim, flags=("found_by_ref", *claim.flags))

    def _fast_forwarded(self, number: int, at: Commit) -> _Claim | None:
        """The head is itself on the line. Its start is known only from GitHub's test merge, if it is here."""
        test_merge = self.unmerged.get(self.refs.test_merges.get(number, CommitSha("")))
        start = test_merge.parents[0] if test_merge and test_merge.parents else None
        own: list[Commit] = []
        step: Commit | None = at
        while step is not None and step.sha != start and len(own) <= _MAX_FORWARDED:
            own.append(step)
            step = self.lines.commits.get(step.parents[0]) if step.parents else None
        known = start is not None and step is not None and step.sha == start and bool(own)
        return _Claim(
            number=number,
            kind=MergeKind.REBASE if known else MergeKind.UNKNOWN,
            at=at,
            base=start if known else None,
            own=tuple(reversed(own)) if known else (at,),
            head=at.sha,
            rejection=None if known else _base_unknown(at),
        )

    def _inside(self, number: int, at: Commit) -> _Claim:
        """The head came in below a merge that is another pull request's, or nobody's."""
        others = tuple(c.number for c in self.claims.values() if c.at.sha == at.sha and c.number != number)
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


def _base_unknown(at: Commit) -> Rejected:
    return Rejected(
        code=RejectCode.BASE_UNKNOWN,
        message=f"its head {at.sha} is a commit of the branch itself; where it began can't be told",
        evidence=(f"head={at.sha}",),
    )


def _reverted(revert: Revert) -> Rejected:
    evidence = [f"reverted_by={revert.commit}"]
    if revert.undone_by:
        evidence.append(f"relanded_by={revert.undone_by}")
    return Rejected(
        code=RejectCode.REVERTED,
        message=f"commit {revert.commit} takes it back",
        evidence=tuple(evidence),
    )


def _absent_base(claim: _Claim) -> Rejected:
    return Rejected(
        code=RejectCode.BASE_UNREACHABLE,
        message=f"the commit before {claim.at.sha} isn't in the repository (a shallow clone?)",
        evidence=(f"merge_commit={claim.at.sha}",),
    )


def _finish(claim: _Claim, repo: RepoRef, lines: Lines, revert: Revert | None) -> MergedPull:
    base = lines.commits.get(claim.base) if claim.base else None
    rejection = claim.rejection or (_absent_base(claim) if base is None else None)
    flags = list(claim.flags)
    if revert is not None and revert.whole:
        rejection = rejection or _reverted(revert)
    elif revert is not None:
        flags.append("partly_reverted")
    if (claim.title or split_message(claim.at.message)[0]).startswith('Revert "'):
        flags.append("is_revert")
    record = PullRecord(
        repo=repo,
        number=claim.number,
        merge_kind=claim.kind,
        merge_commit=claim.at.sha,
        base_commit=base.sha if base else claim.base or claim.at.sha,
        head_commit=claim.head,
        title=claim.title,
        body=claim.body or None,
        merged_at=claim.at.committed_at,
        commit_messages=tuple(c.message.strip() for c in claim.own if len(c.parents) == 1),
        commits=tuple(c.sha for c in claim.own),
    )
    return MergedPull(
        record=record,
        base_tree=base.tree if base else None,
        merged_tree=claim.at.tree,
        base_time=base.committed_at if base else None,
        begun_at=min((c.authored_at for c in claim.own), default=None),
        rejection=rejection,
        flags=tuple(dict.fromkeys(flags)),
    )


def _proven_rebases(
    repository: Repository, claims: Sequence[_Claim], unmerged: Mapping[CommitSha, Commit]
) -> list[_Claim]:
    """Compare each rebased commit's patch with its original's; a difference is flagged, not hidden."""
    pairs: dict[int, list[tuple[CommitSha, CommitSha]]] = {}
    for claim in claims:
        if claim.kind is MergeKind.REBASE and claim.head in unmerged and claim.head:
            originals = commits_of_head(claim.head, unmerged)
            pairs[claim.number] = [(a.sha, b.sha) for a, b in zip(originals, claim.own, strict=False)]
    ids = patch_ids(repository, [sha for pair in pairs.values() for two in pair for sha in two])
    return [
        replace(claim, flags=(*claim.flags, "rebased_with_changes"))
        if any(ids.get(a) != ids.get(b) or a not in ids for a, b in pairs.get(claim.number, ()))
        else claim
        for claim in claims
    ]


def merged_pulls(repository: Repository, repo: RepoRef, branch: str | None = None) -> History:
    """Find every merged pull request that reaches a branch (None: HEAD); one entry per number.

    Reads commits and refs only: a few seconds for a hundred thousand commits.

    Raises:
        RepositoryError: there is no such branch.
        GitError: the history can't be read.
    """
    tip = branch_tip(repository, branch)
    refs = read_pull_refs(repository)
    commits = read_commits(repository, [tip])
    wanted = {*refs.heads.values(), *refs.test_merges.values()} - commits.keys()
    unmerged = read_commits(repository, sorted(wanted), without=tip) if wanted else {}
    heads = frozenset(refs.heads.values())
    pull_merges = frozenset(
        c.sha
        for c in commits.values()
        if len(c.parents) > 1 and (c.parents[1] in heads or merged_by_merge(c.message))
    )
    lines = draw_lines(commits, tip, pull_merges)
    claims = _proven_rebases(repository, list(_Recogniser(lines, refs, unmerged).run()), unmerged)
    landings = [Landing(number=c.number, commit=c.at, commits=c.own) for c in claims]
    reverts = find_reverts(lines, landings)
    claims.sort(key=lambda c: (c.at.position, -c.number))
    known = frozenset(refs.heads) | {c.number for c in claims}
    return History(
        tip=tip,
        pulls=tuple(_finish(claim, repo, lines, reverts.get(claim.number)) for claim in claims),
        known_pulls=known,
        untraced=tuple(sorted(known - {c.number for c in claims})),
    )
