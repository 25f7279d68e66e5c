import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from git_building import LINK, REPO, START, SUBMODULE, Upstream, git, make_upstream, plain_files

from swequarry.errors import GitError, InputError, ObjectMissingError
from swequarry.git.audit import audit_closure
from swequarry.git.repository import Repository
from swequarry.git.snapshot import make_snapshot
from swequarry.records import ClosureAudit, CommitSha

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 1024\n"


@pytest.fixture
def upstream(tmp_path) -> Upstream:
    return make_upstream(tmp_path)


def history_of(upstream: Upstream, length: int) -> list[CommitSha]:
    commits: list[CommitSha] = []
    for n in range(length):
        parents = (commits[-1],) if commits else ()
        commits.append(upstream.commit({b"n": b"%d\n" % n}, parents=parents, at=START + n))
    return commits


def test_working_tree_is_the_base_tree_byte_for_byte(upstream, tmp_path):
    files = {
        b"win.py": b"a\r\nb\r\n",
        b"sp ace/new\nline": b"1",
        b"\xff\xfe": b"2",
        b"back\\slash": b"3",
        b"link": (LINK, b"../outside"),
        b"run": (0o100755, b"#!/bin/sh\n"),
        b"empty": b"",
    }
    base = upstream.commit(files)
    made = tmp_path / "made"
    snapshot = make_snapshot(upstream.repository, base, made, REPO)
    assert plain_files(made) == {p: c[1] if isinstance(c, tuple) else c for p, c in files.items()}
    assert snapshot.audit.findings == ()
    assert snapshot.base_tree == upstream.repository.tree_of(base)
    assert git(made, "status", "--porcelain") == b""
    assert os.access(made / "run", os.X_OK)


def test_files_committed_with_crlf_under_a_text_attribute_are_no_finding(upstream, tmp_path):
    base = upstream.commit(
        {b".gitattributes": b"*.py text\n*.bat eol=crlf\n", b"a.py": b"a\r\n", b"b.bat": b"b\n"}
    )
    made = tmp_path / "made"
    assert make_snapshot(upstream.repository, base, made, REPO).audit.findings == ()
    assert (made / "a.py").read_bytes() == b"a\r\n"
    assert (made / "b.bat").read_bytes() == b"b\r\n"
    (made / "a.py").write_bytes(b"a\n")
    assert audit_closure(made, base).findings != ()


def test_same_base_gives_the_same_record_and_the_same_files(upstream, tmp_path):
    base = history_of(upstream, 5)[3]
    first = make_snapshot(upstream.repository, base, tmp_path / "first", REPO)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", os.fspath(upstream.path), "clone")
    second = make_snapshot(Repository.open(clone), base, tmp_path / "second", REPO)
    assert first.content_hash() == second.content_hash()
    times = {(tmp_path / name / "n").stat().st_mtime for name in ("first", "second")}
    assert times == {START + 3}, "file times tell when the copy was made"


@pytest.mark.parametrize("history, kept", [("full", 6), ("none", 1), (1, 1), (3, 3), (100, 6)])
def test_history_is_as_deep_as_asked(upstream, tmp_path, history, kept):
    base = history_of(upstream, 8)[5]
    made = tmp_path / "made"
    snapshot = make_snapshot(upstream.repository, base, made, REPO, history)
    assert git(made, "rev-list", "--count", "HEAD") == b"%d\n" % kept
    assert snapshot.history == str(history)
    assert snapshot.audit == audit_closure(made, base)
    assert snapshot.audit.findings == ()
    git(made, "fsck", "--strict")


def test_depth_counts_generations_through_merges(upstream, tmp_path):
    line = history_of(upstream, 6)
    side = upstream.commit({b"s": b"1"}, parents=(line[0],), ref="refs/heads/side")
    merge = upstream.commit({b"n": b"m", b"s": b"1"}, parents=(line[5], side))
    made = tmp_path / "made"
    make_snapshot(upstream.repository, merge, made, REPO, 3)
    kept = set(git(made, "rev-list", "HEAD").decode().split())
    assert kept == {merge, line[5], line[4], side, line[0]}


def test_two_walks_of_a_long_history_make_one_closure(upstream, tmp_path, monkeypatch):
    base = history_of(upstream, 30)[-1]
    one = make_snapshot(upstream.repository, base, tmp_path / "one", REPO)
    monkeypatch.setattr("swequarry.git.closure._WORTH_TWO_WALKS", 10)
    two = make_snapshot(upstream.repository, base, tmp_path / "two", REPO)
    assert one == two
    assert two.audit.objects == 90
    assert audit_closure(tmp_path / "two", base) == two.audit


def test_shallow_clone_gives_what_it_has(upstream, tmp_path):
    base = history_of(upstream, 8)[-1]
    git(tmp_path, "clone", "--quiet", "--depth=3", f"file://{upstream.path}", "clone")
    made = tmp_path / "made"
    snapshot = make_snapshot(Repository.open(tmp_path / "clone"), base, made, REPO)
    assert git(made, "rev-list", "--count", "HEAD") == b"3\n"
    assert snapshot.audit.findings == ()
    git(made, "fsck", "--strict")


# --- B033, submodules, partial mirrors ---------------------------------------------------------------


def test_large_file_pointers_are_told_from_data(upstream, tmp_path):
    base = upstream.commit(
        {
            b"tests/data/m.npy": POINTER,
            b"no attribute at all.bin": POINTER,
            b"real.npy": b"\x93NUMPY" + b"\0" * 300,
            b"docs.md": b"A pointer begins with:\n" + POINTER,
            b"too long": POINTER + b"x" * 1024,
            b"link": (LINK, b"tests/data/m.npy"),
            b".gitattributes": b"*.npy filter=lfs diff=lfs merge=lfs -text\n",
        }
    )
    snapshot = make_snapshot(upstream.repository, base, tmp_path / "made", REPO)
    assert snapshot.lfs_pointers == ("no attribute at all.bin", "tests/data/m.npy")
    assert (tmp_path / "made" / "tests" / "data" / "m.npy").read_bytes() == POINTER
    assert snapshot.audit.findings == ()


def test_submodules_are_empty_folders_and_named(upstream, tmp_path):
    base = upstream.commit(
        {
            b"vendor/lib": (SUBMODULE, b"1" * 40),
            b".gitmodules": b'[submodule "lib"]\n\tpath = vendor/lib\n\turl = https://x.example/lib\n',
        }
    )
    snapshot = make_snapshot(upstream.repository, base, tmp_path / "made", REPO)
    assert snapshot.submodules == ("vendor/lib",)
    assert list((tmp_path / "made" / "vendor" / "lib").iterdir()) == []
    assert snapshot.audit.findings == ()
    assert git(tmp_path / "made", "status", "--porcelain") == b""


def test_blobs_that_a_partial_mirror_lacks_are_named_not_fetched(upstream, tmp_path):
    old = upstream.commit({b"big.bin": b"old" * 99, b"a": b"1"})
    base = upstream.commit({b"big.bin": b"new" * 99, b"a": b"1"}, parents=(old,))
    upstream.git("config", "uploadpack.allowFilter", "true")
    git(
        tmp_path,
        "clone",
        "--quiet",
        "--mirror",
        "--filter=blob:limit=100",
        f"file://{upstream.path}",
        "partial",
    )
    partial = tmp_path / "partial"
    missing = {upstream.git("rev-parse", f"{sha}:big.bin").decode().strip() for sha in (old, base)}
    for with_config in (True, False):
        if not with_config:
            (partial / "config").unlink()
        made = tmp_path / f"made-{with_config}"
        snapshot = make_snapshot(Repository.open(partial), base, made, REPO)
        assert set(snapshot.audit.missing_blobs) == missing
        assert snapshot.audit.findings == ()
        assert plain_files(made) == {b"a": b"1"}
        assert [e.path for e in Repository.open(partial).missing_blobs(base)] == [b"big.bin"]
        assert audit_closure(made, base) == snapshot.audit


def test_base_whose_own_tree_is_missing_is_an_error(upstream, tmp_path):
    base = upstream.commit({b"d/a": b"1"})
    tree = upstream.git("rev-parse", f"{base}:d").decode().strip()
    (upstream.path / "objects" / tree[:2] / tree[2:]).unlink()
    with pytest.raises(ObjectMissingError):
        make_snapshot(upstream.repository, base, tmp_path / "made", REPO)
    with pytest.raises(ObjectMissingError):
        make_snapshot(upstream.repository, CommitSha("1" * 40), tmp_path / "made", REPO)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["upstream.git"]


# --- whole or not at all -----------------------------------------------------------------------------


def test_existing_folder_is_neither_overwritten_nor_mixed(upstream, tmp_path):
    base = upstream.commit({b"a": b"1"})
    made = tmp_path / "made"
    made.mkdir()
    make_snapshot(upstream.repository, base, made, REPO)
    (made / "mine").write_text("work of days")
    with pytest.raises(InputError, match="exists"):
        make_snapshot(upstream.repository, base, made, REPO)
    assert (made / "mine").read_text() == "work of days"
    with pytest.raises(GitError, match="impossible"):
        make_snapshot(upstream.repository, base, tmp_path / "other", REPO, 0)


KILLED = """
import sys
from pathlib import Path
from swequarry.git.repository import Repository
from swequarry.git.snapshot import make_snapshot
from swequarry.records import RepoRef
repository = Repository.open(Path(sys.argv[1]))
print("ready", flush=True)
make_snapshot(repository, sys.argv[2], Path(sys.argv[3]), RepoRef(owner="a", name="b"))
"""


@pytest.mark.parametrize("delay_ms", [0, 20, 40, 60])
def test_killed_maker_leaves_no_half_snapshot(upstream, tmp_path, delay_ms):
    base = upstream.commit({b"%d" % n: b"%d" % n for n in range(300)})
    made = tmp_path / "out" / "made"
    command = [sys.executable, "-c", KILLED, os.fspath(upstream.path), base, os.fspath(made)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(delay_ms / 1000)
        process.send_signal(signal.SIGKILL)
    if made.exists():
        assert audit_closure(made, base).findings == ()
        shutil.rmtree(made)
    assert make_snapshot(upstream.repository, base, made, REPO).audit.findings == ()


def test_repository_is_not_written_to(upstream, tmp_path):
    base = history_of(upstream, 3)[-1]
    before = {path: path.stat().st_mtime_ns for path in upstream.path.rglob("*")}
    make_snapshot(upstream.repository, base, tmp_path / "made", REPO)
    assert {path: path.stat().st_mtime_ns for path in upstream.path.rglob("*")} == before


def test_snapshot_has_room_for_a_solver_to_commit(upstream, tmp_path):
    made = tmp_path / "made"
    base = upstream.commit({b"a": b"1\n"})
    make_snapshot(upstream.repository, base, made, REPO)
    (made / "a").write_bytes(b"2\n")
    git(made, "commit", "-qam", "fix")
    assert git(made, "diff", "--name-only", base) == b"a\n"


def test_audit_record_survives_json(upstream, tmp_path):
    audit = make_snapshot(
        upstream.repository, upstream.commit({b"a": b"1"}), Path(tmp_path / "made"), REPO
    ).audit
    assert ClosureAudit.from_json(audit.to_json()) == audit
    assert audit.checks == ("objects", "refs", "settings", "files", "index", "ids", "work-tree")
