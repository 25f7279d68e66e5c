"""A base that holds another task's fix is found, however the fix came there; one that doesn't isn't accused."""

import random

import pytest
from git_building import Upstream, make_upstream
from hypothesis import given, settings
from hypothesis import strategies as st

from swequarry.errors import GitError
from swequarry.git.fixlines import FixLines, read_fix_lines
from swequarry.git.heldfixes import Fix, Holder, _merged_before, find_held_fixes, root_commits
from swequarry.git.store import object_reader, store_view
from swequarry.git.trees import TreeWorkbench
from swequarry.records import CommitSha

OLD = b"def add(left, right):\n    return left - right\n"
NEW = b"def add(left, right):\n    total = left + right\n    return rounded_to_cents(total)\n"
NOTHING = FixLines(lines=frozenset(), paths=frozenset())


@pytest.fixture
def upstream(tmp_path) -> Upstream:
    return make_upstream(tmp_path)


def lines_of(upstream: Upstream, base: str, changed: str) -> FixLines:
    repository = upstream.repository
    with TreeWorkbench(repository) as bench:
        patch = bench.diff(repository.tree_of(base), repository.tree_of(changed))
    with store_view(repository.objects) as place, object_reader(place) as reader:
        return read_fix_lines(reader, place, base, patch)


def held(upstream: Upstream, base: str, fix: Fix, own: frozenset[bytes] = frozenset()) -> list[str]:
    holder = Holder(key="other", base=CommitSha(base), own=own)
    return [one.rule for one in find_held_fixes(upstream.repository, [holder], [fix]).found]


def test_merge_below_the_base_is_held_though_its_lines_are_gone_again(upstream):
    start = upstream.commit({b"a.py": OLD})
    merged = upstream.commit({b"a.py": NEW}, parents=(start,))
    undone = upstream.commit({b"a.py": OLD}, parents=(merged,))
    fix = Fix(key="fix", merge=merged, lines=lines_of(upstream, start, merged))
    assert held(upstream, undone, fix) == ["ancestor"]
    assert held(upstream, merged, fix) == ["ancestor"]
    assert held(upstream, start, fix) == []


def test_merge_on_another_branch_is_not_below_the_base(upstream):
    start = upstream.commit({b"a.py": OLD})
    merged = upstream.commit({b"a.py": NEW}, parents=(start,), ref="refs/heads/next")
    beside = upstream.commit({b"a.py": OLD, b"b.py": b"x = 1\n"}, parents=(start,))
    fix = Fix(key="fix", merge=merged, lines=lines_of(upstream, start, merged))
    assert held(upstream, beside, fix) == []


def test_cherry_picked_fix_without_a_known_merge_is_seen_by_its_lines_in_whatever_file(upstream):
    start = upstream.commit({b"a.py": OLD})
    merged = upstream.commit({b"a.py": NEW}, parents=(start,), ref="refs/heads/next")
    picked = upstream.commit({b"moved/b.py": NEW.replace(b"    ", b"\t")}, parents=(start,))
    fix = Fix(key="fix", merge=None, lines=lines_of(upstream, start, merged))
    assert held(upstream, picked, fix) == ["lines"]


def test_backport_is_held_by_its_own_fix(upstream):
    start = upstream.commit({b"a.py": OLD})
    merged = upstream.commit({b"a.py": NEW}, parents=(start,))
    lines = lines_of(upstream, start, merged)
    fix = Fix(key="fix", merge=merged, lines=lines)
    assert held(upstream, start, fix, own=lines.lines) == ["lines"]


def test_short_lines_accuse_only_the_same_file(upstream):
    start = upstream.commit({b"a.py": b"x = 1\n"})
    merged = upstream.commit({b"a.py": b"x = 2\n"}, parents=(start,))
    fix = Fix(key="fix", merge=None, lines=lines_of(upstream, start, merged))
    assert not fix.lines.long
    other = upstream.commit({b"a.py": b"x = 1\n", b"b.py": b"x = 2\n"}, parents=(start,))
    assert held(upstream, other, fix) == []
    same = upstream.commit({b"a.py": b"x = 2\ny = 3\n"}, parents=(start,))
    assert held(upstream, same, fix) == ["lines"]


def test_half_of_the_lines_and_documentation_are_no_fix(upstream):
    start = upstream.commit({b"a.py": OLD})
    merged = upstream.commit({b"a.py": NEW}, parents=(start,))
    fix = Fix(key="fix", merge=None, lines=lines_of(upstream, start, merged))
    half = NEW.replace(b"    return rounded_to_cents(total)\n", b"    return total\n")
    base = upstream.commit({b"a.py": half, b"docs/a.rst": NEW}, parents=(start,))
    assert held(upstream, base, fix) == []


def test_own_fix_is_no_others(upstream):
    start = upstream.commit({b"a.py": NEW})
    holder = Holder(key="fix", base=start)
    fix = Fix(key="fix", merge=start, lines=NOTHING)
    assert find_held_fixes(upstream.repository, [holder], [fix]).found == ()


def test_absent_base_is_an_error_and_not_an_empty_answer(upstream):
    upstream.commit({b"a.py": OLD})
    holder = Holder(key="other", base=CommitSha("1" * 40))
    with pytest.raises(GitError):
        find_held_fixes(upstream.repository, [holder], [Fix(key="fix", merge=None, lines=NOTHING)])


def test_repositories_of_one_root_are_told_by_it(upstream):
    start = upstream.commit({b"a.py": OLD})
    later = upstream.commit({b"a.py": NEW}, parents=(start,))
    assert root_commits(upstream.repository, [later]) == {start}


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_ancestors_are_those_that_git_names_in_any_history(tmp_path_factory, seed):
    chance = random.Random(seed)
    upstream = make_upstream(tmp_path_factory.mktemp("any"))
    commits: list[str] = []
    for number in range(9):
        parents = tuple(chance.sample(commits, min(len(commits), chance.choice((0, 1, 1, 2)))))
        commits.append(upstream.commit({b"n": b"%d" % number}, parents=parents, ref=f"refs/heads/b{number}"))
    bases = chance.sample(commits, 3)
    found = _merged_before(upstream.repository, bases, commits[::2])
    for base in bases:
        reached = set(upstream.git("rev-list", base).decode().split())
        assert found[base] == reached & set(commits[::2])
