"""The fix that lies in the base's own past isn't given away with the history, and other history stays."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from git_building import REPO, Files, Upstream, git, make_upstream

from swequarry.git.ancestors import find_fix
from swequarry.git.repository import Repository
from swequarry.git.snapshot import make_snapshot
from swequarry.git.store import store_view
from swequarry.git.trees import TreeWorkbench
from swequarry.records import CommitSha, FoundFix, Snapshot

SECRET = "the release with the fix"
HEAD = b"import os\n\n\ndef read(path):\n    with open(path) as stream:\n"
BROKEN = HEAD + b"        return stream.read()\n"
FIXED = (
    HEAD
    + b"        text = stream.read().removeprefix(MARK)\n"
    + b"        check_that_nothing_is_left(stream)\n"
    + b"        return text.replace(LONG_SEPARATOR, SHORT)\n"
)


@dataclass
class Story:
    """A line of commits in an upstream; the last one is the base."""

    upstream: Upstream
    commits: list[CommitSha]

    def then(self, files: Files, *, also: tuple[str, ...] = ()) -> "Story":
        parents = (*self.commits[-1:], *also)
        return Story(self.upstream, [*self.commits, self.upstream.commit(files, parents=parents)])

    def patch(self, fixed: Files) -> bytes:
        tree = self.upstream.tree(fixed)
        with TreeWorkbench(self.upstream.repository) as bench:
            return bench.diff(self.upstream.repository.tree_of(self.commits[-1]), tree)

    def find(self, fixed: Files) -> FoundFix | None:
        with store_view(self.upstream.repository.objects) as place:
            return find_fix(place, self.commits[-1], self.patch(fixed)).found

    def snapshot(self, fixed: Files, made: Path, history: int | str = "full") -> Snapshot:
        repository, base = self.upstream.repository, self.commits[-1]
        return make_snapshot(repository, base, made, REPO, history, fix=self.patch(fixed))  # type: ignore[arg-type]


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(make_upstream(tmp_path), [])


def test_a_fix_that_was_reverted_is_not_in_the_snapshot(story: Story, tmp_path: Path) -> None:
    told = story.then({b"a.py": BROKEN}).then({b"a.py": FIXED}).then({b"a.py": BROKEN})
    snapshot = told.snapshot({b"a.py": FIXED}, tmp_path / "made")
    found = FoundFix(rule="lines", commit=told.commits[1], path="a.py", lines_found=3, lines_added=3)
    assert snapshot.fix_in_ancestors == found
    assert snapshot.history == "none"
    assert snapshot.audit.findings == ()
    assert git(tmp_path / "made", "rev-list", "--count", "HEAD") == b"1\n"
    assert b"removeprefix" not in git(tmp_path / "made", "cat-file", "--batch-all-objects", "--batch")


@pytest.mark.parametrize("annotated", [True, False])
def test_a_version_from_tags_survives_the_loss_of_history(
    story: Story, tmp_path: Path, annotated: bool
) -> None:
    told = story.then({b"a.py": BROKEN}).then({b"a.py": FIXED}).then({b"a.py": BROKEN})
    note = ("-a", "-m", SECRET) if annotated else ()
    story.upstream.git("tag", *note, "v1.0", told.commits[1])
    story.upstream.git("tag", "latest", told.commits[2])
    later = story.upstream.commit({b"a.py": FIXED}, parents=(told.commits[-1],), ref="refs/heads/next")
    story.upstream.git("tag", "v1.1", later)
    snapshot = told.snapshot({b"a.py": FIXED}, tmp_path / "made")
    assert (snapshot.history, snapshot.tags) == ("none", ("latest", "v1.0"))
    assert snapshot.audit.findings == ()
    assert git(tmp_path / "made", "describe", "--tags", "--match=v*") == b"v1.0\n"
    assert SECRET.encode() not in git(tmp_path / "made", "cat-file", "--batch-all-objects", "--batch")


def test_history_without_the_fix_stays_and_the_record_is_as_before(story: Story, tmp_path: Path) -> None:
    told = story.then({b"a.py": b"old\n"}).then({b"a.py": HEAD}).then({b"a.py": BROKEN})
    searched = told.snapshot({b"a.py": FIXED}, tmp_path / "searched")
    plain = make_snapshot(story.upstream.repository, told.commits[-1], tmp_path / "plain", REPO)
    assert searched.content_hash() == plain.content_hash()
    assert searched.to_json().keys() == {"repo", "base_commit", "base_tree", "history", "audit"}
    assert git(tmp_path / "searched", "rev-list", "--count", "HEAD") == b"3\n"


@pytest.mark.parametrize(
    "attempt",
    [
        FIXED.replace(b"        ", b"\t\t").replace(b"\n", b" \r\n"),
        BROKEN + FIXED.replace(HEAD, b"").replace(b"check_that_nothing_is_left", b"check"),
    ],
    ids=["other white space", "two of three lines"],
)
def test_an_earlier_attempt_counts(story: Story, attempt: bytes) -> None:
    told = story.then({b"a.py": BROKEN}).then({b"a.py": attempt}).then({b"a.py": BROKEN})
    found = told.find({b"a.py": FIXED})
    assert found is not None
    assert found.commit == told.commits[1]


def test_a_minority_of_common_lines_forces_nothing(story: Story) -> None:
    one = HEAD + b"        check_that_nothing_is_left(stream)\n"
    told = story.then({b"a.py": one}).then({b"a.py": BROKEN})
    assert told.find({b"a.py": FIXED}) is None


def test_lines_that_the_base_has_elsewhere_are_not_the_fix(story: Story) -> None:
    files = {b"a.py": BROKEN, b"b.py": FIXED}
    told = story.then({b"a.py": FIXED, b"b.py": b"1\n"}).then(files)
    moved = {b"a.py": FIXED, b"b.py": b"from a import read\n"}
    assert told.find(moved) is None


def test_a_fix_on_a_side_branch_that_the_merge_dropped_is_found(story: Story) -> None:
    root = story.then({b"a.py": BROKEN})
    side = story.upstream.commit({b"a.py": FIXED}, parents=(root.commits[-1],), ref="refs/heads/side")
    undone = story.upstream.commit({b"a.py": BROKEN, b"x": b""}, parents=(side,), ref="refs/heads/side")
    told = root.then({b"a.py": BROKEN, b"y": b""}).then(
        {b"a.py": BROKEN, b"x": b"", b"y": b""}, also=(undone,)
    )
    found = told.find({b"a.py": FIXED})
    assert found is not None
    assert found.commit == side


def test_a_fix_that_only_a_merge_brought_is_found(story: Story) -> None:
    root = story.then({b"a.py": BROKEN})
    side = story.upstream.commit(
        {b"a.py": BROKEN, b"x": b""}, parents=(root.commits[-1],), ref="refs/heads/s"
    )
    told = root.then({b"a.py": BROKEN, b"y": b""}).then({b"a.py": FIXED, b"x": b""}, also=(side,))
    found = told.then({b"a.py": BROKEN}).find({b"a.py": FIXED})
    assert found is not None
    assert found.commit == told.commits[-1]


def test_former_names_of_a_file_are_searched(story: Story) -> None:
    told = story.then({b"a.py": BROKEN}).then({b"a.py": FIXED}).then({b"a.py": BROKEN})
    told = told.then({b"lib/b.py": BROKEN}).then({b"src/lib/c.py": BROKEN + b"# more\n"})
    found = told.find({b"src/lib/c.py": FIXED + b"# more\n"})
    assert found is not None
    assert (found.commit, found.path) == (told.commits[1], "a.py")


def test_a_new_file_that_was_there_before_is_found(story: Story) -> None:
    told = story.then({b"a.py": BROKEN}).then({b"a.py": BROKEN, b"new.py": FIXED}).then({b"a.py": BROKEN})
    assert told.find({b"a.py": BROKEN, b"new.py": FIXED}) is not None


def test_lines_of_all_files_count_together(story: Story) -> None:
    fixed = {b"a.py": FIXED, b"b.py": b"def another_function_to_add(): ...\n"}
    base = {b"a.py": BROKEN, b"b.py": b"\n"}
    only_b = story.then({**base, b"b.py": fixed[b"b.py"]}).then(base)
    assert only_b.find(fixed) is None
    told = only_b.then({**base, b"a.py": FIXED}).then(base)
    found = told.find(fixed)
    assert found is not None
    assert (found.path, found.lines_found, found.lines_added) == ("a.py", 4, 4)


@pytest.mark.parametrize("rule", ["patch-id", "reverse-patch-id"])
def test_a_fix_without_distinctive_lines_is_known_by_its_patch(story: Story, rule: str) -> None:
    above, below = b"a = 1\n" + b"x = 1\n" * 9, b"y = 2\n" * 9
    broken, fixed = above + b"a = 1\n" + below, above + below
    base: Files = {b"a.py": broken, b"tests/test_a.py": b""}
    if rule == "patch-id":
        told = story.then(base).then({b"a.py": fixed, b"tests/test_a.py": b"1"})
    else:
        told = story.then({**base, b"a.py": fixed})
    told = told.then({**base, b"z": b""})
    found = told.find({**base, b"a.py": fixed})
    assert found is not None
    assert (found.rule, found.commit) == (rule, told.commits[1])
    assert told.find({**base, b"a.py": broken.removeprefix(b"a = 1\n")}) is None, "another line of that text"


def test_short_lines_count_where_there_are_no_others(story: Story) -> None:
    wrong, right = b"def add(a, b):\n    return a - b\n", b"def add(a, b):\n    return a + b\n"
    told = story.then({b"a.py": wrong}).then({b"a.py": right + b"# and more\n"}).then({b"a.py": wrong})
    found = told.find({b"a.py": right})
    assert found is not None
    assert (found.rule, found.commit) == ("lines", told.commits[1])
    assert told.find({b"a.py": wrong.replace(b"-", b"*")}) is None


def test_documentation_gives_no_hit(story: Story) -> None:
    news = b"- Reading a file no longer leaves anything behind.\n" * 3
    told = story.then({b"a.py": BROKEN, b"CHANGES.rst": news}).then({b"a.py": BROKEN, b"CHANGES.rst": b""})
    assert told.find({b"a.py": BROKEN.replace(b"os", b"io"), b"CHANGES.rst": news}) is None


def test_ancestors_beyond_the_asked_depth_are_not_searched(story: Story, tmp_path: Path) -> None:
    told = story.then({b"a.py": FIXED}).then({b"a.py": BROKEN})
    for n in range(4):
        told = told.then({b"a.py": BROKEN, b"n": b"%d" % n})
    snapshot = told.snapshot({b"a.py": FIXED, b"n": b"3"}, tmp_path / "made", 3)
    assert (snapshot.history, snapshot.fix_in_ancestors) == ("3", None)
    whole = told.snapshot({b"a.py": FIXED, b"n": b"3"}, tmp_path / "whole", 6)
    assert whole.history == "none"


def test_versions_that_a_partial_mirror_lacks_are_named_and_break_nothing(
    story: Story, tmp_path: Path
) -> None:
    told = story.then({b"a.py": BROKEN}).then({b"a.py": FIXED, b"b": b"1"}).then({b"a.py": BROKEN})
    patch = told.patch({b"a.py": FIXED})
    lost = story.upstream.git("rev-parse", f"{told.commits[1]}:a.py").decode().strip()
    (story.upstream.path / "objects" / lost[:2] / lost[2:]).unlink(missing_ok=True)
    repository = Repository.open(story.upstream.path)
    assert not repository.has(lost)
    snapshot = make_snapshot(repository, told.commits[-1], tmp_path / "made", REPO, fix=patch)
    assert snapshot.fix_in_ancestors is None
    assert snapshot.unread == ("a.py",)
    assert snapshot.history == "full"
    assert Snapshot.from_json(snapshot.to_json()) == snapshot
