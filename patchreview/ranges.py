"""Reviews a change between two commits of any git repository, with the whole files at hand."""

from patchreview.diff import ReadFile
from patchreview.lint import new_findings
from patchreview.measured import Calibration
from patchreview.reviewer import Review, review_patch
from swequarry.errors import ObjectMissingError, UsageError
from swequarry.git.repository import Repository
from swequarry.git.store import ObjectReader
from swequarry.records import CommitSha

_LARGEST = 4 << 20


def review_range(
    repository: Repository, said: str, *, lint: bool = True, calibration: Calibration | None = None
) -> Review:
    """Return the review of `A..B`, or of `A...B`: what B changed since it left A.

    Raises:
        UsageError: that isn't a range.
        ObjectMissingError: a commit isn't here.
    """
    old, new = _ends(repository, said)
    options = ["--no-ext-diff", "--no-textconv", "--no-color", "--binary", "--full-index", "-M"]
    patch = repository.git(["diff-tree", "-p", "-r", *options, old, new])
    with repository.reader() as reader:
        before, after = (_files(repository, commit, reader) for commit in (old, new))
        review = review_patch(patch, old=before, new=after, calibration=calibration)
        return new_findings(review, patch, before, after) if lint else review


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


def _files(repository: Repository, commit: str, reader: ObjectReader) -> ReadFile:
    entries = {entry.path: entry for entry in repository.list_tree(repository.tree_of(commit))}

    def content(path: bytes) -> bytes | None:
        entry = entries.get(path)
        if entry is None or entry.kind != "blob":
            return None
        try:
            data = reader.read(entry.sha)[1]
        except ObjectMissingError:
            return None
        return data if len(data) <= _LARGEST else None

    return content
