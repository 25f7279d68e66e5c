"""A branch's commits in memory: one `git log`, parsed as a stream, and the lines that run through it.

A *line* is the chain of first parents that a branch has lived on. A branch also has the lines of other
branches of its own repository that were merged into it (`Merge branch '2.x'`). Every other commit was
brought in by exactly one commit of a line.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import NamedTuple

from swequarry.git.repository import Repository
from swequarry.records import CommitSha, TreeSha

LOG_FORMAT = "%H%x01%T%x01%P%x01%at%x01%ct%x01%an%x01%ae%x01%B"
"""Fields of one commit; a NUL (`-z`) ends it. What people write comes last: it can shift no other field."""

_FIELDS = 8


class Commit(NamedTuple):
    """A commit as `git log` prints it. `position` grows with age in topological order: parents come later.

    A history has a hundred thousand of them: a frozen dataclass takes four times as long to make.
    """

    sha: CommitSha
    tree: TreeSha
    parents: tuple[CommitSha, ...]
    author: tuple[str, str]
    authored: int
    committed: int
    message: str
    position: int

    @property
    def committed_at(self) -> datetime:
        """The committer's time in UTC."""
        return moment(self.committed)

    @property
    def authored_at(self) -> datetime:
        """The author's time in UTC."""
        return moment(self.authored)


def moment(seconds: int) -> datetime:
    """Return a Unix time as a datetime in UTC; nonsense beyond year 9999 or before 1970 is clamped."""
    return datetime.fromtimestamp(min(max(seconds, 0), 253_402_300_799), tz=UTC)


def _number(told: str) -> int:
    try:
        return int(told)
    except ValueError:
        return 0


def parse_log(blocks: Iterable[bytes]) -> Iterator[Commit]:
    """Yield the commits of a `git log -z --topo-order --format=LOG_FORMAT`, newest first.

    `blocks` are its output, cut anywhere. Bytes that aren't UTF-8 are escaped with backslashes.
    """
    position = 0
    rest = b""
    for block in chain(blocks, (b"\0",)):
        whole, _, rest = (rest + block).rpartition(b"\0")
        # decoded at once: NUL and \x01 stand in no character of more bytes
        for record in whole.decode("utf-8", "backslashreplace").split("\0"):
            parts = record.split("\x01", _FIELDS - 1)
            if len(parts) != _FIELDS:
                continue
            sha, tree, parents, authored, committed, name, email, message = parts
            yield Commit(
                CommitSha(sha),
                TreeSha(tree),
                tuple(map(CommitSha, parents.split())),
                (name, email),
                _number(authored),
                _number(committed),
                message,
                position,
            )
            position += 1


def read_commits(
    repository: Repository, revisions: Iterable[str], *, without: str | None = None
) -> dict[CommitSha, Commit]:
    """Read all commits that `revisions` reach and `without` doesn't, newest first.

    Revisions that aren't in the repository are passed over.

    Raises:
        GitError: the history can't be read.
    """
    wanted = [*revisions, *([f"^{without}"] if without else [])]
    argv = ["log", "-z", "--topo-order", "--encoding=UTF-8", f"--format={LOG_FORMAT}"]
    stdin = "".join(f"{revision}\n" for revision in wanted).encode("ascii")
    output = repository.stream([*argv, "--ignore-missing", "--stdin"], stdin=stdin)
    return {commit.sha: commit for commit in parse_log(output)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Where every commit of a branch stands.

    `main` is the branch's own first-parent line, newest first. `others` are the commits of other lines merged
    into it, newest first. `brought` maps a line commit to the commits that it brought, oldest first, and
    `owner` every commit to the line commit that brought it (a line commit to itself).
    """

    commits: Mapping[CommitSha, Commit]
    main: tuple[Commit, ...]
    others: tuple[Commit, ...]
    brought: Mapping[CommitSha, tuple[Commit, ...]] = field(repr=False)
    owner: Mapping[CommitSha, CommitSha] = field(repr=False)


def first_parent_line(
    commits: Mapping[CommitSha, Commit], tip: CommitSha, stop: Iterable[CommitSha] = ()
) -> Iterator[Commit]:
    """Yield commits from `tip` along first parents until one in `stop`, or one that isn't there."""
    known = stop if isinstance(stop, (set, frozenset, dict)) else set(stop)
    at: CommitSha | None = tip
    while at is not None and at not in known and at in commits:
        commit = commits[at]
        yield commit
        at = commit.parents[0] if commit.parents else None


def _other_lines(
    commits: Mapping[CommitSha, Commit], main: Sequence[Commit], pull_merges: frozenset[CommitSha]
) -> tuple[Commit, ...]:
    seen = {commit.sha for commit in main}
    found: list[Commit] = []
    waiting = list(main)
    for commit in waiting:  # grows while it is read: lines have lines merged into them
        if commit.sha in pull_merges:
            continue
        for parent in commit.parents[1:]:
            line = list(first_parent_line(commits, parent, seen))
            seen.update(c.sha for c in line)
            found.extend(line)
            waiting.extend(line)
    return tuple(sorted(found, key=lambda c: c.position))


def draw_lines(
    commits: Mapping[CommitSha, Commit], tip: CommitSha, pull_merges: frozenset[CommitSha]
) -> Lines:
    """Find the lines below `tip`. `pull_merges` are merge commits whose second parent is no line."""
    main = tuple(first_parent_line(commits, tip))
    others = _other_lines(commits, main, pull_merges)
    on_line = sorted([*main, *others], key=lambda c: -c.position)
    owner = {commit.sha: commit.sha for commit in on_line}
    brought: dict[CommitSha, tuple[Commit, ...]] = {}
    for line_commit in on_line:  # oldest first, so that a merge brings only what no earlier one brought
        found: list[Commit] = []
        waiting = list(line_commit.parents[1:])
        while waiting:
            sha = waiting.pop()
            if sha in owner or sha not in commits:
                continue
            owner[sha] = line_commit.sha
            found.append(commits[sha])
            waiting.extend(commits[sha].parents)
        if found:
            brought[line_commit.sha] = tuple(sorted(found, key=lambda c: -c.position))
    return Lines(commits=commits, main=main, others=others, brought=brought, owner=owner)
