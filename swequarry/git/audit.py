"""The closure audit: proof that a snapshot has no way forward.

Nothing is looked for by name of a known leak. The object store must hold exactly the closure of the base
commit (cut by ancestry, never by date), and everything else in the git folder must be on a short list of
what a snapshot needs; whatever isn't, is a finding. So a channel that nobody has thought of is one too.
"""

import os
import re
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from swequarry.errors import GitError
from swequarry.git.closure import Closure, list_closure, stored_objects
from swequarry.git.paths import path_text
from swequarry.git.repository import GITLINK_MODE, parse_tree_entries
from swequarry.git.run import Place, run_git
from swequarry.records import ClosureAudit, CommitSha

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
_ALLOWED_FILES = (
    re.compile(rb"HEAD|config|description|index|packed-refs|shallow|info/exclude|hooks/[^/]+\.sample"),
    re.compile(rb"objects/[0-9a-f]{2}/[0-9a-f]{38}|objects/pack/pack-[0-9a-f]{40}\.(pack|idx|rev)"),
    re.compile(rb"refs/(heads|tags)/.+", re.DOTALL),
)
_BINARY_FILES = re.compile(rb"index|objects/.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    work_tree: bytes
    base: CommitSha
    place: Place
    closure: Closure
    stored: frozenset[bytes]


def audit_closure(path: Path, base_commit: CommitSha) -> ClosureAudit:
    """Check a snapshot folder (working tree with `.git`) against the closure of its base commit.

    `findings` are sorted and begin with the name of their check. `missing_blobs` are ids of the closure
    that the store lacks, as in the snapshot of a partial mirror: no leak.

    Raises:
        GitError: the base commit isn't in the snapshot, or git can't read it.
    """
    place = _place(path)
    return audit_against(path, base_commit, list_closure(place, base_commit))


def _place(path: Path) -> Place:
    return Place(git_dir=path.absolute() / ".git", work_tree=path.absolute())


def audit_against(path: Path, base_commit: CommitSha, closure: Closure) -> ClosureAudit:
    """Audit with a closure that was listed already, from whatever store (see `closure`).

    Raises:
        GitError: as `audit_closure`.
    """
    place = _place(path)
    subject = _Subject(
        work_tree=os.fsencode(path.absolute()),
        base=base_commit,
        place=place,
        closure=closure,
        stored=stored_objects(place),
    )
    findings = {f"{name}: {said}" for name, check in _CHECKS.items() for said in check(subject)}
    wanted = closure.nodes.keys() | closure.blobs.keys() | closure.missing
    return ClosureAudit(
        objects=len(subject.stored),
        checks=tuple(_CHECKS),
        findings=tuple(sorted(findings)),
        missing_blobs=tuple(sorted(sha.decode("ascii") for sha in wanted - subject.stored)),
    )


# --- the checks: each yields what it found -----------------------------------------------------------


def _objects(subject: _Subject) -> Iterator[str]:
    extra = subject.stored - subject.closure.nodes.keys() - subject.closure.blobs.keys()
    extra -= _tag_objects(subject)
    if extra:
        shown = ", ".join(sha.decode("ascii") for sha in sorted(extra)[:_SHOWN])
        yield f"{len(extra)} objects that the base commit doesn't reach: {shown}"


def _tag_objects(subject: _Subject) -> set[bytes]:
    """Return the annotated tags that a tag ref names and whose commit the base reaches."""
    kept: set[bytes] = set()
    for name, sha in _refs(subject):
        chain = []
        target, kind = sha, _kind(subject, sha)
        while kind == "tag":
            chain.append(target)
            fields = run_git(["cat-file", "tag", target.decode("ascii")], subject.place).split(b"\n", 2)
            target, kind = fields[0].split(b" ")[1], fields[1].split(b" ")[1].decode("ascii")
        if name.startswith(b"refs/tags/") and kind == "commit" and target in subject.closure.nodes:
            kept.update(chain)
    return kept


def _kind(subject: _Subject, sha: bytes) -> str:
    if sha in subject.closure.nodes or sha not in subject.stored:
        return "commit"
    return run_git(["cat-file", "-t", sha.decode("ascii")], subject.place).decode("ascii").strip()


def _refs(subject: _Subject) -> Iterator[tuple[bytes, bytes]]:
    """Yield name and id of every ref, read from the files: git itself hides refs that are broken."""
    for name, data in _text_files(subject):
        if name.startswith(b"refs/") and _ID.fullmatch(data.strip()):
            yield name, data.strip()
        if name == b"packed-refs":
            for line in data.splitlines():
                sha, _, ref = line.partition(b" ")
                if _ID.fullmatch(sha):
                    yield ref, sha


def _refs_below_base(subject: _Subject) -> Iterator[str]:
    commits = _commits(subject)
    allowed = commits | _tag_objects(subject)
    heads = []
    for name, sha in _refs(subject):
        if sha not in allowed:
            yield f"{path_text(name)} names {sha.decode('ascii')}, which is no ancestor of the base commit"
        elif name.startswith(b"refs/heads/"):
            heads.append(name)
        elif not name.startswith(b"refs/tags/"):
            yield f"{path_text(name)} is neither a branch nor a tag"
    head = _read(subject, b"HEAD").strip().removeprefix(b"ref: ")
    if heads != [head] or dict(_refs(subject))[head] != subject.base.encode("ascii"):
        yield "HEAD isn't the one branch, at the base commit"


def _commits(subject: _Subject) -> set[bytes]:
    return set(run_git(["rev-list", subject.base, "--"], subject.place).split())


def _settings(subject: _Subject) -> Iterator[str]:
    config = os.path.join(subject.work_tree, b".git", b"config")
    try:
        listing = run_git(
            ["config", "--file", config, "--no-includes", "--list", "--name-only", "-z"], Place()
        )
    except GitError as error:
        yield f"the config file can't be read: {error.stderr}"
        return
    for key in listing.split(b"\0")[:-1]:
        name = key.decode("utf-8", "backslashreplace")
        if name.lower() not in _ALLOWED_SETTINGS:
            yield f"setting {name}"


def _files(subject: _Subject) -> Iterator[str]:
    root = os.path.join(subject.work_tree, b".git")
    if stat.S_ISLNK(os.lstat(root).st_mode) or not os.path.isdir(root):
        yield ".git isn't a folder of its own"
        return
    for name, mode in _walk(root):
        known = any(pattern.fullmatch(name) for pattern in _ALLOWED_FILES)
        if not known or not stat.S_ISREG(mode):
            yield f"{path_text(name)} has no place in a snapshot"
    if b"".join(line for line in _read(subject, b"info/exclude").splitlines() if not line.startswith(b"#")):
        yield "info/exclude hides files"


def _walk(root: bytes) -> Iterator[tuple[bytes, int]]:
    for folder, names, files in os.walk(root):
        links = [name for name in names if os.path.islink(os.path.join(folder, name))]
        for name in [*files, *links]:
            path = os.path.join(folder, name)
            yield os.path.relpath(path, root), os.lstat(path).st_mode


def _read(subject: _Subject, name: bytes) -> bytes:
    path = os.path.join(subject.work_tree, b".git", name)
    if os.path.islink(path) or not os.path.isfile(path):
        return b""
    with open(path, "rb") as file:
        return file.read()


def _text_files(subject: _Subject) -> Iterator[tuple[bytes, bytes]]:
    for name, mode in _walk(os.path.join(subject.work_tree, b".git")):
        if stat.S_ISREG(mode) and not _BINARY_FILES.fullmatch(name):
            yield name, _read(subject, name)


def _index(subject: _Subject) -> Iterator[str]:
    tree = run_git(["ls-tree", "-r", "-z", "--full-tree", subject.base], subject.place)
    wanted = {(e.path, e.mode, e.sha, "0") for e in parse_tree_entries(tree)}
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


def _dangling_ids(subject: _Subject) -> Iterator[str]:
    for name, data in _text_files(subject):
        for sha in sorted(set(_ID.findall(data)) - subject.stored)[:_SHOWN]:
            yield f"{path_text(name)} names {sha.decode('ascii')}, which isn't here: a hint for a search elsewhere"


def _work_tree(subject: _Subject) -> Iterator[str]:
    tree = parse_tree_entries(run_git(["ls-tree", "-r", "-z", "--full-tree", subject.base], subject.place))
    absent = {e.path for e in tree if e.sha.encode("ascii") not in subject.stored}
    for line in _status(subject):
        status, path = line[:2], line[3:]
        if path not in absent:
            yield f"{path_text(path)} differs from the base commit ({status.decode('ascii').strip()})"
    inner = (name for name, _ in _walk_folders(subject.work_tree) if name.rpartition(b"/")[2] == b".git")
    for name in sorted(inner):
        if name != b".git":
            yield f"{path_text(name)} is a repository inside the snapshot"


def _status(subject: _Subject) -> list[bytes]:
    # A fresh index knows no file times, so every file is read and compared by content.
    with tempfile.TemporaryDirectory(prefix="swequarry-audit-") as folder:
        place = Place(
            git_dir=subject.place.git_dir, work_tree=subject.place.work_tree, index=Path(folder) / "index"
        )
        run_git(["read-tree", subject.base], place)
        command = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"]
        return run_git([*command, "--ignored=matching", "--ignore-submodules=all"], place).split(b"\0")[:-1]


def _walk_folders(root: bytes) -> Iterator[tuple[bytes, int]]:
    for folder, names, files in os.walk(root):
        if folder == root:
            names.remove(b".git")
        for name in [*names, *files]:
            yield os.path.relpath(os.path.join(folder, name), root), GITLINK_MODE


_CHECKS = {
    "objects": _objects,
    "refs": _refs_below_base,
    "settings": _settings,
    "files": _files,
    "index": _index,
    "ids": _dangling_ids,
    "work-tree": _work_tree,
}
