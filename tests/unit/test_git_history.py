"""Merged pull requests found in clones: numbers, base commits, reverts (edge cases B009, B021, B022)."""

from dataclasses import dataclass, field

import pytest
from git_building import REPO, START, Upstream, make_upstream
from hypothesis import given, settings
from hypothesis import strategies as st

from swequarry.errors import ObjectMissingError, RepositoryError
from swequarry.git.commitlog import LOG_FORMAT, parse_log
from swequarry.git.history import merged_pulls
from swequarry.git.netchanges import net_changes, parse_batches
from swequarry.git.subjects import merged_by_merge, merged_by_squash, reverted_commits, reverted_pulls
from swequarry.git.trees import TreeWorkbench
from swequarry.outcome import RejectCode
from swequarry.records import CommitSha, MergeKind


def numbered(**changed: str) -> bytes:
    """Twenty numbered lines, some replaced: `numbered(l3="new")`."""
    lines = [changed.get(f"l{number}", f"line {number}") for number in range(1, 21)]
    return "\n".join(lines).encode() + b"\n"


@dataclass
class Branch:
    """A branch that grows commit by commit; every commit states its one file `f.py`."""

    upstream: Upstream
    ref: str = "refs/heads/main"
    tip: CommitSha | None = None
    clock: int = START
    commits: list[CommitSha] = field(default_factory=list)

    def add(self, message: str, content: bytes, *more_parents: CommitSha) -> CommitSha:
        self.clock += 60
        parents = ((self.tip,) if self.tip else ()) + more_parents
        self.tip = self.upstream.commit(
            {b"f.py": content}, parents=parents, ref=self.ref, at=self.clock, message=message
        )
        self.commits.append(self.tip)
        return self.tip

    def fork(self, ref: str) -> "Branch":
        return Branch(self.upstream, ref=ref, tip=self.tip, clock=self.clock)


@pytest.fixture
def upstream(tmp_path):
    return make_upstream(tmp_path)


def pulls_of(upstream, branch=None):
    return {pull.record.number: pull for pull in merged_pulls(upstream.repository, REPO, branch).pulls}


def set_pull(upstream, number, sha):
    upstream.git("update-ref", f"refs/pull/{number}/head", sha)


# --- B021 --------------------------------------------------------------------------------------------


def three_copies(tmp_path):
    """One pull request of two commits, merged into three copies of main that moved on in between."""
    for kind in (MergeKind.MERGE, MergeKind.SQUASH, MergeKind.REBASE):
        folder = tmp_path / kind.value
        folder.mkdir()
        upstream = make_upstream(folder)
        main = Branch(upstream)
        main.add("c0", numbered())
        feat = main.fork("refs/heads/feat")
        first = feat.add("Change line 3", numbered(l3="three"))
        head = feat.add("Change line 5", numbered(l3="three", l5="five"))
        c1 = main.add("c1", numbered(l18="eighteen"))
        both = numbered(l3="three", l5="five", l18="eighteen")
        if kind is MergeKind.MERGE:
            main.add("Merge pull request #7 from me/feat\n\nChange two lines", both, head)
        elif kind is MergeKind.SQUASH:
            main.add("Change two lines (#7)\n\n* Change line 3\n\n* Change line 5", both)
        else:
            main.add("Change line 3", numbered(l3="three", l18="eighteen"))
            main.add("Change line 5", both)
        set_pull(upstream, 7, head)
        yield kind, upstream, c1, first


def test_base_is_the_same_and_the_change_too_under_merge_squash_and_rebase(tmp_path):
    patches = set()
    for kind, upstream, c1, _ in three_copies(tmp_path):
        pull = pulls_of(upstream)[7]
        assert pull.rejection is None
        assert pull.record.merge_kind is kind
        assert pull.record.base_commit == c1
        assert pull.record.merged_at is not None
        with TreeWorkbench(upstream.repository) as bench:
            patch = bench.diff(pull.base_tree, pull.merged_tree)
            assert bench.apply(pull.base_tree, patch) == pull.merged_tree
        patches.add(patch)
    (patch,) = patches
    assert patch.count(b"\n+") == 3  # two lines and the header
    assert b"eighteen" not in b"".join(line for line in patch.split(b"\n") if line.startswith((b"+", b"-")))


def test_rebase_without_a_pull_ref_is_not_guessed(tmp_path):
    for kind, upstream, _, _ in three_copies(tmp_path):
        upstream.git("update-ref", "-d", "refs/pull/7/head")
        assert (7 in pulls_of(upstream)) is (kind is not MergeKind.REBASE)


def test_rebase_that_changed_a_patch_is_flagged(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    feat = main.fork("refs/heads/feat")
    head = feat.add("Change line 3", numbered(l3="three"))
    main.add("c1", numbered(l2="two"))
    main.add("Change line 3", numbered(l2="two", l3="three!"))
    set_pull(upstream, 4, head)
    pull = pulls_of(upstream)[4]
    assert pull.record.merge_kind is MergeKind.REBASE
    assert "rebased_with_changes" in pull.flags


def test_one_commit_rebased_elsewhere_in_the_message_order_is_no_rebase(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    feat = main.fork("refs/heads/feat")
    feat.add("one", numbered(l1="1"))
    head = feat.add("two", numbered(l1="1", l2="2"))
    main.add("two", numbered(l2="2"))
    main.add("one", numbered(l1="1", l2="2"))
    set_pull(upstream, 4, head)
    history = merged_pulls(upstream.repository, REPO)
    assert history.pulls == ()
    assert history.untraced == (4,)


# --- recognising -------------------------------------------------------------------------------------


def test_pull_request_never_merged_is_untraced_not_a_task(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    set_pull(upstream, 3, main.fork("refs/heads/x").add("never merged", numbered(l1="x")))
    assert merged_pulls(upstream.repository, REPO).untraced == (3,)


def test_merge_commit_without_a_number_is_recognised_by_its_ref(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    head = main.fork("refs/heads/x").add("work", numbered(l1="x"))
    main.add("Merge branch 'x'", numbered(l1="x"), head)
    set_pull(upstream, 3, head)
    pull = pulls_of(upstream)[3]
    assert (pull.record.merge_kind, pull.flags) == (MergeKind.MERGE, ("found_by_ref",))


def test_number_of_an_issue_in_a_subject_is_no_pull_request(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    main.add("Fix the crash of (#12)", numbered(l1="x"))
    main.add("Real work (#3)", numbered(l2="x"))
    set_pull(upstream, 3, main.fork("refs/heads/x").add("w", numbered(l9="9")))
    assert set(pulls_of(upstream)) == {3}


def test_numbers_of_a_fork_are_not_ours(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    fork = main.fork("refs/heads/fork")
    theirs = fork.fork("refs/heads/theirs").add("their work", numbered(l1="x"))
    fork.add("Merge pull request #1 from them/x\n\nTheirs", numbered(l1="x"), theirs)
    main.add("Merge pull request #20 from fork/main\n\nOurs", numbered(l1="x"), fork.tip)
    set_pull(upstream, 20, fork.tip)
    set_pull(upstream, 1, main.fork("refs/heads/other").add("other", numbered(l7="7")))
    assert set(pulls_of(upstream)) == {20}


def test_pull_request_of_a_maintenance_branch_counts_once_it_reached_main(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    stable = main.fork("refs/heads/2.x")
    head = stable.fork("refs/heads/fix").add("fix", numbered(l1="x"))
    at = stable.add("Merge pull request #5 from me/fix\n\nFix it", numbered(l1="x"), head)
    set_pull(upstream, 5, head)
    assert pulls_of(upstream) == {}
    main.add("c1", numbered(l9="9"))
    main.add("Merge branch '2.x'", numbered(l1="x", l9="9"), stable.tip)
    pull = pulls_of(upstream)[5]
    assert pull.flags == ("other_branch",)
    assert pull.record.merge_commit == at
    assert pulls_of(upstream, "2.x")[5].flags == ()


def test_batch_of_a_bot_is_told_not_split_by_guess(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    one = main.fork("refs/heads/a").add("a", numbered(l1="x"))
    two = main.fork("refs/heads/b").add("b", numbered(l9="x"))
    main.add("Merge #1 #2\n\n1: a\n2: b", numbered(l1="x", l9="x"), one, two)
    found = pulls_of(upstream)
    assert {n: p.rejection.code for n, p in found.items()} == dict.fromkeys(
        (1, 2), RejectCode.MERGED_TOGETHER
    )


def test_pull_request_inside_another_is_told(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    stacked = main.fork("refs/heads/s")
    lower = stacked.add("lower", numbered(l1="x"))
    upper = stacked.add("upper", numbered(l1="x", l2="x"))
    main.add("Merge pull request #9 from me/upper\n\nBoth", numbered(l1="x", l2="x"), upper)
    set_pull(upstream, 8, lower)
    set_pull(upstream, 9, upper)
    found = pulls_of(upstream)
    assert found[9].rejection is None
    assert found[8].rejection.code is RejectCode.MERGED_TOGETHER


def test_fast_forward_has_a_base_only_where_a_test_merge_shows_it(upstream):
    main = Branch(upstream)
    c0 = main.add("c0", numbered())
    main.add("one", numbered(l1="x"))
    head = main.add("two", numbered(l1="x", l2="x"))
    set_pull(upstream, 6, head)
    assert pulls_of(upstream)[6].rejection.code is RejectCode.BASE_UNKNOWN
    test_merge = upstream.commit(
        {b"f.py": numbered(l1="x", l2="x")}, parents=(c0, head), ref="refs/pull/6/merge", message="m"
    )
    assert test_merge
    pull = pulls_of(upstream)[6]
    assert (pull.rejection, pull.record.base_commit, len(pull.record.commits)) == (None, c0, 2)


def test_one_entry_per_number_even_if_subjects_repeat_it(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    first = main.add("Fix (#3)", numbered(l1="x"))
    main.add("Forgotten part of the fix (#3)", numbered(l1="y"))
    history = merged_pulls(upstream.repository, REPO)
    assert [p.record.merge_commit for p in history.pulls] == [first]


def test_mention_in_passing_does_not_take_the_place_of_the_merge(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    main.add("Make room for it (#3)", numbered(l9="9"))
    head = main.fork("refs/heads/x").add("work", numbered(l9="9", l1="x"))
    merge = main.add("Merge pull request #3 from me/x\n\nIt", numbered(l9="9", l1="x"), head)
    assert pulls_of(upstream)[3].record.merge_commit == merge


def test_order_is_newest_first_and_repeatable(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    for number in (5, 2, 9):
        main.add(f"Work (#{number})", numbered(l1=str(number)))
    first, second = (merged_pulls(upstream.repository, REPO) for _ in range(2))
    assert [p.record.number for p in first.pulls] == [9, 2, 5]
    assert first == second


def test_base_cut_off_by_a_shallow_clone_is_unreachable_not_a_neighbour(upstream, tmp_path):
    main = Branch(upstream)
    main.add("c0", numbered())
    main.add("Old (#1)", numbered(l1="1"))
    main.add("New (#2)", numbered(l1="2"))
    target = tmp_path / "shallow.git"
    upstream.git("clone", "-q", "--bare", "--depth", "2", f"file://{upstream.path}", str(target))
    found = pulls_of(Upstream(target))
    assert found[1].rejection.code is RejectCode.BASE_UNREACHABLE
    assert found[2].rejection is None


def test_missing_branch_is_named(upstream):
    Branch(upstream).add("c0", numbered())
    with pytest.raises(RepositoryError, match="nowhere"):
        merged_pulls(upstream.repository, REPO, "nowhere")


def test_hostile_messages_and_names_do_not_end_the_walk(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    main.add("x\x01y\x01\x01 (#4)", numbered(l1="1"))
    main.add("", numbered(l1="2"))
    main.add("(#5)", numbered(l1="3"))
    main.add("Merge pull request #99999999999999999999 from x", numbered(l1="4"))
    main.add("Sprung über die Grenze ☕ (#6)", numbered(l1="5"))
    found = pulls_of(upstream)
    assert set(found) == {4, 5, 6}
    assert found[5].record.title is None
    assert found[6].record.title == "Sprung über die Grenze ☕"


# --- reverts -----------------------------------------------------------------------------------------


def test_reverted_pull_request_is_named_with_its_revert_and_its_second_try_stands(upstream):
    main = Branch(upstream)
    main.add("c1", numbered())
    c2 = main.add("Fix rounding (#90)", numbered(l1="x"))
    c3 = main.add(f'Revert "Fix rounding (#90)"\n\nThis reverts commit {c2}.', numbered())
    main.add("Fix rounding, take two (#95)", numbered(l1="x", l2="x"))
    found = pulls_of(upstream)
    assert found[90].rejection.code is RejectCode.REVERTED
    assert found[90].rejection.evidence == (f"reverted_by={c3}",)
    assert found[95].rejection is None


def test_revert_by_number_and_by_abbreviated_hash_count(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    main.add("One (#1)", numbered(l1="x"))
    two = main.add("Two (#2)", numbered(l1="x", l2="x"))
    main.add('Revert "One" (#3)\n\nReverts acme/widgets#1', numbered(l2="x"))
    main.add(f"Undo\n\nThis reverts commit {two[:9]}.", numbered())
    found = pulls_of(upstream)
    assert {n for n, p in found.items() if p.rejection} == {1, 2}
    assert "is_revert" in found[3].flags


def test_landing_again_by_reverting_the_revert_is_said(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    fix = main.add("Fix (#1)", numbered(l1="x"))
    undo = main.add(f'Revert "Fix (#1)"\n\nThis reverts commit {fix}.', numbered())
    redo = main.add(f'Revert "Revert "Fix (#1)""\n\nThis reverts commit {undo}.', numbered(l1="x"))
    evidence = pulls_of(upstream)[1].rejection.evidence
    assert evidence == (f"reverted_by={undo}", f"relanded_by={redo}")


def test_revert_within_the_pull_request_itself_is_none(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    feat = main.fork("refs/heads/x")
    wrong = feat.add("wrong way", numbered(l1="w"))
    feat.add(f"Back\n\nThis reverts commit {wrong}.", numbered())
    feat.add("right way", numbered(l2="r"))
    main.add("Merge pull request #4 from me/x\n\nFix", numbered(l2="r"), feat.tip)
    pull = pulls_of(upstream)[4]
    assert (pull.rejection, pull.flags) == (None, ())


def test_revert_of_one_of_several_commits_is_partial(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    feat = main.fork("refs/heads/x")
    one = feat.add("one", numbered(l1="1"))
    feat.add("two", numbered(l1="1", l2="2"))
    main.add("Merge pull request #4 from me/x\n\nFix", numbered(l1="1", l2="2"), feat.tip)
    main.add(f"Back\n\nThis reverts commit {one}.", numbered(l2="2"))
    pull = pulls_of(upstream)[4]
    assert pull.rejection is None
    assert pull.flags == ("partly_reverted",)


def test_reverted_merge_commit_takes_the_pull_request_back(upstream):
    main = Branch(upstream)
    main.add("c0", numbered())
    feat = main.fork("refs/heads/x")
    feat.add("one", numbered(l1="1"))
    feat.add("two", numbered(l1="1", l2="2"))
    merge = main.add("Merge pull request #4 from me/x\n\nFix", numbered(l1="1", l2="2"), feat.tip)
    main.add(f"Revert it\n\nThis reverts commit {merge}, reversing\nchanges made to abc.", numbered())
    assert pulls_of(upstream)[4].rejection.code is RejectCode.REVERTED


# --- words -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message, numbers, title",
    [
        ("Merge pull request #12 from a/b\n\nTitle\n\nMore", (12,), "Title"),
        ("Merge pull request #12", (12,), None),
        ("Auto merge of #7 - me:fix, r=you\n\nTitle", (7,), "Title"),
        ("Merge #7\n\n7: Title r=me", (7,), None),
        ("Merge #7 #8", (7, 8), None),
        ("Merge branch 'fix' into 'main'\n\nTitle\n\nSee merge request group/sub/proj!31", (31,), "Title"),
        ("Merged in me/repo/fix (pull request #36)\n\nTitle", (36,), "Title"),
        ("Merge branch 'pr/17'", (17,), None),
        ("Merge remote-tracking branch 'origin/pr/652'", (652,), None),
        ("Merge commit 'refs/pull/98/head' into main", (98,), None),
        ("Merged PR 123: Title", (123,), None),
        ("Title of the squash (#55)", (55,), "Title of the squash"),
    ],
)
def test_merge_messages_of_the_forges_are_read(message, numbers, title):
    mention = merged_by_merge(message)
    assert (mention.numbers, mention.title) == (numbers, title)


@pytest.mark.parametrize(
    "message",
    ["Merge branch 'main' into fix-12", "Merge pull request from GHSA-2g68-c3qc-8985", "Fix #12", "(12)", ""],
)
def test_other_messages_name_no_pull_request(message):
    assert merged_by_merge(message) is None


def test_last_number_of_a_squash_subject_is_the_pull_request():
    assert merged_by_squash("Backport fix (#12) (#15)").numbers == (15,)
    assert merged_by_squash("Fix (#12) for good") is None


def test_revert_words():
    assert reverted_commits("This reverts commit 0123abc and\nThis reverts commits 89abcdef0.") == (
        "0123abc",
        "89abcdef0",
    )
    assert reverted_pulls('Revert "Fix (#12)" (#13)\n\nReverts a/b#12') == (12,)
    assert reverted_pulls('Revert "Revert "Fix (#12)""') == ()


@settings(max_examples=200)
@given(st.text(alphabet="Merge pull request #(fixs)!'/\n0123456789\x00\x01é", max_size=200))
def test_reading_messages_never_raises(message):
    merged_by_merge(message)
    merged_by_squash(message)
    reverted_pulls(message)


@given(st.binary(max_size=300))
def test_reading_a_damaged_log_never_raises_for_text(noise):
    head = b"a" * 40 + b"\x01" + b"b" * 40 + b"\x01\x011\x012\x01"
    for commit in parse_log([head + noise.replace(b"\x00", b"") + b"\x00"]):
        assert commit.sha == "a" * 40
    assert LOG_FORMAT.count("%x01") == 7


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=4), st.integers(1, 90))
def test_a_log_cut_anywhere_gives_the_same_commits(messages, size):
    head = b"\x01".join([b"a" * 40, b"b" * 40, b"c" * 40 + b" " + b"d" * 40, b"5", b"", b"n\xff", b"e", b""])
    output = b"\0".join(head + message.replace(b"\0", b"") for message in messages)
    whole = list(parse_log([output]))
    assert list(parse_log(output[at : at + size] for at in range(0, len(output), size))) == whole
    assert [c.position for c in whole] == list(range(len(messages)))
    assert [c.message for c in whole] == [
        m.replace(b"\0", b"").decode("utf-8", "backslashreplace") for m in messages
    ]


# --- net changes -------------------------------------------------------------------------------------


def test_net_changes_of_many_pairs_equal_those_of_each(upstream):
    trees = [
        upstream.tree({b"a.py": b"1\n"}),
        upstream.tree({b"a.py": b"2\n", b"odd :\nname\xff": b"x"}),
        upstream.tree({b":100644 000000": b"y"}),
    ]
    pairs = [(a, b) for a in trees for b in trees]
    with TreeWorkbench(upstream.repository) as bench:
        single = [bench.changes(*pair) for pair in pairs]
    assert list(net_changes(upstream.repository, pairs)) == single
    assert list(net_changes(upstream.repository, [])) == []


def test_output_of_many_pairs_is_read_alike_wherever_it_is_cut(upstream):
    trees = [upstream.tree({b"a": b"1"}), upstream.tree({b"a": b"2", b"n\n:1 2\n": b"x"}), upstream.tree({})]
    asked = [f"{a} {b}" for a in trees for b in trees]
    stdin = "".join(f"{pair}\n" for pair in asked).encode()
    argv = ["diff-tree", "--stdin", "-r", "-z", "--raw", "--no-abbrev", "--no-renames"]
    output = upstream.repository.git(argv, stdin=stdin)
    whole = list(parse_batches([output], asked))
    assert len(whole) == 9
    for size in (1, 2, 7, 50, 101):
        cut = (output[at : at + size] for at in range(0, len(output), size))
        assert list(parse_batches(cut, asked)) == whole


@pytest.mark.parametrize("place", [0, 1, 2])
def test_changes_of_a_missing_tree_are_an_error_never_those_of_another_pair(upstream, place):
    """Git passes over a pair that it can't read, and ends well."""
    old, new = upstream.tree({b"a.py": b"1\n"}), upstream.tree({b"a.py": b"2\n"})
    pairs = [(old, new), (new, old)]
    pairs.insert(place, (old, "0" * 39 + "1"))
    seen = []
    with pytest.raises(ObjectMissingError):
        seen.extend(net_changes(upstream.repository, pairs))
    assert len(seen) <= place


def test_reading_of_changes_may_be_given_up(upstream):
    old, new = upstream.tree({b"a.py": b"1\n"}), upstream.tree({b"a.py": b"2\n"})
    changes = net_changes(upstream.repository, [(old, new)] * 5000)
    assert next(changes)[0].paths == (b"a.py",)
    changes.close()


# --- releases (B006) ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source, brings",
    [("acme/develop", (60,)), ("ACME/release-2", (60,)), ("someone/develop", ())],
)
def test_a_release_names_what_it_brings_and_a_fork_brings_nothing_of_ours(upstream, source, brings):
    start = upstream.commit({b"a": b"0"}, parents=(), at=START, message="start")
    work = upstream.commit({b"a": b"1"}, parents=(start,), at=START + 1, message="work")
    inner = upstream.commit(
        {b"a": b"1"}, parents=(start, work), at=START + 2, message="Merge pull request #60 from x/fix\n\nFix"
    )
    outer = upstream.commit(
        {b"a": b"1"},
        parents=(start, inner),
        at=START + 3,
        message=f"Merge pull request #61 from {source}\n\nRelease",
    )
    found = pulls_of(upstream, outer)
    assert (found[61].rejection is not None) is bool(brings)
    assert (60 in found) is bool(brings)
    if brings:
        assert found[61].rejection.evidence == ("brings=#60",)
        assert found[60].record.base_commit == start
        assert found[60].rejection is None


def test_a_branch_that_began_on_an_older_line_brings_nothing_that_was_there(upstream):
    start = upstream.commit({b"a": b"0"}, parents=(), at=START, message="start")
    work = upstream.commit({b"a": b"1"}, parents=(start,), at=START + 1, message="work")
    old = upstream.commit(
        {b"a": b"1"}, parents=(start, work), at=START + 2, message="Merge pull request #60 from x/fix\n\nFix"
    )
    main = upstream.commit({b"a": b"1"}, parents=(start, old), at=START + 3, message="Merge branch '1.x'")
    more = upstream.commit({b"a": b"2"}, parents=(old,), at=START + 4, message="more")
    tip = upstream.commit(
        {b"a": b"2"},
        parents=(main, more),
        at=START + 5,
        message="Merge pull request #61 from acme/more\n\nMore",
    )
    found = pulls_of(upstream, tip)
    assert found[61].rejection is None
    assert 60 in found
