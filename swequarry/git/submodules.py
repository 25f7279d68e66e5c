"""Submodules of a snapshot: plain files of the pinned commit, without a repository, history or way forward.

What a `.gitmodules` file says is only ever a hint where the pinned commit may be found: its URL gives an
`owner/name`, which is looked up among the repositories at hand, and nothing is fetched. The commit is named
by its hash, so that a wrong or hostile hint finds nothing. URLs of local files, helpers and options mean
nothing here, names and paths of that file are never used as paths, and git itself is never asked to act on
a submodule.
"""

import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from swequarry.errors import GitError, ObjectMissingError
from swequarry.git.checkout import write_files
from swequarry.git.paths import entries_below, on_disk, path_bytes, path_text
from swequarry.git.repository import Repository
from swequarry.git.run import Place, run_git
from swequarry.git.store import GITLINK_MODE, TreeEntry, blob_id, list_files, make_store, missing_objects
from swequarry.records import CommitSha, ContentHash, RepoRef, SubmoduleFiles, sha256_hex

Locate = Callable[[RepoRef], Repository | None]
"""Gives a repository that is at hand, else None."""

_MAX_DEPTH = 4
_MAX_SUBMODULES = 100
_MAX_GITMODULES_BYTES = 1_000_000
_REMOTE = re.compile(
    r"(?:(?:https?|git|ssh)://(?:[^/@\s]+@)?[A-Za-z0-9][A-Za-z0-9.-]*(?::\d+)?/|git@[A-Za-z0-9][A-Za-z0-9.-]*:)"
    r"(?P<path>[^\s:?#]+)"
)
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_AS_STORED = b"* -text -ident -filter -eol -working-tree-encoding\n"
"""Attributes by which git writes every file as it is stored, so that a file proves itself by its hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """One repository whose tree may pin submodules, and where its files lie in the snapshot."""

    repository: Repository
    repo: RepoRef
    entries: Sequence[TreeEntry]
    prefix: bytes = b""
    depth: int = 1


@dataclass(slots=True)
class Submodules:
    """The paths of all submodules from the snapshot's root, nested ones too, and those that have files."""

    paths: list[bytes] = field(default_factory=list)
    files: list[SubmoduleFiles] = field(default_factory=list)


def fill_submodules(
    made: Path, repository: Repository, repo: RepoRef, entries: Sequence[TreeEntry], locate: Locate
) -> Submodules:
    """Write the files of the submodules that a tree pins, where their commits are at hand.

    `entries` are the files of the tree; `made` holds them, with an empty folder for each submodule. A
    submodule whose commit or trees aren't at hand stays an empty folder.

    Raises:
        GitError: a file can't be written.
    """
    found = Submodules()
    waiting = [_Level(repository=repository, repo=repo, entries=entries)]
    for level in waiting:  # grows while it is read
        links = [entry for entry in level.entries if entry.mode == GITLINK_MODE]
        urls = _urls(level.repository, level.entries) if links else {}
        for link in links:
            found.paths.append(level.prefix + link.path)
            name = named_by(urls.get(link.path, ""), level.repo)
            if level.depth <= _MAX_DEPTH and len(found.files) < _MAX_SUBMODULES:
                waiting += _fill(made, level, link, name, found, locate)
    return found


def _fill(
    made: Path, level: _Level, link: TreeEntry, name: RepoRef | None, found: Submodules, locate: Locate
) -> list[_Level]:
    """Write one submodule; return its own level, none where it isn't at hand."""
    path = level.prefix + link.path
    source = _holder(level.repository, name, link.sha, locate)
    if source is None or not _is_empty_folder(made, path):
        return []
    written = _write(source, CommitSha(link.sha), on_disk(made, path), path)
    if written is None:
        return []
    record, entries = written
    found.files.append(record)
    return [
        _Level(
            repository=source,
            repo=name or level.repo,
            entries=entries,
            prefix=path + b"/",
            depth=level.depth + 1,
        )
    ]


def named_by(url: str, repo: RepoRef) -> RepoRef | None:
    """Return the repository that a submodule's URL names, relative ones from `repo`; None where it's none.

    Only `owner/name` on a server counts, over https, ssh or git, and `../` paths.
    """
    if url.startswith(("./", "../")):
        parts = [repo.owner, repo.name]
        for part in url.rstrip("/").split("/"):
            if part == ".." and parts:
                parts.pop()
            elif part != ".":
                parts.append(part)
    else:
        match = _REMOTE.fullmatch(url)
        parts = match["path"].rstrip("/").split("/") if match else []
    names = [part.removesuffix(".git") for part in parts]
    if len(names) != 2 or not all(_PART.fullmatch(name) for name in names):  # noqa: PLR2004 - owner and name
        return None
    return RepoRef(owner=names[0], name=names[1])


def _urls(repository: Repository, entries: Sequence[TreeEntry]) -> dict[bytes, str]:
    """Return the URLs of a tree's `.gitmodules` file by path; empty where it is none or broken."""
    named = [e for e in entries if e.path == b".gitmodules" and stat.S_ISREG(e.mode)]
    try:
        text = repository.read_blob(named[0].sha) if named else b""
    except ObjectMissingError:
        return {}
    if not text or len(text) > _MAX_GITMODULES_BYTES:
        return {}
    with tempfile.NamedTemporaryFile(prefix="swequarry-gitmodules-") as file:
        file.write(text)
        file.flush()
        try:
            listing = run_git(["config", "--file", file.name, "--no-includes", "--list", "-z"], Place())
        except GitError as error:
            if error.status > 0:
                return {}
            raise
    values: dict[bytes, dict[bytes, bytes]] = {}
    for line in listing.split(b"\0"):
        key, _, value = line.partition(b"\n")
        section, _, variable = key.rpartition(b".")
        if section.startswith(b"submodule."):
            values.setdefault(section, {})[variable] = value
    whole = [said for said in values.values() if {b"path", b"url"} <= said.keys()]
    return {said[b"path"]: said[b"url"].decode("utf-8", "replace") for said in whole}


def _holder(repository: Repository, name: RepoRef | None, commit: str, locate: Locate) -> Repository | None:
    if _has_commit(repository, commit):
        return repository
    other = locate(name) if name is not None else None
    return other if other is not None and _has_commit(other, commit) else None


def _has_commit(repository: Repository, sha: str) -> bool:
    try:
        repository.commit_object(sha)
    except ObjectMissingError:
        return False
    return True


def _is_empty_folder(made: Path, path: bytes) -> bool:
    """Whether an empty folder is there, and no link on the way to it."""
    folder = made
    if _is_hostile(path):
        return False
    for part in path.split(b"/"):
        folder = on_disk(folder, part)
        if not stat.S_ISDIR(folder.lstat().st_mode):
            return False
    return not any(folder.iterdir())


def _write(
    source: Repository, commit: CommitSha, folder: Path, path: bytes
) -> tuple[SubmoduleFiles, tuple[TreeEntry, ...]] | None:
    """Write a commit's files into a folder; None where its trees aren't all there or name no good paths."""
    with tempfile.TemporaryDirectory(prefix="swequarry-submodule-") as scratch:
        store = Path(scratch) / "git"
        make_store(store, source.objects)
        (store / "info").mkdir()
        (store / "info" / "attributes").write_bytes(_AS_STORED)
        place = Place(git_dir=store)
        try:
            entries = list_files(place, commit)
        except ObjectMissingError:
            return None
        if any(_is_hostile(entry.path) for entry in entries):
            return None
        absent = missing_objects(place, sorted({e.sha for e in entries if e.mode != GITLINK_MODE}))
        present = [entry for entry in entries if entry.sha not in absent]
        write_files(store, present, folder, commit)
    files = [(e.path, e.mode, e.sha) for e in present if e.mode != GITLINK_MODE]
    record = SubmoduleFiles(
        path=path_text(path),
        commit=commit,
        files=_files_hash(files),
        absent=tuple(path_text(e.path) for e in entries if e.sha in absent),
    )
    return record, entries


def _is_hostile(path: bytes) -> bool:
    return any(part in {b"", b".", b".."} or part.lower() == b".git" for part in path.split(b"/"))


def _files_hash(files: Iterable[tuple[bytes, int, str]]) -> ContentHash:
    """Return one hash of files by path, mode and git's id; modes as git has them today."""
    lines = []
    for path, mode, sha in sorted(files):
        kind = 0o120000 if stat.S_ISLNK(mode) else 0o100755 if mode & 0o100 else 0o100644
        lines.append(b"%o %s\t%s\0" % (kind, sha.encode("ascii"), path))
    return ContentHash(sha256_hex(b"".join(lines)))


# --- the audit -----------------------------------------------------------------------------------------


def audit_submodules(made: Path, links: Iterable[bytes], known: Sequence[SubmoduleFiles]) -> Iterator[str]:
    """Say which folders of submodules hold anything but the files that were recorded.

    `links` are the paths of the submodules that the base commit pins.
    """
    records = {path_bytes(record.path): record for record in known}
    files: dict[bytes, list[tuple[bytes, int, str]]] = {path: [] for path in records}
    for link in links:
        root = on_disk(made, link)
        if root.is_symlink() or not root.is_dir():
            yield f"{path_text(link)} is the place of a submodule, but no folder"
            continue
        for name, path in entries_below(root):
            if stat.S_ISDIR(path.lstat().st_mode):
                continue
            whole = link + b"/" + name
            owner = max((p for p in records if whole.startswith(p + b"/")), key=len, default=None)
            read = _read(path)
            if owner is None or read is None:
                yield f"{path_text(whole)} has no place in the folder of a submodule"
            else:
                files[owner].append((whole[len(owner) + 1 :], *read))
    for folder, record in records.items():
        if _files_hash(files[folder]) != record.files:
            yield f"{record.path} isn't as in the submodule's commit {record.commit}"


def _read(path: Path) -> tuple[int, str] | None:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return mode, blob_id(os.fsencode(path.readlink()))
    return (mode, blob_id(path.read_bytes())) if stat.S_ISREG(mode) else None
