import os
import re
import threading

import pytest
from git_building import REPO, Upstream, git, make_upstream

from swequarry.errors import ObjectMissingError, RepositoryError
from swequarry.git.mirrors import MirrorLocator, fetch_commit
from swequarry.git.repository import Repository
from swequarry.records import CommitSha, RepoRef


@pytest.fixture
def upstream(tmp_path) -> Upstream:
    (tmp_path / "hub").mkdir()
    return make_upstream(tmp_path / "hub", "acme-widgets.git")


def locator(tmp_path, template: str | None = None) -> MirrorLocator:
    return MirrorLocator(
        template=template, url=f"file://{tmp_path}/hub/{{owner}}-{{name}}.git", cache=tmp_path / "cache"
    )


def test_mirror_of_the_user_comes_before_any_clone(upstream, tmp_path):
    commit = upstream.commit({b"a": b"1"})
    git(tmp_path, "clone", "--quiet", "--bare", os.fspath(upstream.path), "acme+widgets")
    found = locator(tmp_path, f"{tmp_path}/{{owner}}+{{name}}").locate(REPO)
    assert found.resolve("HEAD") == commit
    assert not (tmp_path / "cache").exists()


def test_repository_is_cloned_once_with_pull_requests(upstream, tmp_path):
    base = upstream.commit({b"a": b"1"}, ref="refs/heads/trunk")
    upstream.commit({b"a": b"2"}, parents=(base,), ref="refs/pull/9/head")
    upstream.commit({b"a": b"3"}, parents=(base,), ref="refs/pull/9/merge")
    upstream.git("symbolic-ref", "HEAD", "refs/heads/trunk")
    upstream.git("tag", "v1", base)
    found = locator(tmp_path, f"{tmp_path}/none/{{owner}}/{{name}}").locate(REPO)
    refs = found.git(["for-each-ref", "--format=%(refname)"]).decode().split()
    assert refs == ["refs/heads/trunk", "refs/pull/9/head", "refs/tags/v1"]
    assert found.resolve("HEAD") == base
    upstream.path.rename(tmp_path / "hub" / "moved")
    assert locator(tmp_path).locate(REPO) == found


def test_clone_that_fails_leaves_nothing_behind(tmp_path):
    with pytest.raises(RepositoryError, match=r"can't be cloned.*nothing lies at"):
        locator(tmp_path, f"{tmp_path}/none/{{owner}}").locate(REPO)
    assert list((tmp_path / "cache").iterdir()) == []


def test_two_workers_that_clone_at_once_share_one_clone(upstream, tmp_path):
    commit = upstream.commit({b"a": b"1"})
    found: list[Repository] = []
    threads = [
        threading.Thread(target=lambda: found.append(locator(tmp_path).locate(REPO))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [repository.resolve("HEAD") for repository in found] == [commit] * 3
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["acme+widgets.git"]


@pytest.mark.parametrize(
    "owner, name", [("..", "x"), ("a/b", "x"), ("", "x"), ("a", "x\n"), ("a", "."), ("-a", "x y")]
)
def test_name_that_leaves_the_cache_is_refused(tmp_path, owner, name):
    with pytest.raises(RepositoryError, match=re.escape(f"{owner}/{name} isn't an")):
        locator(tmp_path, "/{owner}/{name}").locate(RepoRef(owner=owner, name=name))


# --- B022 --------------------------------------------------------------------------------------------


def test_commit_only_under_a_pull_request_is_fetched_and_a_lost_one_is_not_replaced(upstream, tmp_path):
    root = upstream.commit({b"a": b"1"})
    found = locator(tmp_path).locate(REPO)
    nine = upstream.commit({b"a": b"9"}, parents=(root,), ref="refs/pull/9/head")
    loose = upstream.commit({b"a": b"8"}, parents=(root,), ref="refs/pull/8/head")
    upstream.git("update-ref", "-d", "refs/pull/8/head")
    url = f"file://{upstream.path}"
    assert not found.has(nine)
    assert fetch_commit(found, nine, url)
    assert found.resolve(nine) == nine
    upstream.git("config", "uploadpack.allowAnySHA1InWant", "true")
    assert fetch_commit(found, loose, url), "a server that serves any id serves this one"
    assert not fetch_commit(found, CommitSha("1" * 40), url)
    with pytest.raises(ObjectMissingError):
        found.resolve("1" * 40)


def test_commit_that_the_server_refuses_by_id_comes_with_its_pull_request(upstream, tmp_path):
    root = upstream.commit({b"a": b"1"})
    found = locator(tmp_path).locate(REPO)
    inner = upstream.commit({b"a": b"9"}, parents=(root,), ref="refs/pull/9/head")
    upstream.commit({b"a": b"10"}, parents=(inner,), ref="refs/pull/9/head")
    assert fetch_commit(found, inner, f"file://{upstream.path}")


def test_shallow_clone_of_ours_is_deepened_before_giving_up(upstream, tmp_path):
    commits = [upstream.commit({b"a": b"0"})]
    for n in range(4):
        commits.append(upstream.commit({b"a": b"%d" % n}, parents=(commits[-1],)))
    found = locator(tmp_path).locate(REPO)
    git(found.path, "fetch", "--quiet", "--depth=1", f"file://{upstream.path}", "refs/heads/main")
    git(found.path, "reflog", "expire", "--expire=now", "--all")
    git(found.path, "gc", "--quiet", "--prune=now")
    assert not found.has(commits[1])
    assert fetch_commit(found, commits[1], f"file://{upstream.path}")


def test_mirror_of_the_user_is_never_changed(upstream, tmp_path):
    root = upstream.commit({b"a": b"1"})
    git(tmp_path, "clone", "--quiet", "--bare", os.fspath(upstream.path), "mine")
    new = upstream.commit({b"a": b"2"}, parents=(root,))
    mine = Repository.open(tmp_path / "mine")
    before = {path: path.stat().st_mtime_ns for path in mine.path.rglob("*")}
    assert not fetch_commit(mine, new, f"file://{upstream.path}")
    assert {path: path.stat().st_mtime_ns for path in mine.path.rglob("*")} == before
