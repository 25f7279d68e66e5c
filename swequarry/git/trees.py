"""Arithmetic on git trees: apply, compare, compose; all in a scratch store, never in the repository.

A workbench has its own empty git folder whose objects are those of the repository by an alternate, so
that everything it makes vanishes with it, no setting or attribute file of the repository is read, and
several workers can use one mirror at once.
"""

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Self

from swequarry.delta import FileContent, TreeDelta
from swequarry.errors import BinaryWithoutDataError, GitError, ObjectMissingError, PatchError
from swequarry.git.checkout import index_lines, write_files
from swequarry.git.patches import end_last_line, series, without_binary_data
from swequarry.git.paths import on_disk, path_text
from swequarry.git.repository import Repository
from swequarry.git.run import Argument, Place, run_git
from swequarry.git.store import (
    GITLINK_MODE,
    TreeEntry,
    list_files,
    make_store,
    missing_objects,
    object_errors,
)
from swequarry.records import TreeSha

DIFF_OPTIONS = (
    "--patch",
    "--binary",
    "--full-index",
    "--find-renames=50%",
    "-l1000",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--unified=3",
    "--inter-hunk-context=0",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-relative",
    "--submodule=short",
    "--ignore-submodules=none",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
"""Everything that settings could change is named, so that equal trees give equal bytes."""

_LARGEST_APPLIED = 256 * 1024**2
_NO_DATA = re.compile(r"cannot apply binary patch to|necessary postimage|missing binary patch data")
_UNREADABLE = re.compile(r"^(?:failed to read|unable to read|cannot read the current contents) ")
_MACHINERY = re.compile(
    r"unable to (?:write|create)|could not (?:write|create)|[Nn]o space left|[Qq]uota exceeded"
    r"|[Oo]ut of memory|[Cc]annot allocate|[Ii]nput/output error|Too many open files|Read-only file system"
)
_NULL_SHA = "0" * 40


class ChangedPath(NamedTuple):
    """How one path differs between two trees.

    `status` is git's letter: A, D, M, T (kind of file), R, C. The absent side has path None, mode 0 and
    a sha of zeros. A history has a million of them: a frozen dataclass takes four times as long to make.
    """

    status: str
    old_path: bytes | None
    new_path: bytes | None
    old_mode: int
    new_mode: int
    old_sha: str
    new_sha: str

    @property
    def paths(self) -> tuple[bytes, ...]:
        """The paths that it touches: one, or two for a rename or copy."""
        named = [path for path in (self.old_path, self.new_path) if path is not None]
        return tuple(dict.fromkeys(named))


def changed_path(meta: str, path: bytes, second: bytes | None = None) -> ChangedPath:
    """Return the change that an entry of `--raw -z --no-abbrev` tells, the colon included.

    A rename or copy has a second path. Modes and ids have the same length in all entries.
    """
    status = meta[97]
    old_mode, new_mode = _modes(meta[1:14])
    return ChangedPath(
        status,
        None if status == "A" else path,
        None if status == "D" else second or path,
        old_mode,
        new_mode,
        meta[15:55],
        meta[56:96],
    )


@lru_cache(maxsize=256)
def _modes(both: str) -> tuple[int, int]:
    old, new = both.split(" ")
    return int(old, 8), int(new, 8)


def _parse_raw(output: bytes) -> tuple[ChangedPath, ...]:
    changes = []
    fields = iter(output.split(b"\0")[:-1])
    for field in fields:
        meta = field.decode("ascii")
        first = next(fields)
        changes.append(changed_path(meta, first, next(fields) if meta[97] in "RC" else None))
    return tuple(changes)


def _apply_error(error: GitError) -> GitError | PatchError:
    if error.status < 0 or not error.stderr or _MACHINERY.search(error.stderr):
        return error  # that says nothing about the patch
    lines = [line.removeprefix("error: ").removeprefix("fatal: ") for line in error.stderr.splitlines()]
    if any(_UNREADABLE.search(line) for line in lines):
        return ObjectMissingError(
            f"the patch changes a file whose content is missing from the mirror: {lines[0]}",
            argv=error.argv,
            status=error.status,
            stderr=error.stderr,
        )
    without_data = [line for line in lines if _NO_DATA.search(line)]
    if without_data:
        return BinaryWithoutDataError(f"the patch carries no data for a binary file: {without_data[0]}")
    said = lines[0].replace(' (allow with "--allow-empty")', "")  # an option of git's, not of ours
    return PatchError(f"the patch doesn't apply: {said}")


class TreeWorkbench:
    """Scratch room for trees of one repository; a context manager, and worthless outside it."""

    def __init__(self, repository: Repository, scratch: Path | None = None) -> None:
        self._repository = repository
        self._parent = scratch
        self._folder: Path | None = None

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="swequarry-trees-", dir=self._parent))
        make_store(self._folder / "git", self._repository.objects)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    @property
    def place(self) -> Place:
        """Where its git commands run.

        Raises:
            GitError: the workbench is closed.
        """
        if self._folder is None:
            raise GitError("a tree workbench is used outside its `with` block")
        return Place(git_dir=self._folder / "git", index=self._folder / "index")

    def _git(self, arguments: Sequence[Argument], stdin: bytes = b"") -> bytes:
        return run_git(arguments, self.place, stdin=stdin)

    def _sha(self, arguments: Sequence[Argument]) -> TreeSha:
        return TreeSha(self._git(arguments).decode("ascii").strip())

    def _load(self, tree: TreeSha) -> None:
        with object_errors():
            self._git(["read-tree", tree])

    def apply(self, tree: TreeSha, patch: bytes) -> TreeSha:
        """Return the tree that a patch makes of a tree: whole or not at all, every context byte exact.

        Hunks may have moved (git's own rule), nothing else is forgiven: no fuzz, no white space. One
        final newline that is missing at the end of the patch text is added first: published datasets cut
        it. A binary change without data is taken only if the repository holds the blob that its full
        index line names. A mail series is applied mail by mail. An empty patch changes nothing.

        Raises:
            PatchError: it can't be parsed, doesn't apply or unpacks to a file larger than 256 MiB; the
                message has git's decisive line.
            BinaryWithoutDataError: a binary change comes without its data.
            ObjectMissingError: a file that it changes is missing from the store.
        """
        if not patch.strip():
            return tree
        if without := without_binary_data(patch):
            raise BinaryWithoutDataError(f"the patch carries no data for a binary file: {without[0]}")
        for part in series(patch):
            self._load(tree)
            try:
                bounded = replace(self.place, largest_bytes=_LARGEST_APPLIED)
                argv = ["apply", "--cached", "--whitespace=nowarn", "-p1", "-"]
                run_git(argv, bounded, stdin=end_last_line(part))
            except GitError as error:
                raise _apply_error(error) from error
            # A partial mirror may lack blobs that the patch doesn't touch.
            tree = self._sha(["write-tree", "--missing-ok"])
        return tree

    def diff(self, old: TreeSha, new: TreeSha, paths: Sequence[bytes] | None = None) -> bytes:
        """Return the patch from one tree to another, for all paths or exactly the given ones.

        With `--binary --full-index`, renames found within what is compared, stable for equal input.

        Raises:
            ObjectMissingError: a changed file's content isn't in the store.
            PatchError: as `compose`.
        """
        target = new if paths is None else self.compose(old, new, paths)
        with object_errors():
            return self._git(["diff-tree", "-r", *DIFF_OPTIONS, old, target])

    def changes(self, old: TreeSha, new: TreeSha, *, renames: bool = False) -> tuple[ChangedPath, ...]:
        """Return the paths that differ, in git's order; a rename is D + A unless `renames` asks for R.

        Raises:
            ObjectMissingError: a tree isn't in the store.
        """
        find = ("--find-renames=50%", "-l1000") if renames else ("--no-renames",)
        with object_errors():
            return _parse_raw(self._git(["diff-tree", "-r", "-z", "--raw", "--no-abbrev", *find, old, new]))

    def compose(self, base: TreeSha, source: TreeSha, paths: Iterable[bytes]) -> TreeSha:
        """Return `base` with exactly these paths as they are in `source` (absent there: removed).

        Raises:
            PatchError: a path can't be taken alone, because a file stands where its folder must be.
            ObjectMissingError: a tree isn't in the store.
        """
        wanted = frozenset(paths)
        taken = [change for change in self.changes(base, source) if wanted.intersection(change.paths)]
        self._load(base)
        removed = b"".join(b"0 %s\t%s\0" % (_NULL_SHA.encode(), c.old_path) for c in taken if c.old_path)
        added = index_lines([_new_entry(c) for c in taken if c.new_path])
        self._git(["update-index", "-z", "--index-info"], removed + added)
        result = self._sha(["write-tree", "--missing-ok"])
        if spilled := {path for c in self.changes(base, result) for path in c.paths} - wanted:
            raise PatchError(f"the change can't be split: it also takes {path_text(min(spilled))}")
        return result

    def delta(self, old: TreeSha, new: TreeSha) -> TreeDelta:
        """Return what turns the files of one tree into those of another, as a checkout would write them.

        Submodules have no files here: a new one adds nothing.

        Raises:
            ObjectMissingError: a file's content isn't in the store.
        """
        changes = self.changes(old, new)
        entries = [_new_entry(c) for c in changes if c.new_path and c.new_mode != GITLINK_MODE]
        removed = {c.old_path for c in changes if c.old_path and (c.new_path is None or _swaps_submodule(c))}
        for path in [*removed]:  # a folder that becomes a file goes first, with whatever else lies in it
            removed.update(e.path for e in entries if path.startswith(e.path + b"/"))
        with tempfile.TemporaryDirectory(prefix="swequarry-delta-", dir=self._parent) as folder:
            write_files(self._open_folder(), entries, Path(folder), new)
            files = {e.path: _read_back(Path(folder), e) for e in entries}
        return TreeDelta(files=files, removed=tuple(sorted(removed)))

    def materialise(
        self, tree: TreeSha, destination: Path, *, partial: bool = False
    ) -> tuple[TreeEntry, ...]:
        """Write every file of a tree below a folder, which is made if need be.

        With `partial`, files whose content the mirror lacks are left out; they are returned.

        Raises:
            ObjectMissingError: a file's content isn't in the store, and `partial` is off.
            GitError: a file can't be written.
        """
        destination.mkdir(parents=True, exist_ok=True)
        entries = list_files(self.place, tree)
        shas = sorted({entry.sha for entry in entries if entry.mode != GITLINK_MODE})
        absent = missing_objects(self.place, shas) if partial else frozenset()
        present = [entry for entry in entries if entry.sha not in absent]
        write_files(self._open_folder(), present, destination, tree)
        return tuple(entry for entry in entries if entry.sha in absent)

    def _open_folder(self) -> Path:
        folder = self.place.git_dir
        if folder is None:
            raise GitError("a tree workbench is used outside its `with` block")
        return folder


def _new_entry(change: ChangedPath) -> TreeEntry:
    return TreeEntry(path=change.new_path or b"", mode=change.new_mode, kind="blob", sha=change.new_sha)


def _swaps_submodule(change: ChangedPath) -> bool:
    return change.old_mode != change.new_mode and GITLINK_MODE in {change.old_mode, change.new_mode}


def _read_back(root: Path, entry: TreeEntry) -> FileContent:
    path = on_disk(root, entry.path)
    data = os.fsencode(path.readlink()) if stat.S_ISLNK(entry.mode) else path.read_bytes()
    return FileContent(data=data, mode=entry.mode)
