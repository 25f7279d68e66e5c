"""The merged pull requests of a clone, found without asking anybody.

Evidence, strongest first: a merge commit that names the pull request; a squash commit whose subject ends
in `(#N)`; `refs/pull/N/head` (where the clone has it) as the second parent of a merge, or its commits found
again, in a row, on the line: a rebase. Numbers in commit messages are only words (a fork or another
forge has its own numbers), so where the clone holds the pull requests' refs they must agree.

Base commit: the first parent for merge and squash; for a rebase of k commits the tip's k-th ancestor. Never
a nearby commit: where the base can't be told the pull request is rejected, with what was seen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from swequarry.errors import ObjectMissingError, RepositoryError
from swequarry.git.commitlog import Commit, Lines, draw_lines, read_commits
from swequarry.git.pullrefs import commits_of_head, patch_ids, read_pull_refs
from swequarry.git.recognise import Claim, Recogniser
from swequarry.git.releases import find_releases
from swequarry.git.repository import Repository
from swequarry.git.reverts import Landing, Revert, find_reverts
from swequarry.git.subjects import merged_by_merge, split_message
from swequarry.outcome import RejectCode, Rejected
from swequarry.records import CommitSha, MergeKind, PullRecord, RepoRef, TreeSha

_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPull:
    """A merged pull request as the history shows it.

    `base_tree` and `merged_tree` are its trees before and after, `base_time` is when the base was committed
    and `begun_at` when the first of its commits was written. `rejection` says why no base can be told,
    or that it was reverted; the record then holds what is known. `flags`: `other_branch` (merged into
    another line of the repository, which reached this one), `found_by_ref` (no message names it),
    `found_by_source` (nor any ref: its source said where it landed),
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
class Landed:
    """Where a source says that a pull request was merged; `commit_count` None is unknown."""

    commit: CommitSha
    commit_count: int | None = None


AskLanded: TypeAlias = Callable[[Sequence[int], bool], Mapping[int, Landed]]
"""Told which pull requests left no trace, and whether all are known; says which landed where."""


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


def _reverted(revert: Revert) -> Rejected:
    evidence = [f"reverted_by={revert.commit}"]
    if revert.undone_by:
        evidence.append(f"relanded_by={revert.undone_by}")
    return Rejected(
        code=RejectCode.REVERTED,
        message=f"commit {revert.commit} takes it back",
        evidence=tuple(evidence),
    )


def _absent_base(claim: Claim) -> Rejected:
    return Rejected(
        code=RejectCode.BASE_UNREACHABLE,
        message=f"the commit before {claim.at.sha} isn't in the repository (a shallow clone?)",
        evidence=(f"merge_commit={claim.at.sha}",),
    )


def _objection(claim: Claim, releases: Mapping[CommitSha, tuple[int, ...]]) -> Rejected | None:
    others = tuple(n for n in releases.get(claim.at.sha, ()) if n != claim.number)
    return claim.rejection or (_brings(claim.number, others) if others else None)


def _brings(number: int, others: Sequence[int]) -> Rejected:
    named = ", ".join(f"#{other}" for other in others[:_SHOWN])
    more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    return Rejected(
        code=RejectCode.BRINGS_OTHERS,
        message=f"#{number} brings {named}{more}, which were merged before it",
        evidence=tuple(f"brings=#{other}" for other in others),
    )


def _finish(
    claim: Claim, repo: RepoRef, lines: Lines, objection: Rejected | None, revert: Revert | None
) -> MergedPull:
    base = lines.commits.get(claim.base) if claim.base else None
    rejection = objection or (_absent_base(claim) if base is None else None)
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
        author_is_bot=_is_bots(claim) or None,
    )
    return MergedPull(
        record=record,
        base_tree=base.tree if base else None,
        merged_tree=claim.at.tree,
        base_time=base.committed_at if base else None,
        begun_at=min(claim.own, key=lambda c: c.authored).authored_at if claim.own else None,
        rejection=rejection,
        flags=tuple(dict.fromkeys(flags)),
    )


def _is_bots(claim: Claim) -> bool:
    """Whether all commits are by GitHub Apps, whose names and addresses say `[bot]`."""
    own = [commit for commit in claim.own if len(commit.parents) == 1]
    return bool(own) and all(any("[bot]" in str(name) for name in commit.author) for commit in own)


def _proven_rebases(
    repository: Repository, claims: Sequence[Claim], unmerged: Mapping[CommitSha, Commit]
) -> list[Claim]:
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


def merged_pulls(
    repository: Repository, repo: RepoRef, branch: str | None = None, ask_landed: AskLanded | None = None
) -> History:
    """Find every merged pull request that reaches a branch (None: HEAD); one entry per number.

    Reads commits and refs only: a few seconds for a hundred thousand commits. `ask_landed` helps out where
    neither messages nor refs show a pull request.

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
    releases = find_releases(commits, tip, pull_merges, repo.owner, frozenset(refs.heads))
    lines = draw_lines(commits, tip, pull_merges - releases.keys())
    recogniser = Recogniser(lines, refs, unmerged)
    found = list(recogniser.run())
    if ask_landed is not None:
        silent = sorted(refs.heads.keys() - recogniser.claims.keys())
        for number, landed in sorted(ask_landed(silent, recogniser.complete).items()):
            claim = recogniser.claim_landed(number, landed.commit, landed.commit_count)
            found += [claim] if claim else []
    claims = _proven_rebases(repository, found, unmerged)
    landings = [Landing(number=c.number, commit=c.at, commits=c.own) for c in claims]
    reverts = find_reverts(lines, landings)
    claims.sort(key=lambda c: (c.at.position, -c.number))
    known = frozenset(refs.heads) | {c.number for c in claims}
    return History(
        tip=tip,
        pulls=tuple(
            _finish(claim, repo, lines, _objection(claim, releases), reverts.get(claim.number))
            for claim in claims
        ),
        known_pulls=known,
        untraced=tuple(sorted(known - {c.number for c in claims})),
    )
