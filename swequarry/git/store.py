"""Object stores: what is in them, seen without the settings and refs of the repository they belong to."""

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from swequarry.errors import GitError, ObjectMissingError
from swequarry.git.paths import quote_path
from swequarry.git.run import Place, run_git, started_git

GITLINK_MODE = 0o160000
_MISSING = re.compile(
    r"unable to read|could not read|cannot read|bad (?:object|tree|file)|missing (?:blob|tree|object)"
    r"|not a valid object|unable to get|could not get object info|could not fetch|Not a valid object name"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """One file of a tree: path from its root, mode as an integer, `blob` or `commit` (a submodule)."""

    path: bytes
    mode: int
    kind: str
    sha: str


def blob_id(data: bytes) -> str:
    """Return the id that git gives to a file's bytes (40 hex digits of SHA-1)."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def parse_tree_entries(listing: bytes) -> tuple[TreeEntry, ...]:
    """Read the output of `git ls-tree -z`."""
    entries = []
    for line in listing.split(b"\0")[:-1]:
        meta, _, path = line.partition(b"\t")
        mode, kind, sha = meta.decode("ascii").split(" ")
        entries.append(TreeEntry(path=path, mode=int(mode, 8), kind=kind, sha=sha))
    return tuple(entries)


def list_files(place: Place, tree: str, paths: Sequence[bytes] = ()) -> tuple[TreeEntry, ...]:
    """Return every file of a tree, below all folders, in git's order; or those of some paths.

    Raises:
        ObjectMissingError: the tree or one of its folders isn't in the store.
    """
    with object_errors():
        return parse_tree_entries(run_git(["ls-tree", "-r", "-z", "--full-tree", tree, "--", *paths], place))


@contextmanager
def object_errors() -> Iterator[None]:
    """Turn what git says about absent objects into ObjectMissingError."""
    try:
        yield
    except GitError as error:
        if not _MISSING.search(error.stderr):
            raise
        raise ObjectMissingError(
            str(error), argv=error.argv, status=error.status, stderr=error.stderr
        ) from error


def make_store(folder: Path, objects: Path) -> None:
    """Make an empty git folder that sees another store's objects through an alternate."""
    (folder / "refs").mkdir(parents=True)
    info = folder / "objects" / "info"
    info.mkdir(parents=True)
    (folder / "HEAD").write_bytes(b"ref: refs/heads/main\n")
    (info / "alternates").write_bytes(quote_path(os.fsencode(objects.absolute())) + b"\n")


@contextmanager
def store_view(objects: Path) -> Iterator[Place]:
    """Open a store for reading without the settings of its repository, which lasts a millisecond to make.

    It matters for partial clones: git would go to the network for each object that isn't there.
    """
    with tempfile.TemporaryDirectory(prefix="swequarry-view-") as folder:
        make_store(Path(folder) / "git", objects)
        yield Place(git_dir=Path(folder) / "git")


def missing_objects(place: Place, shas: Sequence[str]) -> frozenset[str]:
    """Return those of the named objects that a store doesn't hold; 100,000 take a quarter of a second."""
    if not shas:
        return frozenset()
    asked = "\n".join(shas).encode("ascii") + b"\n"
    answer = run_git(["cat-file", "--batch-check=%(objectname)", "--buffer"], place, stdin=asked)
    lines = answer.decode("ascii").splitlines()
    return frozenset(line.split(" ", 1)[0] for line in lines if line.endswith(" missing"))


class ObjectReader:
    """A long-lived `git cat-file --batch`: for callers that read hundreds of objects."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def read(self, sha: str) -> tuple[str, bytes]:
        """Return kind and bytes of an object.

        Raises:
            ObjectMissingError: it isn't in the store.
            GitError: git died.
        """
        stdin = self._process.stdin
        if stdin is None:
            raise GitError("git cat-file was started without pipes")
        try:
            stdin.write(sha.encode("ascii") + b"\n")
            stdin.flush()
        except BrokenPipeError as error:
            raise GitError("git cat-file --batch died") from error
        found = _next_object(self._process.stdout)
        if found is None:
            raise ObjectMissingError(f"object {sha} isn't in the repository")
        return found


def _next_object(stdout: IO[bytes] | None) -> tuple[str, bytes] | None:
    """Read kind and bytes of the next object that `git cat-file --batch` tells of, None for a missing one.

    Raises:
        GitError: git died.
    """
    header = stdout.readline().decode("ascii", "replace").split() if stdout else []
    if stdout is None or not header:
        raise GitError("git cat-file --batch died")
    if header[-1] in {"missing", "ambiguous"}:
        return None
    data = stdout.read(int(header[2]) + 1)
    return header[1], data[:-1]


def read_objects(place: Place, shas: Sequence[str]) -> Iterator[bytes]:
    """Yield the bytes of those of the named objects that a store holds, in order.

    Git unpacks ahead while the caller works: thousands of questions, each answered before the next, take many
    times as long where the machine has other work.

    Raises:
        GitError: git can't be started, or died.
    """
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as stderr:
        asked.writelines(f"{sha}\n".encode("ascii") for sha in shas)
        asked.seek(0)
        command = ["cat-file", "--batch", "--buffer"]
        with started_git(command, place, stdin=asked, stderr=stderr) as process:
            for _ in shas:
                found = _next_object(process.stdout)
                if found is not None:
                    yield found[1]


@contextmanager
def object_reader(place: Place) -> Iterator[ObjectReader]:
    """Open a reader for many objects of a store.

    Raises:
        GitError: git can't be started.
    """
    with (
        tempfile.TemporaryFile() as stderr,
        started_git(["cat-file", "--batch"], place, stdin=subprocess.PIPE, stderr=stderr) as process,
    ):
        yield ObjectReader(process)
