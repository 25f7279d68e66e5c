"""The net changes of many pairs of trees in one git process."""

from collections.abc import Iterator, Sequence

from swequarry.git.repository import Repository, object_errors
from swequarry.git.trees import ChangedPath
from swequarry.records import TreeSha


def net_changes(
    repository: Repository, pairs: Sequence[tuple[TreeSha, TreeSha]]
) -> Iterator[tuple[ChangedPath, ...]]:
    """Yield for each pair (old, new) the paths that differ, in git's order; a rename is D + A.

    Raises:
        ObjectMissingError: a tree isn't in the store.
    """
    stdin = "".join(f"{old} {new}\n" for old, new in pairs).encode("ascii")
    argv = ["diff-tree", "--stdin", "-r", "-z", "--raw", "--no-abbrev", "--no-renames"]
    with object_errors():
        output = repository.git(argv, stdin=stdin) if pairs else b""
    yield from parse_batches(output)


def parse_batches(output: bytes) -> Iterator[tuple[ChangedPath, ...]]:
    """Read `git diff-tree --stdin -z --raw`: a line with the two ids, then entries that begin with `:`."""
    at = 0
    while at < len(output):
        at = output.index(b"\n", at) + 1
        batch: list[ChangedPath] = []
        while output[at : at + 1] == b":":
            meta_end = output.index(b"\0", at)
            path_end = output.index(b"\0", meta_end + 1)
            batch.append(_changed(output[at + 1 : meta_end], output[meta_end + 1 : path_end]))
            at = path_end + 1
        yield tuple(batch)


def _changed(meta: bytes, path: bytes) -> ChangedPath:
    old_mode, new_mode, old_sha, new_sha, status = meta.decode("ascii").split(" ")
    return ChangedPath(
        status=status[0],
        old_path=None if status[0] == "A" else path,
        new_path=None if status[0] == "D" else path,
        old_mode=int(old_mode, 8),
        new_mode=int(new_mode, 8),
        old_sha=old_sha,
        new_sha=new_sha,
    )
