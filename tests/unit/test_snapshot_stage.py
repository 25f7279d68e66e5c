"""The stage `snapshot` hands the fix to the search, and never passes another snapshot off as the stored one."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from git_building import REPO, make_upstream
from task_factory import Blobs, make_task

from swequarry.errors import SandboxError
from swequarry.git.mirrors import MirrorLocator
from swequarry.git.trees import TreeWorkbench
from swequarry.pipeline.stages.snapshot import base_world, take
from swequarry.pipeline.stages.worlds import base_key
from swequarry.records import Candidate

BROKEN = b"def read(stream):\n    return stream.read()\n"
FIXED = b"def read(stream):\n    return stream.read().removeprefix(MARK)\n"


@dataclass
class Worlds:
    """A backend that only keeps which worlds were stored."""

    name: str = "fake"
    keys: set[str] = field(default_factory=set)

    def import_tree(self, tree: Path, key: str) -> None:
        assert (tree / ".git").is_dir()
        self.keys.add(key)

    def has_world(self, key: str) -> bool:
        return key in self.keys


@pytest.fixture
def known(tmp_path: Path) -> tuple[Any, Candidate]:
    upstream = make_upstream(tmp_path)
    commits: list[Any] = []
    for text in (BROKEN, FIXED, BROKEN):
        commits.append(upstream.commit({b"a.py": text}, parents=tuple(commits[-1:])))
    base = upstream.repository.tree_of(commits[-1])
    with TreeWorkbench(upstream.repository) as bench:
        gold = bench.diff(base, upstream.tree({b"a.py": FIXED}))
    blobs = Blobs()
    fields = {"base_commit": commits[-1], "base_tree": base}
    candidate = make_task(blobs, repo=REPO, gold=gold, candidate=fields).candidate
    house = SimpleNamespace(
        settings=SimpleNamespace(history="full"),
        workspace=SimpleNamespace(cache=tmp_path / "cache", blobs=blobs),
        backend=Worlds(),
        locator=MirrorLocator(template=None, url="", cache=tmp_path / "mirrors"),
        repository=lambda _: upstream.repository,
    )
    return house, candidate


def test_the_gold_patch_is_searched_in_the_ancestors(known: tuple[Any, Candidate]) -> None:
    house, candidate = known
    snapshot = take(house, candidate)
    assert snapshot.history == "none"
    assert snapshot.fix_in_ancestors is not None
    assert house.backend.keys == {base_key(snapshot)}


def test_a_snapshot_that_comes_out_differently_is_no_silent_change(known: tuple[Any, Candidate]) -> None:
    house, candidate = known
    snapshot = take(house, candidate)
    house.backend.keys.clear()
    assert base_world(house, candidate, snapshot).key == base_key(snapshot)
    other = replace(snapshot, submodules=("vendor",))
    with pytest.raises(SandboxError, match="can't be made again as it was"):
        base_world(house, candidate, other)
