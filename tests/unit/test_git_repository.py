import os
import subprocess
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from git_building import LINK, REPO, START, SUBMODULE, Upstream, git, make_upstream

from swequarry.errors import GitError, ObjectMissingError, RepositoryError
from swequarry.git.audit import audit_closure
from swequarry.git.repository import Repository, moment
from swequarry.git.run import Place, run_git, started_git
from swequarry.git.snapshot import make_snapshot
from swequarry.records import CommitSha


@pytest.fixture
def upstream(tmp_path) -> Upstream:
    return make_upstream(tmp_path)


@pytest.fixture
def commit(upstream) -> CommitSha:
    return upstream.commit({b"a": b"1"})


# --- what can be opened ------------------------------------------------------------------------------


def test_every_shape_of_a_repository_is_the_same_repository(upstream, commit, tmp_path):
    git(tmp_path, "clone", "--quiet", os.fspath(upstream.path), "clone")
    git(tmp_path, "clone", "--quiet", "--shared", "--no-checkout", os.fspath(upstream.path), "shared")
    git(tmp_path, "clone", "--quiet", "--mirror", os.fspath(upstream.path), "no config.git")
    (tmp_path / "no config.git" / "config").unlink()
    git(tmp_path / "clone", "worktree", "add", "--quiet", "--detach", "../linked")
    (tmp_path / "by link").symlink_to("clone")
    for name in ("upstream.git", "clone", "clone/.git", "shared", "no config.git", "linked", "by link"):
        repository = Repository.open(tmp_path / name)
        assert repository.resolve("HEAD") == commit, name
        assert repository.read_blob(repository.list_tree(commit)[0].sha) == b"1", name
        assert repository.objects.is_dir(), name


def test_what_is_no_repository_is_refused_by_name(tmp_path):
    (tmp_path / "plain" / "sub").mkdir(parents=True)
    (tmp_path / "file").write_text("x")
    (tmp_path / "dangling").mkdir()
    (tmp_path / "dangling" / ".git").write_text("gitdir: /nowhere\n")
    for name in ("plain", "file", "dangling"):
        with pytest.raises(RepositoryError, match=name):
            Repository.open(tmp_path / name)
    with pytest.raises(RepositoryError, match="there is no repository"):
        Repository.open(tmp_path / "absent")


def test_folder_inside_a_repository_is_not_taken_for_it(upstream, commit, tmp_path):
    git(tmp_path, "clone", "--quiet", os.fspath(upstream.path), "clone")
    (tmp_path / "clone" / "src").mkdir()
    with pytest.raises(RepositoryError):
        Repository.open(tmp_path / "clone" / "src")


def test_repository_with_other_ids_is_refused_not_misread(tmp_path):
    git(tmp_path, "init", "--quiet", "--bare", "--object-format=sha256", "long")
    with pytest.raises(RepositoryError, match="sha256"):
        Repository.open(tmp_path / "long")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to another user")
def test_repository_of_another_user_is_read(upstream, commit):
    for folder, _, names in os.walk(upstream.path):
        for path in [folder, *(os.path.join(folder, name) for name in names)]:  # noqa: PTH118
            os.chown(path, 12345, 12345)
    assert Repository.open(upstream.path).resolve("HEAD") == commit


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_ordinary_user_reads_and_copies_a_repository_of_root(commit, upstream):
    with tempfile.TemporaryDirectory() as shared:
        Path(shared).chmod(0o1777)
        mirror = Path(shared, "mirror")
        git(upstream.path, "clone", "--quiet", "--mirror", ".", os.fspath(mirror))
        Repository.open(mirror)  # imports what the other user might not be able to import
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.setgid(12345)
                os.setuid(12345)
                make_snapshot(Repository.open(mirror), commit, Path(shared, "made"), REPO)
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert audit_closure(Path(shared, "made"), commit).findings == ()


# --- what surrounds us doesn't matter ----------------------------------------------------------------


def test_variables_of_a_surrounding_git_do_not_lead_astray(upstream, commit, tmp_path, monkeypatch):
    other = make_upstream(tmp_path, "other.git")
    other.commit({b"b": b"2"})
    monkeypatch.setenv("GIT_DIR", os.fspath(other.path))
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", os.fspath(other.path / "objects"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.bare")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "nonsense")
    assert Repository.open(upstream.path).resolve("HEAD") == commit


def test_replaced_and_grafted_commits_are_seen_as_they_were(upstream, commit):
    tree = upstream.tree({b"a": b"1"})
    fix = upstream.commit({b"a": b"fixed"}, parents=(commit,))
    upstream.git("replace", commit, fix)
    (upstream.path / "info").mkdir(exist_ok=True)
    (upstream.path / "info" / "grafts").write_text(f"{fix}\n")
    repository = upstream.repository
    assert repository.tree_of(commit) == tree
    assert repository.git(["rev-list", "--count", fix]) == b"2\n"


def test_settings_of_the_user_are_not_read(upstream, commit, tmp_path, monkeypatch):
    (tmp_path / ".gitconfig").write_text("[core]\n\tbare = nonsense\n")
    monkeypatch.setenv("HOME", os.fspath(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", os.fspath(tmp_path))
    assert run_git(["config", "--list"], Place(git_dir=upstream.path)).startswith(b"core.")
    assert upstream.repository.resolve("HEAD") == commit


# --- objects -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rev", ["nope", "--help", "-x", "1" * 40, "HEAD:a", "HEAD^5", "", "a b", "HEAD\n", "@{-1}"]
)
def test_revision_that_names_no_commit_is_missing_not_a_crash(upstream, commit, rev):
    with pytest.raises(ObjectMissingError):
        upstream.repository.resolve(rev)


def test_revisions_are_peeled_to_the_commit(upstream, commit):
    upstream.git("tag", "-a", "-m", "x", "v1", commit)
    assert {upstream.repository.resolve(rev) for rev in ("v1", "main", commit[:10], "HEAD")} == {commit}


def test_listing_has_every_kind_of_entry_with_raw_names(upstream):
    files = {b'd/\xff\n\t"': (0o100755, b"1"), b"l": (LINK, b"x"), b"sub": (SUBMODULE, b"1" * 40)}
    sha = upstream.commit(files)
    found = {(e.path, e.mode, e.kind) for e in upstream.repository.list_tree(sha)}
    assert found == {
        (b'd/\xff\n\t"', 0o100755, "blob"),
        (b"l", LINK, "blob"),
        (b"sub", SUBMODULE, "commit"),
    }


def test_reader_survives_absent_objects_and_keeps_bytes(upstream):
    data = b"\x00\r\n" * 5000
    sha = upstream.commit({b"a": data, b"b": b""})
    blobs = [entry.sha for entry in upstream.repository.list_tree(sha)]
    with upstream.repository.reader() as reader:
        assert reader.read(blobs[0]) == ("blob", data)
        with pytest.raises(ObjectMissingError):
            reader.read("1" * 40)
        assert reader.read(blobs[1]) == ("blob", b"")
        assert reader.read(sha)[0] == "commit"


def test_many_objects_come_in_order_and_an_absent_one_shifts_none(upstream):
    sha = upstream.commit({b"a": b"1\n", b"b": b"", b"c": b"line\n" * 100_000})
    repository = Repository.open(upstream.path)
    first, empty, large = (entry.sha for entry in repository.list_tree(sha))
    asked = [large, "1" * 40, empty, first, "2" * 40, first]
    assert list(repository.read_all(asked)) == [b"line\n" * 100_000, b"", b"1\n", b"1\n"]
    assert list(repository.read_all([])) == []
    reading = repository.read_all([large] * 50)
    assert next(reading)
    reading.close()


def test_absent_objects_of_a_partial_clone_are_absent_not_an_error(upstream, tmp_path):
    sha = upstream.commit({b"big": b"x" * 500})
    blob = upstream.repository.list_tree(sha)[0].sha
    upstream.git("config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--bare", "--filter=blob:none", f"file://{upstream.path}", "partial")
    partial = Repository.open(tmp_path / "partial")
    assert not partial.has(blob)
    assert not partial.has("1" * 40)
    assert partial.has(sha)
    with pytest.raises(ObjectMissingError):
        partial.read_blob(blob)
    with pytest.raises(ObjectMissingError):
        partial.resolve("1" * 40)


def test_commit_time_keeps_the_committers_zone(upstream, commit):
    assert upstream.repository.commit_time(commit) == datetime.fromtimestamp(START, UTC)
    assert moment(0, "+0530").utcoffset() == timedelta(hours=5, minutes=30)
    assert moment(0, "-0130").utcoffset() == -timedelta(hours=1, minutes=30)
    assert moment(0, "+9999") == moment(10**30, "+0000") == datetime.fromtimestamp(0, UTC)
    with pytest.raises(ObjectMissingError):
        upstream.repository.commit_time("1" * 40)


# --- the one door ------------------------------------------------------------------------------------


def test_failed_command_tells_what_ran_and_what_git_said(upstream):
    with pytest.raises(GitError) as caught:
        run_git(["cat-file", "blob", b"\xff"], Place(git_dir=upstream.path))
    assert caught.value.argv == ("git", "cat-file", "blob", "\\xff")
    assert caught.value.status == 128
    assert "Not a valid object name" in caught.value.stderr
    assert "Not a valid object name" in str(caught.value)


def test_missing_git_and_missing_folder_are_told_apart(upstream, monkeypatch):
    with pytest.raises(GitError, match="isn't a folder"):
        run_git(["status"], Place(git_dir=upstream.path / "gone"))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(GitError, match="install git"):
        run_git(["version"], Place())


def test_reading_never_goes_to_the_network(upstream, commit):
    with pytest.raises(GitError, match="not allowed"):
        run_git(["fetch", "https://x.example/y"], Place(git_dir=upstream.path))


def test_exception_inside_kills_the_started_command(upstream, tmp_path):
    with (tmp_path / "err").open("w+b") as stderr:
        with (
            pytest.raises(ZeroDivisionError),
            started_git(
                ["cat-file", "--batch"], Place(git_dir=upstream.path), stdin=subprocess.PIPE, stderr=stderr
            ) as process,
        ):
            1 / 0  # noqa: B018
        assert process.returncode == -9
        with (
            pytest.raises(GitError, match="128"),
            started_git(["cat-file", "blob", "nope"], Place(git_dir=upstream.path), stderr=stderr),
        ):
            pass
