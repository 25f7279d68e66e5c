"""Which merged pull requests a later commit takes back, in the words of `git revert` and GitHub's button."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from swequarry.git.commitlog import Commit, Lines
from swequarry.git.subjects import reverted_commits, reverted_pulls
from swequarry.records import CommitSha


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """Where a pull request landed: its last commit on the line, and all commits that it brought."""

    number: int
    commit: Commit
    commits: tuple[Commit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Revert:
    """A commit that takes a pull request back, whole or in part; `undone_by` reverts the revert."""

    commit: CommitSha
    whole: bool
    undone_by: CommitSha | None = None


class _Names:
    """Resolves the abbreviated hashes in messages; an ambiguous one resolves to nothing."""

    def __init__(self, shas: Sequence[CommitSha]) -> None:
        self._sorted = sorted(shas)

    def resolve(self, prefix: str) -> CommitSha | None:
        place = bisect_left(self._sorted, prefix)
        matches = [sha for sha in self._sorted[place : place + 2] if sha.startswith(prefix)]
        return matches[0] if len(matches) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statement:
    """One commit that says it reverts commits or pull requests."""

    commit: Commit
    shas: tuple[CommitSha, ...]
    numbers: tuple[int, ...]


def _statements(lines: Lines) -> Iterator[_Statement]:
    names: _Names | None = None
    for commit in lines.commits.values():
        if "evert" not in commit.message:
            continue
        prefixes, numbers = reverted_commits(commit.message), reverted_pulls(commit.message)
        if prefixes or numbers:
            names = names or _Names(list(lines.commits))
            shas = [names.resolve(prefix) for prefix in prefixes]
            yield _Statement(commit=commit, shas=tuple(s for s in shas if s), numbers=numbers)


def find_reverts(lines: Lines, landings: Sequence[Landing]) -> Mapping[int, Revert]:
    """Return for each pull request the oldest later commit that takes it back; a whole revert wins.

    A revert inside the pull request itself (of its own earlier commit) isn't one.
    """
    by_commit: dict[CommitSha, Landing] = {c.sha: item for item in landings for c in item.commits}
    by_commit |= {item.commit.sha: item for item in landings}
    by_number = {item.number: item for item in landings}
    statements = list(_statements(lines))
    undone = _undone(statements, by_commit)
    found: dict[int, Revert] = {}
    for said in reversed(statements):  # oldest first
        reverting = lines.commits[lines.owner.get(said.commit.sha, said.commit.sha)]
        targets = [(by_commit[sha], _is_whole(by_commit[sha], sha)) for sha in said.shas if sha in by_commit]
        targets += [(by_number[number], True) for number in said.numbers if number in by_number]
        for landing, whole in targets:
            later = reverting.position < landing.commit.position
            known = found.get(landing.number)
            if later and (known is None or (whole and not known.whole)):
                undone_by = undone.get(said.commit.sha)
                found[landing.number] = Revert(commit=said.commit.sha, whole=whole, undone_by=undone_by)
    return found


def _is_whole(landing: Landing, sha: CommitSha) -> bool:
    """Whether reverting one commit takes the whole pull request back: its merge, or its only commit."""
    own = [commit for commit in landing.commits if len(commit.parents) == 1]
    merge_itself = sha == landing.commit.sha and len(landing.commit.parents) > 1
    return merge_itself or len(own) <= 1


def _undone(
    statements: Sequence[_Statement], by_commit: Mapping[CommitSha, Landing]
) -> dict[CommitSha, CommitSha]:
    """Map each reverting commit to the oldest commit that reverts it, or the pull request that brought it."""
    direct: dict[CommitSha, CommitSha] = {}
    pulls: dict[int, CommitSha] = {}
    for said in reversed(statements):
        for sha in said.shas:
            direct.setdefault(sha, said.commit.sha)
        for number in said.numbers:
            pulls.setdefault(number, said.commit.sha)
    found: dict[CommitSha, CommitSha] = {}
    for said in statements:
        landing = by_commit.get(said.commit.sha)
        by = direct.get(said.commit.sha)
        if by is None and landing is not None:
            by = direct.get(landing.commit.sha) or pulls.get(landing.number)
        if by is not None and by != said.commit.sha:
            found[said.commit.sha] = by
    return found
