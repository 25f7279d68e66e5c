"""The pull request refs of a clone, and the commits of their heads found again on a line (rebases)."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from swequarry.errors import GitError
from swequarry.git.commitlog import Commit
from swequarry.git.repository import Repository
from swequarry.git.subjects import split_message
from swequarry.records import CommitSha

_REF = re.compile(
    r"refs/(?:remotes/[^/]+/)?(?:pull|pr|pulls|merge-requests)/([1-9]\d{0,8})(?:/(head|merge))?", re.ASCII
)
MAX_REBASED = 250
"""A pull request of more commits isn't searched for on the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRefs:
    """Head commits by number, and GitHub's test merges (`refs/pull/N/merge`) by number."""

    heads: Mapping[int, CommitSha] = field(default_factory=dict)
    test_merges: Mapping[int, CommitSha] = field(default_factory=dict)

    def numbers_by_head(self) -> dict[CommitSha, tuple[int, ...]]:
        """Return the numbers of each head commit, ascending."""
        found: dict[CommitSha, list[int]] = defaultdict(list)
        for number in sorted(self.heads):
            found[self.heads[number]].append(number)
        return {sha: tuple(numbers) for sha, numbers in found.items()}


def read_pull_refs(repository: Repository) -> PullRefs:
    """Read the pull request refs that a clone or mirror has, whatever refspec fetched them.

    Raises:
        GitError: the refs can't be listed.
    """
    argv = ["for-each-ref", "--format=%(objectname) %(refname)"]
    output = repository.git(argv).decode("utf-8", "replace")
    heads: dict[int, CommitSha] = {}
    test_merges: dict[int, CommitSha] = {}
    for line in output.splitlines():
        sha, _, name = line.partition(" ")
        if found := _REF.fullmatch(name):
            (test_merges if found[2] == "merge" else heads)[int(found[1])] = CommitSha(sha)
    return PullRefs(heads=heads, test_merges=test_merges)


def commits_of_head(head: CommitSha, unmerged: Mapping[CommitSha, Commit]) -> tuple[Commit, ...]:
    """Return the commits below a head that the branch doesn't have, oldest first, without merges."""
    found: dict[CommitSha, Commit] = {}
    waiting = [head]
    while waiting and len(found) <= MAX_REBASED:
        sha = waiting.pop()
        if sha in unmerged and sha not in found:
            found[sha] = unmerged[sha]
            waiting.extend(unmerged[sha].parents)
    own = (commit for commit in found.values() if len(commit.parents) == 1)
    return tuple(sorted(own, key=lambda c: -c.position))


_Mark = tuple[str, int, str]


def _mark(commit: Commit) -> _Mark:
    """What a rebase keeps of a commit: who, when (author's time) and the subject."""
    return commit.author[1], commit.authored, split_message(commit.message)[0]


class RebaseIndex:
    """Finds the commits of a pull request again on a line, in a row and in order."""

    def __init__(self, line: Sequence[Commit]) -> None:
        """Index a line, newest first."""
        self._line = line
        self._places: dict[_Mark, list[int]] = defaultdict(list)
        for place, commit in enumerate(line):
            if len(commit.parents) == 1:
                self._places[_mark(commit)].append(place)

    def find(self, own: Sequence[Commit]) -> tuple[Commit, ...]:
        """Return the line's copies of a pull request's commits (oldest first), empty where there are none."""
        if not 0 < len(own) <= MAX_REBASED:
            return ()
        marks = [_mark(commit) for commit in own]
        for place in reversed(self._places.get(marks[0], [])):
            copies = [self._line[place - step] for step in range(min(len(marks), place + 1))]
            if [_mark(c) for c in copies] == marks and all(len(c.parents) == 1 for c in copies):
                return tuple(copies)
        return ()


def patch_ids(repository: Repository, commits: Sequence[CommitSha]) -> dict[CommitSha, str]:
    """Return git's stable patch id of each commit; one whose change is empty or can't be read has none."""
    argv = ["diff-tree", "--stdin", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--full-index"]
    stdin = "".join(f"{sha}\n" for sha in commits).encode("ascii")
    try:
        patches = repository.git(argv, stdin=stdin)
        lines = repository.git(["patch-id", "--stable"], stdin=patches).decode("ascii").splitlines()
    except GitError:
        return {}
    return {CommitSha(sha): patch_id for patch_id, sha in _pairs(lines)}


def _pairs(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        patch_id, _, sha = line.partition(" ")
        yield patch_id, sha
