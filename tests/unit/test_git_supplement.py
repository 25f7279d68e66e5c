"""A store beside a partial mirror: what it adds is seen, and the mirror stays as it is."""

from pathlib import Path

import pytest
from git_building import REPO, Upstream, make_upstream

from swequarry.git.repository import Repository
from swequarry.git.snapshot import make_snapshot
from swequarry.git.supplement import Supplement


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    return make_upstream(tmp_path)


def lose(repository: Repository, sha: str) -> None:
    (repository.objects / sha[:2] / sha[2:]).unlink()


def test_a_lost_file_comes_back_everywhere_but_in_the_mirror(upstream: Upstream, tmp_path: Path) -> None:
    commit = upstream.commit({b"kept": b"1", b"lost.bin": b"large"})
    repository = Repository.open(upstream.path)
    sha = next(e.sha for e in repository.list_tree(commit) if e.path == b"lost.bin")
    lose(repository, sha)
    supplement = Supplement(tmp_path / "beside" / "store", repository)
    assert supplement.complete() == repository
    assert supplement.add(b"large") == sha
    completed = supplement.complete()
    assert completed.missing_blobs(completed.tree_of(commit)) == ()
    assert completed.read_blob(sha) == b"large"
    snapshot = make_snapshot(completed, commit, tmp_path / "made", REPO)
    assert (tmp_path / "made" / "lost.bin").read_bytes() == b"large"
    assert snapshot.audit.findings == ()
    assert snapshot.audit.missing_blobs == ()
    assert not repository.has(sha)


def test_two_makers_of_one_store_both_succeed(upstream: Upstream, tmp_path: Path) -> None:
    upstream.commit({b"a": b"1"})
    repository = Repository.open(upstream.path)
    first, second = (Supplement(tmp_path / "store", repository) for _ in range(2))
    ids = [first.add(b"x")]
    second._make()  # as one does that looked before the first was there
    ids.append(second.add(b"y"))
    assert all(first.complete().has(sha) for sha in ids)
