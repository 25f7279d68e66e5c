"""The twelve channels by which a fix was reached in other people's copies, and more."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from git_building import REPO, START, SUBMODULE, Upstream, git, make_upstream

from swequarry.errors import GitError, InputError
from swequarry.git.audit import audit_closure
from swequarry.git.paths import entries_below
from swequarry.git.repository import Repository
from swequarry.git.snapshot import make_snapshot
from swequarry.records import CommitSha

SECRET = b"return the_fix(42)\n"
DAY = 86_400


@dataclass(frozen=True)
class Leaky:
    upstream: Upstream
    base: CommitSha
    fix: CommitSha


@pytest.fixture(scope="module")
def leaky(tmp_path_factory) -> Leaky:
    """An upstream whose future is reachable by every kind of ref, dated before and after the base."""
    upstream = make_upstream(tmp_path_factory.mktemp("leaky"))
    files = {b"src/a.py": b"return 0\n", b"vendor": (SUBMODULE, b"1" * 40), b".gitignore": b"*.pyc\n"}
    root = upstream.commit(files, at=START)
    base = upstream.commit({**files, b"README": b"hello\n"}, parents=(root,), at=START + DAY)
    fixed = {**files, b"src/a.py": SECRET}
    fix = upstream.commit(fixed, parents=(base,), at=START + 2 * DAY)
    upstream.commit(fixed, parents=(root,), ref="refs/heads/old-dated", at=START + DAY // 2)
    upstream.commit(fixed, parents=(base,), ref="refs/heads/back-dated", at=START)
    upstream.commit({**fixed, b"x": b"1"}, parents=(root,), ref="refs/pull/7/head", at=START + DAY // 2)
    upstream.commit({**fixed, b"x": b"2"}, parents=(base,), ref="refs/stash", at=START)
    upstream.git("tag", "v1.0", root)
    upstream.git("tag", "-a", "-m", "release", "v1.0-annotated", root)
    upstream.git("tag", "v1.1", fix)
    upstream.git("tag", "-a", "-m", "fixed", "v1.1-annotated", fix)
    upstream.git("tag", "blob", f"{fix}:src/a.py")
    upstream.git("tag", "tree", f"{fix}^{{tree}}")
    upstream.git("tag", "-a", "-m", SECRET, "late-note-on-an-ancestor", root)
    late = upstream.git("cat-file", "tag", "late-note-on-an-ancestor").replace(
        b"%d" % START, b"%d" % (START + 9 * DAY)
    )
    upstream.git(
        "update-ref", "refs/tags/late-note-on-an-ancestor", upstream.git("mktag", stdin=late).strip()
    )
    upstream.git("notes", "add", "-m", SECRET, base)
    upstream.git("replace", base, fix)
    upstream.git("update-ref", "refs/bisect/bad", fix)
    return Leaky(upstream, base, fix)


def as_mirror(leaky: Leaky, folder: Path) -> Path:
    git(folder, "clone", "--quiet", "--mirror", os.fspath(leaky.upstream.path), "copy")
    return folder / "copy"


def as_mirror_without_config(leaky: Leaky, folder: Path) -> Path:
    mirror = as_mirror(leaky, folder)
    (mirror / "config").unlink()
    return mirror


def as_clone(leaky: Leaky, folder: Path) -> Path:
    clone = folder / "copy"
    git(folder, "clone", "--quiet", os.fspath(leaky.upstream.path), "copy")
    git(clone, "reset", "--quiet", "--hard", leaky.base)
    (clone / "src" / "a.py").write_bytes(SECRET)
    git(clone, "stash", "--quiet")
    git(clone, "worktree", "add", "--quiet", "../linked", leaky.fix)
    (clone / "staged.py").write_bytes(SECRET)
    git(clone, "add", "staged.py")
    (clone / ".git" / "modules" / "vendor").mkdir(parents=True)
    return clone


def as_shared_clone(leaky: Leaky, folder: Path) -> Path:
    git(folder, "clone", "--quiet", "--shared", "--no-checkout", os.fspath(leaky.upstream.path), "copy")
    return folder / "copy"


def as_linked_worktree(leaky: Leaky, folder: Path) -> Path:
    as_clone(leaky, folder)
    return folder / "linked"


def as_clone_with_reference(leaky: Leaky, folder: Path) -> Path:
    cache = folder / "cache.git"
    git(folder, "clone", "--quiet", "--mirror", os.fspath(leaky.upstream.path), "cache.git")
    git(folder, "clone", "--quiet", "--reference", os.fspath(cache), f"file://{leaky.upstream.path}", "copy")
    return folder / "copy"


def as_clone_of_a_shared_clone(leaky: Leaky, folder: Path) -> Path:
    git(folder, "clone", "--quiet", "--shared", "--mirror", os.fspath(leaky.upstream.path), "first")
    git(folder, "clone", "--quiet", "--shared", "--bare", os.fspath(folder / "first"), "copy")
    return folder / "copy"


def as_bare_folder_with_alternates(leaky: Leaky, folder: Path) -> Path:
    copy = folder / "copy"
    git(folder, "init", "--quiet", "--bare", "copy")
    info = copy / "objects" / "info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text(f"# a comment\n{leaky.upstream.path / 'objects'}\n/nowhere\n")
    (info / "http-alternates").write_text("https://x.example/objects\n")
    (copy / "packed-refs").write_text(f"{leaky.fix} refs/heads/main\n{leaky.fix} refs/tags/v9\n")
    return copy


def as_grafted_mirror(leaky: Leaky, folder: Path) -> Path:
    mirror = as_mirror(leaky, folder)
    (mirror / "info").mkdir(exist_ok=True)
    (mirror / "info" / "grafts").write_text(f"{leaky.base} {leaky.fix}\n")
    (mirror / "info" / "attributes").write_text("*.py filter=leak\n")
    git(mirror, "config", "filter.leak.smudge", "printf 'return the_fix(42)'")
    git(mirror, "update-ref", "ORIG_HEAD", leaky.fix)
    return mirror


def as_mirror_with_kept_packs(leaky: Leaky, folder: Path) -> Path:
    mirror = as_mirror(leaky, folder)
    git(mirror, "repack", "-adq", "--write-bitmap-index")
    for pack in (mirror / "objects" / "pack").glob("*.pack"):
        pack.with_suffix(".keep").touch()
    git(mirror, "commit-graph", "write", "--reachable", "--changed-paths")
    git(mirror, "hash-object", "-w", "--stdin", stdin=SECRET + b"# unreachable\n")
    return mirror


def as_shallow_mirror(leaky: Leaky, folder: Path) -> Path:
    git(folder, "clone", "--quiet", "--mirror", "--depth=2", f"file://{leaky.upstream.path}", "copy")
    return folder / "copy"


def as_partial_mirror(leaky: Leaky, folder: Path) -> Path:
    leaky.upstream.git("config", "uploadpack.allowFilter", "true")
    url = f"file://{leaky.upstream.path}"
    git(folder, "clone", "--quiet", "--mirror", "--filter=blob:limit=1k", url, "copy")
    return folder / "copy"


SOURCES = [
    as_mirror,
    as_mirror_without_config,
    as_clone,
    as_shared_clone,
    as_linked_worktree,
    as_clone_with_reference,
    as_clone_of_a_shared_clone,
    as_bare_folder_with_alternates,
    as_grafted_mirror,
    as_mirror_with_kept_packs,
    as_shallow_mirror,
    as_partial_mirror,
]
"""Kinds of copies of the upstream that people keep; each one holds the fix."""


def closure_of(made: Path, base: CommitSha) -> set[bytes]:
    """Return what a snapshot may hold, as git itself lists it: the base's closure, and tag objects."""
    reachable = set(git(made, "rev-list", "--objects", "--no-object-names", base).split())
    listing = git(made, "for-each-ref", "--format=%(objecttype) %(objectname)", "refs/tags").split(b"\n")
    return reachable | {line[4:] for line in listing if line.startswith(b"tag ")}


@pytest.mark.parametrize(
    "source, history", [*((source, "full") for source in SOURCES), (as_mirror, "none"), (as_clone, 1)]
)
def test_no_object_or_file_of_a_snapshot_holds_the_fix(leaky, tmp_path, source, history):  # B023
    repository = Repository.open(source(leaky, tmp_path))
    assert repository.has(leaky.fix), "the source must hold what may not come out of it"
    made = tmp_path / "snapshot"
    snapshot = make_snapshot(repository, leaky.base, made, REPO, history)
    assert snapshot.audit.findings == ()
    assert audit_closure(made, leaky.base) == snapshot.audit
    stored = git(made, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    assert set(stored) == closure_of(made, leaky.base)
    objects = git(made, "cat-file", "--batch-all-objects", "--batch")
    assert b"return 0\n" in objects
    assert SECRET.strip() not in objects
    assert leaky.fix.encode() not in objects
    for folder, _, names in os.walk(made):
        for name in names:
            data = Path(folder, name).read_bytes()
            assert SECRET.strip() not in data
            assert leaky.fix.encode() not in data
    for listing in (["log", "--all"], ["stash", "list"], ["notes"], ["fsck", "--lost-found"], ["remote"]):
        assert b"the_fix" not in git(made, *listing)
    assert git(made, "status", "--porcelain") == b""


def test_ancestors_and_their_tags_stay(leaky, tmp_path):
    made = tmp_path / "snapshot"
    snapshot = make_snapshot(leaky.upstream.repository, leaky.base, made, REPO)
    assert snapshot.tags == ("late-note-on-an-ancestor", "v1.0", "v1.0-annotated")
    assert git(made, "rev-list", "--count", "HEAD") == b"2\n"
    assert git(made, "describe", "--long").startswith(b"v1.0-annotated-1-g")
    kinds = [git(made, "cat-file", "-t", tag).strip() for tag in snapshot.tags]
    assert kinds == [b"commit", b"commit", b"tag"]
    assert git(made, "for-each-ref", "--format=%(refname)", "--no-merged", leaky.base) == b""


# --- a copy that somebody tampered with is told --------------------------------------------------------


@pytest.fixture(scope="module")
def sealed(leaky, tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("sealed") / "snapshot"
    assert make_snapshot(leaky.upstream.repository, leaky.base, made, REPO).audit.findings == ()
    return made


def bring(leaky: Leaky, made: Path, *refspecs: str) -> None:
    git(
        made,
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        os.fspath(leaky.upstream.path),
        *refspecs,
    )


def write(name: str, text: str) -> Callable[[Leaky, Path], None]:
    def tamper(leaky: Leaky, made: Path) -> None:
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        old = path.read_text() if path.is_file() and name.endswith(("config", "packed-refs")) else ""
        path.write_text(
            old + text.format(fix=leaky.fix, base=leaky.base, objects=leaky.upstream.path / "objects")
        )

    return tamper


def fetch_ref(refspec: str) -> Callable[[Leaky, Path], None]:
    return lambda leaky, made: bring(leaky, made, refspec)


def run(*arguments: str) -> Callable[[Leaky, Path], None]:
    def tamper(leaky: Leaky, made: Path) -> None:
        git(made, *(a.format(fix=leaky.fix, base=leaky.base) for a in arguments))

    return tamper


def unreachable_object(leaky: Leaky, made: Path) -> None:
    git(made, "hash-object", "-w", "--stdin", stdin=SECRET)


def kept_pack_without_refs(leaky: Leaky, made: Path) -> None:
    packed = leaky.upstream.git("pack-objects", "--revs", "--stdout", stdin=leaky.fix.encode() + b"\n")
    git(made, "index-pack", "--stdin", "--keep=because", stdin=packed)


def tag_by_date(leaky: Leaky, made: Path) -> None:
    bring(leaky, made, "refs/heads/old-dated")
    git(made, "tag", "old", leaky.upstream.git("rev-parse", "old-dated").strip())


def staged_blob(leaky: Leaky, made: Path) -> None:
    (made / "staged.py").write_bytes(SECRET)
    git(made, "add", "staged.py")
    (made / "staged.py").unlink()


def hidden_edit(leaky: Leaky, made: Path) -> None:
    git(made, "update-index", "--skip-worktree", "README")


def same_size_edit(leaky: Leaky, made: Path) -> None:
    path = made / "README"
    found = path.stat()
    path.write_bytes(b"HELLO\n")
    os.utime(path, (found.st_atime, found.st_mtime))


def stash(leaky: Leaky, made: Path) -> None:
    (made / "README").write_bytes(SECRET)
    git(made, "stash", "--quiet")


def linked_objects(leaky: Leaky, made: Path) -> None:
    shutil.rmtree(made / ".git" / "objects" / "info")
    (made / ".git" / "objects" / "info").symlink_to(leaky.upstream.path / "objects" / "info")


def orphan_merge(leaky: Leaky, made: Path) -> None:
    bring(leaky, made, f"{leaky.fix}:refs/heads/x")
    git(made, "update-ref", "-d", "refs/heads/x")


TAMPERED: dict[str, tuple[str, Callable[[Leaky, Path], None]]] = {
    "branch of the future": ("refs", fetch_ref("refs/heads/main:refs/heads/future")),
    "remote branch": ("refs", fetch_ref("refs/heads/main:refs/remotes/origin/main")),
    "back-dated branch": ("objects", fetch_ref("refs/heads/back-dated:refs/heads/back")),
    "tag on an old-dated commit": ("refs", tag_by_date),
    "annotated tag": ("refs", fetch_ref("refs/tags/v1.1-annotated:refs/tags/v1.1-annotated")),
    "tag on a blob": ("refs", fetch_ref("refs/tags/blob:refs/tags/blob")),
    "notes": ("objects", fetch_ref("refs/notes/commits:refs/notes/commits")),
    "pull request": ("refs", fetch_ref("refs/pull/7/head:refs/pull/7/head")),
    "stash": ("refs", stash),
    "replaced commit": ("files", run("replace", "-f", "HEAD", "HEAD~1")),
    "bisect": ("files", run("update-ref", "refs/bisect/good", "HEAD~1")),
    "unreachable after a fetch": ("objects", orphan_merge),
    "unreachable object": ("objects", unreachable_object),
    "kept pack": ("files", kept_pack_without_refs),
    "alternates": ("objects", write(".git/objects/info/alternates", "{objects}\n")),
    "alternates over http": ("files", write(".git/objects/info/http-alternates", "http://x.example/\n")),
    "promisor pack": ("files", write(".git/objects/pack/pack-1.promisor", "")),
    "linked objects": ("files", linked_objects),
    "reflog": ("ids", write(".git/logs/HEAD", "{base} {fix} A <a@example.org> 1 +0000\tpull\n")),
    "ORIG_HEAD": ("ids", write(".git/ORIG_HEAD", "{fix}\n")),
    "FETCH_HEAD": ("files", write(".git/FETCH_HEAD", "{base}\t\tbranch 'main' of https://x.example/y\n")),
    "packed-refs": ("ids", write(".git/packed-refs", "{fix} refs/tags/zz\n")),
    "broken ref": ("refs", write(".git/refs/heads/gone", "{fix}\n")),
    "symbolic ref": ("refs", write(".git/refs/heads/alias", "ref: refs/heads/main\n")),
    "detached head": ("refs", write(".git/HEAD", "{base}\n")),
    "shallow mark": ("ids", write(".git/shallow", "{fix}\n")),
    "grafts": ("files", write(".git/info/grafts", "{base} {fix}\n")),
    "linked worktree": ("files", write(".git/worktrees/w/HEAD", "{fix}\n")),
    "submodule folder": ("files", write(".git/modules/vendor/config", "[core]\n")),
    "large file store": ("files", write(".git/lfs/objects/aa/bb", "data")),
    "remote": ("settings", run("remote", "add", "origin", "https://x.example/y")),
    "url rewriting": ("settings", run("config", "url.https://x.example/.insteadOf", "y:")),
    "credentials": ("settings", run("config", "credential.helper", "store")),
    "filter": ("settings", run("config", "filter.f.smudge", "cat")),
    "alias": ("settings", run("config", "alias.st", "!id")),
    "included settings": ("settings", run("config", "include.path", "/dev/null")),
    "settings of the worktree": ("files", write(".git/config.worktree", "[core]\n")),
    "active hook": ("files", write(".git/hooks/post-checkout", "#!/bin/sh\n")),
    "excluded names": ("files", write(".git/info/exclude", "secret*\n")),
    "staged blob": ("index", staged_blob),
    "skip-worktree": ("index", hidden_edit),
    "assume-unchanged": ("index", run("update-index", "--assume-unchanged", "README")),
    "emptied index": ("index", run("rm", "-q", "--cached", "README")),
    "untracked file": ("work-tree", write("build/lib/a.py", "x")),
    "ignored file": ("work-tree", write("src/a.pyc", "x")),
    "edit that keeps size and time": ("work-tree", same_size_edit),
    "repository in a folder": ("work-tree", write("vendor/.git/HEAD", "ref: refs/heads/main\n")),
    "gitfile in a folder": ("work-tree", write("src/.git", "gitdir: /x\n")),
}


@pytest.mark.parametrize("channel", TAMPERED)
def test_tampered_copy_is_found(leaky, sealed, tmp_path, channel):
    check, tamper = TAMPERED[channel]
    made = tmp_path / "snapshot"
    shutil.copytree(sealed, made, symlinks=True)
    tamper(leaky, made)
    findings = audit_closure(made, leaky.base).findings
    assert any(finding.startswith(f"{check}: ") for finding in findings), findings


def test_copy_moved_on_to_the_fix_is_found(leaky, sealed, tmp_path):
    made = tmp_path / "snapshot"
    shutil.copytree(sealed, made)
    bring(leaky, made, f"{leaky.fix}:refs/heads/next")
    git(made, "reset", "--quiet", "--hard", leaky.fix)
    git(made, "update-ref", "-d", "refs/heads/next")
    findings = audit_closure(made, leaky.base).findings
    assert {finding.partition(":")[0] for finding in findings} >= {"objects", "refs", "index", "work-tree"}


def test_what_is_no_snapshot_is_not_called_sealed(leaky, sealed, tmp_path):
    with pytest.raises(InputError):
        audit_closure(tmp_path, leaky.base)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / ".git").write_text(f"gitdir: {sealed / '.git'}\n")
    with pytest.raises(InputError):
        audit_closure(outside, leaky.base)
    with pytest.raises(GitError):
        audit_closure(sealed, leaky.fix)
    broken = tmp_path / "broken"
    shutil.copytree(sealed, broken)
    (broken / ".git" / "config").write_text("[[[\n")
    with pytest.raises(GitError):
        audit_closure(broken, leaky.base)


def test_copying_a_snapshot_leaves_it_sealed_and_clean(leaky, sealed, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(sealed, copy, symlinks=True)
    assert audit_closure(copy, leaky.base).findings == ()
    assert git(copy, "diff-files", "--name-only") == b"", "the index is stale"


def test_audit_changes_nothing(leaky, sealed):
    def state() -> dict[bytes, tuple[int, int]]:
        return {
            name: (path.lstat().st_size, path.lstat().st_mtime_ns) for name, path in entries_below(sealed)
        }

    before = state()
    audit_closure(sealed, leaky.base)
    assert state() == before
