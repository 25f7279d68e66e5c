"""Snapshots: the repository at a base commit, built up from the base's closure alone.

A copy that is cleaned always forgets a channel (tags by date, notes, pull refs, alternates, kept packs,
reflogs), so nothing is cleaned here: an empty git folder receives the objects that the base commit
reaches, one branch, and the tags of its ancestors. `git fetch` of one commit would do as much, at thrice
the time: the receiver resolves every delta again to index the pack. `pack-objects` writes pack and index
together, reuses the deltas as they are, and runs twice at once: commits and trees, and blobs, since no
delta crosses kinds.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from swequarry.errors import InputError
from swequarry.git.ancestors import AncestorSearch, find_fix
from swequarry.git.audit import audit_against
from swequarry.git.checkout import check_out
from swequarry.git.closure import Closure, depth_boundary, list_closure, write_shallow_file
from swequarry.git.lfs import POINTER_MAX_BYTES, is_lfs_pointer
from swequarry.git.paths import entries_below, on_disk, path_text
from swequarry.git.repository import Repository
from swequarry.git.run import Place, run_git, started_git
from swequarry.git.store import (
    GITLINK_MODE,
    TreeEntry,
    list_files,
    make_store,
    missing_objects,
    object_errors,
)
from swequarry.git.submodules import Locate, fill_submodules
from swequarry.git.tags import Tag, kept_tags, packed_refs, with_version_tag
from swequarry.records import CommitSha, RepoRef, Snapshot

History = Literal["full", "none"] | int

BRANCH = "main"
_CONFIG = b"""[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\ttrustctime = false
\tcheckStat = minimal
"""
# The last two keep the index valid in copies of the folder, whose inodes and change times differ.
_LATEST_TIME = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A scratch store that sees the repository's objects, but none of its refs and settings."""

    place: Place
    base: CommitSha
    history: History
    shallow: tuple[str, ...]


def make_snapshot(
    repository: Repository,
    base_commit: CommitSha,
    destination: Path,
    repo: RepoRef,
    history: History = "full",
    *,
    fix: bytes = b"",
    locate: Locate = lambda _: None,
) -> Snapshot:
    """Make a folder with working tree and a `.git` that holds the closure of the base commit.

    `history` bounds the ancestors: all, the nearest N generations, or `none` (the base alone). Where they
    hold `fix`, a patch, none of them is kept (see `ancestors` for the rule). The folder appears whole or not
    at all. Blobs that a partial mirror lacks are named in `audit.missing_blobs`, and their files are absent.
    Submodules become plain files where their commit is at hand, in the repository or in one that `locate`
    gives, else empty folders (see `submodules`). File times are the base commit's.

    Raises:
        InputError: the destination exists and isn't an empty folder.
        ObjectMissingError: the base commit, its tree or an ancestor isn't in the repository.
        PatchError: the fix is no patch.
        GitError: git failed, for instance for want of space.
    """
    if destination.exists() and (not destination.is_dir() or any(destination.iterdir())):
        raise InputError(f"{destination} exists; remove it or name a new folder for the snapshot")
    destination.parent.mkdir(parents=True, exist_ok=True)
    base = repository.resolve(base_commit)
    scratch = Path(tempfile.mkdtemp(prefix=f".{destination.name}.", dir=destination.parent))
    try:
        made = scratch / "snapshot"
        source, search = _choose_source(repository, base, scratch, history, fix)
        snapshot = _build(repository, source, made, scratch, repo=repo, locate=locate)
        made.replace(destination)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    unread = tuple(path_text(path) for path in search.unread)
    return replace(snapshot, fix_in_ancestors=search.found, unread=unread)


def _choose_source(
    repository: Repository, base: CommitSha, scratch: Path, history: History, fix: bytes
) -> tuple[_Source, AncestorSearch]:
    source = _open_source(repository, base, scratch / "asked", history)
    alone = history == "none" or not fix
    search = AncestorSearch() if alone else find_fix(source.place, base, fix)
    if search.found is not None:
        source = _open_source(repository, base, scratch / "alone", "none")
    return source, search


def _build(
    repository: Repository, source: _Source, made: Path, scratch: Path, *, repo: RepoRef, locate: Locate
) -> Snapshot:
    base = source.base
    closure = list_closure(source.place, base)
    tags = kept_tags(repository, closure, base)
    if source.history != "full":
        tags = with_version_tag(repository, base, tags)
    git_dir = made / ".git"
    _lay_out(git_dir, source, closure, tags)
    absent = _copy_objects(source, closure, tags, git_dir / "objects" / "pack", scratch)
    tree = repository.tree_of(base)
    entries = _fill_work_tree(made, base, absent)
    submodules = fill_submodules(made, repository, repo, entries, locate)
    _set_times(made, repository.commit_time(base).timestamp())
    run_git(["update-index", "-q", "--refresh"], Place(git_dir=git_dir, work_tree=made), allowed=(0, 1))
    return Snapshot(
        repo=repo,
        base_commit=base,
        base_tree=tree,
        history=str(source.history),
        tags=tuple(path_text(tag.name.removeprefix(b"refs/tags/")) for tag in tags),
        audit=audit_against(made, base, closure, submodules.files),
        lfs_pointers=tuple(path_text(e.path) for e in entries if _is_lfs_pointer(made, e)),
        submodules=tuple(path_text(path) for path in submodules.paths),
        submodule_files=tuple(submodules.files),
    )


def _open_source(repository: Repository, base: CommitSha, folder: Path, history: History) -> _Source:
    store = folder / "store"
    make_store(store, repository.objects)
    marks = repository.common / "shallow"
    shallow = tuple(sorted(marks.read_text("ascii").split())) if marks.exists() else ()
    if history != "full":
        known = Place(git_dir=store, shallow=write_shallow_file(folder, shallow))
        depth = 1 if history == "none" else history
        shallow = tuple(sorted({*shallow, *depth_boundary(known, base, depth)}))
    place = Place(git_dir=store, shallow=write_shallow_file(folder, shallow))
    return _Source(place=place, base=base, history=history, shallow=shallow)


def _lay_out(git_dir: Path, source: _Source, closure: Closure, tags: tuple[Tag, ...]) -> None:
    for folder in ("objects/pack", "objects/info", "refs/heads", "refs/tags"):
        (git_dir / folder).mkdir(parents=True)
    (git_dir / "HEAD").write_bytes(f"ref: refs/heads/{BRANCH}\n".encode())
    (git_dir / "refs" / "heads" / BRANCH).write_bytes(f"{source.base}\n".encode())
    (git_dir / "config").write_bytes(_CONFIG)
    write_shallow_file(git_dir, tuple(sha for sha in source.shallow if sha.encode("ascii") in closure.nodes))
    if tags:
        (git_dir / "packed-refs").write_bytes(packed_refs(tags))


def _copy_objects(
    source: _Source, closure: Closure, tags: tuple[Tag, ...], packs: Path, scratch: Path
) -> frozenset[str]:
    """Write the two packs; return the blobs that the source lacks."""
    nodes = [*closure.nodes, *(sha for tag in tags for sha in tag.objects)]
    with _packing(source, nodes, packs, scratch / "nodes"):
        absent = missing_objects(source.place, [sha.decode("ascii") for sha in closure.blobs])
        lacking = {sha.encode("ascii") for sha in absent}
        present = [sha for sha in closure.blobs if sha not in lacking]
        with _packing(source, present, packs, scratch / "blobs"):
            pass
    return absent


@contextmanager
def _packing(source: _Source, ids: Iterable[bytes], packs: Path, listed: Path) -> Iterator[None]:
    """Write one pack beside the body."""
    listed.write_bytes(b"".join(sha + b"\n" for sha in ids))
    if not listed.stat().st_size:
        yield
        return
    command = [
        "pack-objects",
        "-q",
        "--delta-base-offset",
        "--threads=1",
        os.fspath(packs.absolute() / "pack"),
    ]
    with (
        listed.open("rb") as stdin,
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
        object_errors(),
        started_git(command, source.place, stdin=stdin, stdout=stdout, stderr=stderr),
    ):
        yield


def _fill_work_tree(made: Path, base: CommitSha, absent: frozenset[str]) -> tuple[TreeEntry, ...]:
    place = Place(git_dir=made / ".git", work_tree=made)
    with object_errors():
        run_git(["read-tree", base], place)
    entries = list_files(place, base)
    lacking = any(e.sha in absent for e in entries)
    check_out(place, [e.path for e in entries if e.sha not in absent] if lacking else None)
    for entry in entries:
        if entry.mode == GITLINK_MODE:
            on_disk(made, entry.path).mkdir(parents=True, exist_ok=True)
    return entries


def _set_times(made: Path, seconds: float) -> None:
    """Give every file and folder the base commit's time: equal snapshots, and no hint in file times."""
    at = min(max(int(seconds), 0), _LATEST_TIME)
    for name, path in entries_below(made):
        if name.partition(b"/")[0] != b".git":
            os.utime(path, (at, at), follow_symlinks=False)
    os.utime(made, (at, at))


def _is_lfs_pointer(made: Path, entry: TreeEntry) -> bool:
    path = on_disk(made, entry.path)
    if not stat.S_ISREG(entry.mode) or not path.is_file() or path.stat().st_size >= POINTER_MAX_BYTES:
        return False
    return is_lfs_pointer(path.read_bytes())
