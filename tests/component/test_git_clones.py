"""Our clones: without blobs where wanted, within a budget, and never removed while in use."""

import os

import pytest
from git_building import git, make_upstream

from swequarry.errors import ObjectMissingError, RepositoryError
from swequarry.git.clones import is_partial, refs_of
from swequarry.git.mirrors import MirrorLocator
from swequarry.records import RepoRef


@pytest.fixture
def upstreams(tmp_path):
    for name in ("a+one.git", "a+two.git", "a+three.git"):
        made = make_upstream(tmp_path, name)
        made.commit({b"f.txt": os.urandom(300_000), b"LICENSE": b"MIT"}, message=name)
        for setting in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
            git(made.path, "config", setting, "true")
    return tmp_path


def locator(folder, **more) -> MirrorLocator:
    return MirrorLocator(
        template=None, url=f"file://{folder}/{{owner}}+{{name}}.git", cache=folder / "cache", **more
    )


def repo(name: str) -> RepoRef:
    return RepoRef(owner="a", name=name)


def test_clone_without_blobs_is_completed_on_demand_and_only_then(upstreams):
    found = locator(upstreams, partial=True)
    repository = found.locate(repo("one"))
    assert is_partial(repository)
    tree = repository.tree_of("HEAD")
    absent = repository.missing_blobs(tree)
    assert len(absent) == 2
    with pytest.raises(ObjectMissingError):
        repository.read_blob(absent[0].sha)
    wanted = next(entry for entry in absent if entry.path == b"LICENSE")
    assert found.complete(repository, [wanted.sha])
    assert repository.read_blob(wanted.sha) == b"MIT"
    assert [entry.path for entry in repository.missing_blobs(tree)] == [b"f.txt"]
    assert not found.complete(repository, [wanted.sha])


def test_whole_clone_needs_no_completion(upstreams):
    found = locator(upstreams)
    repository = found.locate(repo("one"))
    assert repository.missing_blobs(repository.tree_of("HEAD")) == ()
    assert not found.complete(repository, ["0" * 40])


def test_clone_that_was_used_longest_ago_goes_and_leaves_its_refs(upstreams):
    found = locator(upstreams, budget_bytes=800_000)
    refs = refs_of(found.locate(repo("one")))
    found.clones.release()
    os.utime(upstreams / "cache.use" / "a+one.lock", (1, 1))
    for name in ("two", "three"):
        found.locate(repo(name))
        found.clones.release()
    left = sorted(path.name for path in (upstreams / "cache").glob("*.git"))
    assert left == ["a+three.git", "a+two.git"]
    assert found.refs(repo("one")) == refs
    assert sorted(path.name for path in (upstreams / "cache").glob("*.git")) == left
    assert refs_of(found.locate(repo("one"))) == refs


def test_clone_in_use_stays_whatever_the_budget(upstreams):
    mine, other = locator(upstreams, budget_bytes=1), locator(upstreams, budget_bytes=1)
    one = mine.locate(repo("one"))
    two = other.locate(repo("two"))
    assert one.path.exists()
    assert two.path.exists()
    other.clones.release()
    mine.locate(repo("three"))
    assert one.path.exists()
    assert not two.path.exists()


def test_mirror_of_the_user_is_never_removed(upstreams):
    found = MirrorLocator(
        template=f"{upstreams}/{{owner}}+{{name}}.git", url="", cache=upstreams, budget_bytes=1
    )
    found.locate(repo("one"))
    assert found.clones.make_room() == ()
    assert (upstreams / "a+two.git").exists()


def test_absent_upstream_says_so_and_leaves_nothing(upstreams):
    with pytest.raises(RepositoryError, match="can't be cloned"):
        locator(upstreams, partial=True).locate(repo("nowhere"))
    assert list((upstreams / "cache").glob("*.git")) == []
