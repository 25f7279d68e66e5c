"""Reviews a change between two commits of any git repository, with the whole files at hand."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from patchreview.checkers import bandit, mypy, ruff
from patchreview.checkers.sides import changed_python
from patchreview.findings import worst_first
from patchreview.measured import Calibration
from patchreview.reviewer import Review, review_patch
from swequarry.errors import ObjectMissingError, UsageError
from swequarry.git.repository import Repository, TreeEntry
from swequarry.git.store import ObjectReader
from swequarry.records import CommitSha

_LARGEST = 4 << 20


def review_range(
    repository: Repository, said: str, *, lint: bool = True, calibration: Calibration | None = None
) -> Review:
    """Return the review of `A..B`, or of `A...B`: what B changed since it left A.

    `lint`: what ruff, bandit and mypy newly say is in it, as far as they're installed.

    Raises:
        UsageError: that isn't a range.
        ObjectMissingError: a commit isn't here.
    """
    old, new = _ends(repository, said)
    options = ["--no-ext-diff", "--no-textconv", "--no-color", "--binary", "--full-index", "-M"]
    patch = repository.git(["diff-tree", "-p", "-r", *options, old, new])
    with repository.reader() as reader:
        before, after = (_Side.of(repository, commit, reader) for commit in (old, new))
        review = review_patch(patch, old=before, new=after, calibration=calibration)
        return _checked(review, patch, before, after) if lint else review


def _checked(review: Review, patch: bytes, before: "_Side", after: "_Side") -> Review:
    files = changed_python(patch, before, after)
    more = [
        *ruff.check(files),
        *bandit.check(files),
        *mypy.check(files, before, after, (before.entries, after.entries)),
    ]
    return replace(review, findings=worst_first([*review.findings, *more]))


def _ends(repository: Repository, said: str) -> tuple[CommitSha, CommitSha]:
    for dots in ("...", ".."):
        first, found, second = said.partition(dots)
        if found:
            old, new = repository.resolve(first or "HEAD"), repository.resolve(second or "HEAD")
            if dots == "...":
                base = repository.git(["merge-base", old, new], allowed=(0, 1)).decode("ascii").split()
                old = CommitSha(base[0]) if base else old
            return old, new
    raise UsageError(f"{said!r} isn't a range; give two commits, `--diff main..HEAD`")


@dataclass(frozen=True, slots=True)
class _Side:
    """The files of a commit: called with a path, it gives the content, None where there is none at hand."""

    entries: Mapping[bytes, TreeEntry]
    reader: ObjectReader

    @classmethod
    def of(cls, repository: Repository, commit: str, reader: ObjectReader) -> "_Side":
        entries = repository.list_tree(repository.tree_of(commit))
        return cls({entry.path: entry for entry in entries}, reader)

    def __call__(self, path: bytes) -> bytes | None:
        entry = self.entries.get(path)
        if entry is None or entry.kind != "blob":
            return None
        try:
            data = self.reader.read(entry.sha)[1]
        except ObjectMissingError:
            return None
        return data if len(data) <= _LARGEST else None
