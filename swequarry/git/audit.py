"""The closure audit: proof that a snapshot has no way forward.

Nothing is looked for by the name of a known leak. The object store must hold exactly the closure of the
base commit (cut by ancestry, never by date), and everything else in the git folder must be on a short
list of what a snapshot needs; whatever isn't, is a finding. So a channel that nobody has thought of is
one too.
"""

import os
import re
import stat
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from swequarry.errors import InputError
from swequarry.git.checkout import check_out
from swequarry.git.closure import Closure, list_closure, stored_objects
from swequarry.git.paths import entries_below, on_disk, path_text
from swequarry.git.run import Place, run_git
from swequarry.git.store import GITLINK_MODE, list_files, object_reader
from swequarry.git.submodules import audit_submodules
from swequarry.git.tags import peel
from swequarry.records import ClosureAudit, CommitSha, SubmoduleFiles

_SHOWN = 5
_ID = re.compile(rb"\b[0-9a-f]{40}\b")
_ALLOWED_SETTINGS = frozenset(
    {
        "core.repositoryformatversion",
        "core.filemode",
        "core.bare",
        "core.logallrefupdates",
        "core.symlinks",
        "core.ignorecase",
        "core.trustctime",
        "core.checkstat",
    }
)
_ALLOWED_FILES = re.compile(
    rb"HEAD|config|description|index|packed-refs|shallow|info/exclude|hooks/[^/]+\.sample"
    rb"|objects/[0-9a-f]{2}/[0-9a-f]{38}|objects/pack/pack-[0-9a-f]{40}\.(pack|idx|rev)"
    rb"|refs/(heads|tags)/.+",
    re.DOTALL,
)
_BINARY_FILES = re.compile(rb"index|objects/.*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reference:
    """A ref, the tag objects on its way, and the commit it ends at (empty where it ends elsewhere)."""

    name: bytes
    sha: bytes
    tags: tuple[bytes, ...]
    commit: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """A snapshot under audit; `texts` are the small files of its git folder, `files` all with modes."""

    work_tree: Path
    place: Place
    base: CommitSha
    closure: Closure
    stored: frozenset[bytes]
    files: tuple[tuple[bytes, int], ...]
    texts: dict[bytes, bytes]
    references: tuple[_Reference, ...]
    submodules: tuple[SubmoduleFiles, ...]


def audit_closure(
    path: Path, base_commit: CommitSha, submodules: Sequence[SubmoduleFiles] = ()
) -> ClosureAudit:
    """Check a snapshot folder (working tree with `.git`) against the closure of its base commit.

    `submodules` say what the folders of submodules may hold; others must be empty.

    `findings` are sorted and begin with the name of their check. `missing_blobs` are ids of the closure
    that the store lacks, as in the snapshot of a partial mirror: no leak.

    Raises:
        InputError: the folder has no `.git` folder of its own.
        GitError: the base commit isn't in the snapshot, or git can't read it (broken settings).
    """
    return audit_against(path, base_commit, list_closure(_place(path), base_commit), submodules)


def audit_against(
    path: Path, base_commit: CommitSha, closure: Closure, submodules: Sequence[SubmoduleFiles] = ()
) -> ClosureAudit:
    """Audit with a closure that was listed already, from whatever store (see `closure`).

    Raises:
        InputError, GitError: as `audit_closure`.
    """
    subject = _inspect(path, base_commit, closure, submodules)
    findings = {f"{name}: {said}" for name, check in _CHECKS.items() for said in check(subject)}
    wanted = closure.nodes.keys() | closure.blobs.keys() | closure.missing
    return ClosureAudit(
        objects=len(subject.stored),
        checks=tuple(_CHECKS),
        findings=tuple(sorted(findings)),
        missing_blobs=tuple(sorted(sha.decode("ascii") for sha in wanted - subject.stored)),
    )


def _place(path: Path) -> Place:
    git_dir = path.absolute() / ".git"
    if git_dir.is_symlink() or not git_dir.is_dir():
        raise InputError(f"{path} is no snapshot: {git_dir} isn't a folder; name a snapshot's folder")
    return Place(git_dir=git_dir, work_tree=path.absolute())


def _inspect(path: Path, base: CommitSha, closure: Closure, submodules: Sequence[SubmoduleFiles]) -> _Subject:
    place = _place(path)
    git_dir = path.absolute() / ".git"
    modes = {name: found.lstat().st_mode for name, found in entries_below(git_dir)}
    files = tuple(sorted((name, mode) for name, mode in modes.items() if not stat.S_ISDIR(mode)))
    texts = {
        name: on_disk(git_dir, name).read_bytes()
        for name, mode in files
        if stat.S_ISREG(mode) and not _BINARY_FILES.fullmatch(name)
    }
    return _Subject(
        work_tree=path.absolute(),
        place=place,
        base=base,
        closure=closure,
        stored=stored_objects(place),
        files=files,
        texts=texts,
        references=_references(place, texts),
        submodules=tuple(submodules),
    )


def _references(place: Place, texts: dict[bytes, bytes]) -> tuple[_Reference, ...]:
    """Return every ref, as the files have it: git itself hides refs that are broken."""
    named = {name: data.strip() for name, data in texts.items() if name.startswith(b"refs/")}
    for line in texts.get(b"packed-refs", b"").splitlines():
        sha, _, name = line.partition(b" ")
        if _ID.fullmatch(sha):
            named.setdefault(name, sha)
    found = []
    with object_reader(place) as reader:
        for name, sha in sorted(named.items()):
            tags, commit, _ = peel(reader, sha) if _ID.fullmatch(sha) else ((), b"", 0)
            found.append(_Reference(name=name, sha=sha, tags=tags, commit=commit))
    return tuple(found)


# --- the checks: each yields what it found -----------------------------------------------------------


def _objects(subject: _Subject) -> Iterator[str]:
    extra = subject.stored - subject.closure.nodes.keys() - subject.closure.blobs.keys()
    for reference in subject.references:
        if reference.name.startswith(b"refs/tags/") and reference.commit in subject.closure.nodes:
            extra = extra.difference(reference.tags)
    if extra:
        shown = ", ".join(sha.decode("ascii") for sha in sorted(extra)[:_SHOWN])
        yield f"{len(extra)} objects that the base commit doesn't reach: {shown}"


def _refs(subject: _Subject) -> Iterator[str]:
    for reference in subject.references:
        if reference.commit not in subject.closure.nodes:
            yield f"{path_text(reference.name)} doesn't name an ancestor of the base commit"
        elif not reference.name.startswith((b"refs/heads/", b"refs/tags/")):
            yield f"{path_text(reference.name)} is neither a branch nor a tag"
    branches = [(r.name, r.sha) for r in subject.references if r.name.startswith(b"refs/heads/")]
    head = subject.texts.get(b"HEAD", b"").strip().removeprefix(b"ref: ")
    if branches != [(head, subject.base.encode("ascii"))]:
        yield "HEAD isn't the one branch, at the base commit"


def _settings(subject: _Subject) -> Iterator[str]:
    config = os.fspath(subject.work_tree / ".git" / "config")
    listing = ["config", "--file", config, "--no-includes", "--list", "--name-only", "-z"]
    for key in run_git(listing, Place()).split(b"\0")[:-1]:
        name = key.decode("utf-8", "backslashreplace")
        if name.lower() not in _ALLOWED_SETTINGS:
            yield f"{name} is set"


def _files(subject: _Subject) -> Iterator[str]:
    for name, mode in subject.files:
        if not _ALLOWED_FILES.fullmatch(name) or not stat.S_ISREG(mode):
            yield f"{path_text(name)} has no place in a snapshot"
    for line in subject.texts.get(b"info/exclude", b"").splitlines():
        if line and not line.startswith(b"#"):
            yield f"info/exclude hides {path_text(line)}"


def _index(subject: _Subject) -> Iterator[str]:
    wanted = {(e.path, e.mode, e.sha, "0") for e in list_files(subject.place, subject.base)}
    found = set()
    for line in run_git(["ls-files", "--stage", "-z"], subject.place).split(b"\0")[:-1]:
        meta, _, path = line.partition(b"\t")
        mode, sha, stage = meta.decode("ascii").split(" ")
        found.add((path, int(mode, 8), sha, stage))
    for path in sorted({entry[0] for entry in found ^ wanted})[:_SHOWN]:
        yield f"{path_text(path)} isn't as in the base commit"
    for line in run_git(["ls-files", "-v", "-z"], subject.place).split(b"\0")[:-1]:
        if line[:1] != b"H":
            yield f"{path_text(line[2:])} is marked {line[:1].decode('ascii')}, so changes to it are hidden"
    if run_git(["ls-files", "--resolve-undo", "-z"], subject.place):
        yield "it remembers resolved conflicts"


def _ids(subject: _Subject) -> Iterator[str]:
    for name, data in subject.texts.items():
        for sha in sorted(set(_ID.findall(data)) - subject.stored)[:_SHOWN]:
            yield f"{path_text(name)} names {sha.decode('ascii')}, which isn't here: a hint for a search"


def _work_tree(subject: _Subject) -> Iterator[str]:
    files = list_files(subject.place, subject.base)
    absent = {e.path for e in files if e.sha.encode("ascii") not in subject.stored}
    with tempfile.TemporaryDirectory(prefix="swequarry-audit-") as folder:
        index = Path(folder) / "index"
        for line in _status(subject, index):
            status, path = line[:2].decode("ascii").strip(), line[3:]
            if path not in absent and (status != "M" or _differs(subject, index, path)):
                yield f"{path_text(path)} differs from the base commit ({status})"
    links = [entry.path for entry in files if entry.mode == GITLINK_MODE]
    yield from audit_submodules(subject.work_tree, links, subject.submodules)
    for name, _ in entries_below(subject.work_tree):
        if name.endswith(b"/.git") and not name.startswith(b".git/"):
            yield f"{path_text(name)} is a repository inside the snapshot"


def _status(subject: _Subject, index: Path) -> list[bytes]:
    # A fresh index knows no file times, so every file is read and compared by content.
    place = Place(git_dir=subject.place.git_dir, work_tree=subject.work_tree, index=index)
    run_git(["read-tree", subject.base], place)
    command = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"]
    return run_git([*command, "--ignored=matching", "--ignore-submodules=all"], place).split(b"\0")[:-1]


def _differs(subject: _Subject, index: Path, path: bytes) -> bool:
    # `text` files that were committed with CRLF always look changed to git: only a new checkout can tell.
    with tempfile.TemporaryDirectory(prefix="swequarry-audit-") as folder:
        fresh = Place(git_dir=subject.place.git_dir, work_tree=Path(folder), index=index)
        check_out(fresh, [path])
        found, wanted = on_disk(subject.work_tree, path), on_disk(Path(folder), path)
        if found.is_symlink() or wanted.is_symlink() or found.stat().st_mode != wanted.stat().st_mode:
            return True
        return found.read_bytes() != wanted.read_bytes()


_CHECKS = {
    "objects": _objects,
    "refs": _refs,
    "settings": _settings,
    "files": _files,
    "index": _index,
    "ids": _ids,
    "work-tree": _work_tree,
}
