"""A git repository of the user, read and never written: clone, worktree, bare or mirror.

GitPython tells what a path is (it follows `.git` files and linked worktrees without starting a process);
objects are read by plumbing, because GitPython decodes paths, reads the settings of the user and keeps
pipes open that outlive a killed worker.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Self

from swequarry.errors import GitError, ObjectMissingError, RepositoryError
from swequarry.git.run import Argument, Place, run_git, stream_git
from swequarry.git.store import (
    GITLINK_MODE,
    ObjectReader,
    TreeEntry,
    list_files,
    missing_objects,
    object_errors,
    object_reader,
    parse_tree_entries,
    read_objects,
    store_view,
)
from swequarry.records import CommitSha, TreeSha

__all__ = ["GITLINK_MODE", "Repository", "TreeEntry", "object_errors", "parse_tree_entries"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository by its git folder; `common` is where its objects and refs are (worktrees share them).

    `supplement` is a git folder whose store has objects that this one lacks, and sees this one's too.
    """

    path: Path
    common: Path
    supplement: Path | None = None

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a clone, a worktree, a bare repository, or a bare folder that has no config file.

        Raises:
            RepositoryError: nothing is there, it isn't a repository, or its ids aren't SHA-1.
        """
        import git  # noqa: PLC0415 - importing GitPython takes half a second and starts a process

        if not path.exists():
            raise RepositoryError(f"there is no repository at {path}; clone it there or correct the path")
        try:
            with git.Repo(path.absolute()) as found:
                repository = cls(path=Path(found.git_dir), common=Path(found.common_dir))
        except (git.InvalidGitRepositoryError, git.NoSuchPathError, OSError, ValueError) as error:
            raise RepositoryError(f"{path} isn't a git repository; name a clone or a bare mirror") from error
        try:
            kind = repository.git(["rev-parse", "--show-object-format"]).strip()
        except GitError as error:
            raise RepositoryError(f"git can't read the repository at {path}: {error.stderr}") from error
        if kind != b"sha1":
            raise RepositoryError(f"{path} names objects by {kind.decode()}; only SHA-1 is supported")
        return repository

    @property
    def place(self) -> Place:
        """Where commands on this repository run."""
        return Place(git_dir=self.path)

    @property
    def objects(self) -> Path:
        """The folder of its object store, or of the store that completes it."""
        return (self.supplement or self.common) / "objects"

    def git(
        self, arguments: Sequence[Argument], *, stdin: bytes = b"", allowed: Sequence[int] = (0,)
    ) -> bytes:
        """Run a reading git command in this repository and return its output.

        Raises:
            GitError: it failed.
        """
        return run_git(arguments, self.place, stdin=stdin, allowed=allowed)

    def stream(self, arguments: Sequence[Argument], *, stdin: bytes = b"") -> Iterator[bytes]:
        """Yield the output of a reading git command in this repository in blocks, while it runs.

        Raises:
            GitError: it failed; blocks may have been yielded before.
        """
        return stream_git(arguments, self.place, stdin=stdin)

    def resolve(self, rev: str) -> CommitSha:
        """Return the commit that a revision names (tags are peeled).

        Raises:
            ObjectMissingError: no such commit is here.
        """
        asked = f"{rev}^{{commit}}"
        out = self.git(["rev-parse", "--verify", "--quiet", "--end-of-options", asked], allowed=(0, 1, 128))
        sha = out.decode("ascii", "replace").strip().removeprefix("--end-of-options").strip()
        if not re.fullmatch("[0-9a-f]{40}", sha):
            raise ObjectMissingError(f"{rev} names no commit of the repository at {self.path}")
        return CommitSha(sha)

    def has(self, sha: str) -> bool:
        """Whether an object is in the store."""
        with store_view(self.objects) as place:
            return not missing_objects(place, [sha])

    def tree_of(self, commit: str) -> TreeSha:
        """Return the tree of a commit.

        Raises:
            ObjectMissingError: the commit or its tree isn't here.
        """
        header = self.commit_object(self.resolve(commit))
        return TreeSha(header[len("tree ") :][:40].decode("ascii"))

    def commit_time(self, sha: str) -> datetime:
        """Return the committer's time of a commit, in the committer's own zone.

        Raises:
            ObjectMissingError: the commit isn't here.
        """
        header = self.commit_object(sha).partition(b"\n\n")[0]
        match = re.search(rb"^committer .*> (-?\d+) ([+-]\d{4,})$", header, re.MULTILINE)
        if match is None:
            return datetime.fromtimestamp(0, UTC)
        return moment(int(match[1]), match[2].decode("ascii"))

    def commit_object(self, sha: str) -> bytes:
        """Return a commit as git stores it.

        Raises:
            ObjectMissingError: it isn't here.
        """
        with store_view(self.objects) as place, object_errors():
            return run_git(["cat-file", "commit", sha], place)

    def read_blob(self, sha: str) -> bytes:
        """Return the bytes of a blob.

        Raises:
            ObjectMissingError: it isn't here (partial mirrors lack large blobs).
        """
        with store_view(self.objects) as place, object_errors():
            return run_git(["cat-file", "blob", sha], place)

    @contextmanager
    def reader(self) -> Iterator[ObjectReader]:
        """Open a reader for many objects.

        Raises:
            GitError: git can't be started.
        """
        with store_view(self.objects) as place, object_reader(place) as reader:
            yield reader

    def read_all(self, shas: Sequence[str]) -> Iterator[bytes]:
        """Yield the bytes of those of some objects that are here, in order.

        Raises:
            GitError: git can't be started, or died.
        """
        with store_view(self.objects) as place:
            yield from read_objects(place, shas)

    def list_tree(self, tree: str) -> tuple[TreeEntry, ...]:
        """Return every file of a tree, below all folders, in git's order.

        Raises:
            ObjectMissingError: the tree or one of its folders isn't here.
        """
        with store_view(self.objects) as place:
            return list_files(place, tree)

    def missing_blobs(self, tree: str) -> tuple[TreeEntry, ...]:
        """Return the files of a tree whose content the store doesn't hold (partial mirrors)."""
        with store_view(self.objects) as place:
            entries = [entry for entry in list_files(place, tree) if entry.kind == "blob"]
            absent = missing_objects(place, sorted({entry.sha for entry in entries}))
        return tuple(entry for entry in entries if entry.sha in absent)


def moment(seconds: int, zone: str) -> datetime:
    """Return git's pair of Unix seconds and zone (`+0530`) as an aware time; impossible zones read as UTC."""
    minutes = int(zone[1:-2] or 0) * 60 + int(zone[-2:])
    offset = timedelta(minutes=-minutes if zone.startswith("-") else minutes)
    known = timezone(offset) if abs(offset) < timedelta(hours=24) else UTC
    try:
        return datetime.fromtimestamp(seconds, known)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)
