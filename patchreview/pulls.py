"""Reviews a pull request from the refs that a clone or mirror has; no API is asked."""

import re
from dataclasses import dataclass

from patchreview.measured import Calibration
from patchreview.ranges import review_range
from patchreview.reviewer import Review
from swequarry.errors import ObjectMissingError, UsageError
from swequarry.git.pullrefs import read_pull_refs
from swequarry.git.repository import Repository
from swequarry.records import CommitSha, RepoRef

_NAME = re.compile(r"([\w.-]+)/([\w.-]+)#([1-9]\d{0,8})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class PullName:
    """A pull request by its repository and number."""

    repo: RepoRef
    number: int

    def __str__(self) -> str:
        """Return `owner/name#number`."""
        return f"{self.repo.full_name}#{self.number}"


def parse_pull(said: str) -> PullName:
    """Read `owner/name#number`.

    Raises:
        UsageError: it's something else.
    """
    found = _NAME.fullmatch(said)
    if found is None:
        raise UsageError(f"{said!r} names no pull request; say `--pr owner/name#123`")
    return PullName(repo=RepoRef(owner=found[1], name=found[2]), number=int(found[3]))


def review_pull(
    repository: Repository, pull: PullName, calibration: Calibration | None = None, *, lint: bool = True
) -> Review:
    """Return the review of what a pull request changed since it left its branch.

    Raises:
        ObjectMissingError: the repository has no ref of it, or its commits can't be told from the branch's.
        GitError: the refs can't be read.
    """
    head, base = _ends(repository, pull)
    return review_range(repository, f"{base}..{head}", lint=lint, calibration=calibration)


def _ends(repository: Repository, pull: PullName) -> tuple[CommitSha, CommitSha]:
    refs = read_pull_refs(repository)
    head = refs.heads.get(pull.number)
    ref = f"refs/pull/{pull.number}/head"
    if head is None:
        raise ObjectMissingError(
            f"the repository at {repository.path} has no ref {ref}, so {pull} isn't in it; fetch it "
            f"(`git fetch REMOTE {ref}:{ref}`) or name another repository with -C"
        )
    head = repository.resolve(head)
    tested = refs.test_merges.get(pull.number)
    branch = repository.resolve(f"{tested}^1") if tested else _before_merge(repository, head)
    base = _merge_base(repository, branch, head)
    if base is None or base == head:
        raise ObjectMissingError(
            f"the commits of {pull} can't be told from those of the branch in {repository.path}: "
            "it was merged without a merge commit; name its commits with `--diff A..B`"
        )
    return head, base


def _before_merge(repository: Repository, head: CommitSha) -> CommitSha:
    """Return the branch as it was before the merge that brought a head; as it is where none did."""
    tip = repository.resolve("HEAD")
    asked = ["rev-list", "--first-parent", "--ancestry-path", f"{head}..{tip}"]
    since = repository.git(asked).decode("ascii").split()
    return repository.resolve(f"{since[-1]}^1") if since else tip


def _merge_base(repository: Repository, branch: CommitSha, head: CommitSha) -> CommitSha | None:
    found = repository.git(["merge-base", branch, head], allowed=(0, 1)).decode("ascii").split()
    return CommitSha(found[0]) if found else None
