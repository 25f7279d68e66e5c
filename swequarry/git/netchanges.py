"""The net changes of many pairs of trees in one git process."""

from collections.abc import Iterable, Iterator, Sequence

from swequarry.errors import ObjectMissingError
from swequarry.git.repository import Repository, object_errors
from swequarry.git.trees import ChangedPath, changed_path
from swequarry.records import TreeSha


def net_changes(
    repository: Repository, pairs: Sequence[tuple[TreeSha, TreeSha]]
) -> Iterator[tuple[ChangedPath, ...]]:
    """Yield for each pair (old, new) the paths that differ, in git's order; a rename is D + A.

    Git reads trees while the caller works on what was yielded.

    Raises:
        ObjectMissingError: a tree isn't in the store; changes of pairs before it may have been yielded.
    """
    if not pairs:
        return
    asked = [f"{old} {new}" for old, new in pairs]
    argv = ["diff-tree", "--stdin", "-r", "-z", "--raw", "--no-abbrev", "--no-renames"]
    with object_errors():
        yield from parse_batches(
            repository.stream(argv, stdin=("\n".join(asked) + "\n").encode("ascii")), asked
        )


def parse_batches(blocks: Iterable[bytes], asked: Iterable[str]) -> Iterator[tuple[ChangedPath, ...]]:
    """Read `git diff-tree --stdin -z --raw`: a line with the two ids, then entries that begin with `:`.

    `blocks` are its output, cut anywhere, and `asked` the lines that git was given. A batch is yielded when
    the next one begins or all was read.

    Raises:
        ObjectMissingError: git passed over a pair, as it does where it can't read one of the two trees.
    """
    expected = iter(asked)
    batches = _batches(blocks, expected)
    next(batches)  # what stands before the first line: nothing
    yield from batches
    if (passed := next(expected, None)) is not None:
        raise _passed_over(passed)


def _batches(blocks: Iterable[bytes], expected: Iterator[str]) -> Iterator[tuple[ChangedPath, ...]]:
    """Yield what stands before each line of two ids, and after the last one."""
    batch: list[ChangedPath] = []
    rest = b""
    for block in blocks:
        fields = (rest + block).split(b"\0")
        rest = fields.pop()
        if len(fields) % 2:
            rest = fields.pop() + b"\0" + rest
        for head, path in zip(fields[::2], fields[1::2], strict=True):
            *lines, meta = head.decode("ascii").split("\n")
            for line in lines:
                yield tuple(batch)
                batch = []
                _check(line, expected)
            batch.append(changed_path(meta, path))
    for line in rest.decode("ascii").splitlines():  # pairs without a difference
        yield tuple(batch)
        batch = []
        _check(line, expected)
    yield tuple(batch)


def _check(line: str, expected: Iterator[str]) -> None:
    wanted = next(expected, "none")
    if line != wanted:
        raise _passed_over(wanted)


def _passed_over(pair: str) -> ObjectMissingError:
    return ObjectMissingError(f"git can't compare the trees {pair}: one of them isn't here")
