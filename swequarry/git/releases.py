"""Which pull requests only bring others: a release from `develop`, where its parts were merged one by one."""

import re
from collections.abc import Iterator, Mapping

from swequarry.git.commitlog import Commit, first_parent_line
from swequarry.git.subjects import merged_by_merge, merged_by_squash
from swequarry.records import CommitSha

_FROM = re.compile(r"Merge pull request #\d+ from ([^/\s]+)/")


def find_releases(
    commits: Mapping[CommitSha, Commit],
    tip: CommitSha,
    pull_merges: frozenset[CommitSha],
    owner: str,
    heads: frozenset[int],
) -> Mapping[CommitSha, tuple[int, ...]]:
    """Return the merges of branches into which other pull requests were merged, and the numbers of these.

    Only branches of the repository itself count, told by its `owner`: in a fork the numbers are another
    repository's. `heads` are the pull requests whose refs are here; a number at the end of a subject, `(#N)`,
    is a pull request only if it is one of them.
    """
    main = {commit.sha for commit in first_parent_line(commits, tip)}
    found: dict[CommitSha, tuple[int, ...]] = {}
    for sha in pull_merges & main:
        merge = commits[sha]
        source = _FROM.match(merge.message)
        if source is None or source[1].lower() != owner.lower():
            continue
        line = first_parent_line(commits, merge.parents[1], main)
        inside = {commit.sha: numbers for commit in line if (numbers := tuple(_merged_in(commit, heads)))}
        if inside:
            there = _ancestors(commits, merge.parents[0])  # a branch may begin on a line that came in before
            brought = dict.fromkeys(n for own, those in inside.items() if own not in there for n in those)
            if brought:
                found[sha] = tuple(brought)
    return found


def _ancestors(commits: Mapping[CommitSha, Commit], tip: CommitSha) -> set[CommitSha]:
    found: set[CommitSha] = set()
    waiting = [tip]
    while waiting:
        sha = waiting.pop()
        if sha not in found and sha in commits:
            found.add(sha)
            waiting.extend(commits[sha].parents)
    return found


def _merged_in(commit: Commit, heads: frozenset[int]) -> Iterator[int]:
    if len(commit.parents) > 1:
        mention = merged_by_merge(commit.message)
        if mention is not None and mention.certain:
            yield from mention.numbers
    else:
        mention = merged_by_squash(commit.message)
        if mention is not None:
            yield from (number for number in mention.numbers if number in heads)
