import random
import subprocess
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swequarry.git.patches import parse_patch
from swequarry.records import WrongFixKind
from swequarry.syntax.edits import ByteEdit, edited
from swequarry.verify.mutants import mutants
from swequarry.verify.mutation_diff import ChangedFile, readable_patch, split_lines
from swequarry.verify.mutation_equal import is_inert, same_program
from swequarry.verify.mutation_fixes import Attempt, FixLimits, spread, wrong_fixes

SOURCE = (
    dedent(
        '''
    """Sums."""
    import logging

    log = logging.getLogger(__name__)

    def label(amount: int = 1, unit="EUR"):
        """Say an amount."""
        if amount < 0 and unit:
            log.info("debt of %s", amount)
            raise ValueError("no debts of %s" % amount)
        names = [n for n in range(3) if n is not None]
        self.names[0] = names[1:amount]
        save(amount, key=True)
        while not names:
            continue
        return -amount * 2 if amount >= 10 else "%d %s" % (amount, unit)
    '''
    )
    .lstrip()
    .encode()
)
ALL = range(1, SOURCE.count(b"\n") + 1)


def changed(old: bytes | None, new: bytes | None, path: bytes = b"toy/money.py", **more) -> ChangedFile:
    patch = readable_patch(path, old, new)
    return ChangedFile(
        path=path,
        old=old,
        new=new,
        old_path=None if old is None else path,
        hunks=parse_patch(patch)[0].hunks,
        **more,
    )


def lines_of(text: bytes, *needles: bytes) -> list[int]:
    return [
        n for n, line in enumerate(text.split(b"\n"), start=1) if any(needle in line for needle in needles)
    ]


@given(st.sets(st.sampled_from(list(ALL))))
@settings(max_examples=60, deadline=None)
def test_mutant_never_touches_a_line_that_gold_didnt_write(lines):
    before = split_lines(SOURCE)
    for mutant in mutants(SOURCE, lines):
        after = split_lines(mutant.data)
        moved = len(before) - len(after)
        first = next(n for n, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]) + 1
        assert first in lines
        assert mutant.line == first
        last = next(n for n in range(len(after)) if before[-1 - n] != after[-1 - n])
        assert set(range(first, len(before) - last + 1)) <= set(lines), (mutant, moved)


def test_mutant_is_another_source_that_parses():
    made = mutants(SOURCE, ALL)
    assert len({m.data for m in made} | {SOURCE}) == len(made) + 1
    for mutant in made:
        compile(mutant.data, "mutant", "exec")


def test_no_operator_is_forgotten():
    assert {m.operator for m in mutants(SOURCE, ALL)} >= {
        "comparison_boundary", "comparison_negated", "condition_negated", "connective", "constant", "string", "return",
        "arithmetic", "argument_removed", "call_removed", "raise_removed", "assignment_removed", "slice", "jump",
    }  # fmt: skip


def test_docstring_and_annotation_arent_mutated():
    made = mutants(b'def f(a: "text", b: int = None) -> "text":\n    """Doc."""\n', [1, 2])
    assert made == []


def test_log_line_isnt_taken_for_behaviour():
    doubtful = {m.line for m in mutants(SOURCE, ALL) if m.likely_equivalent}
    assert doubtful == set(lines_of(SOURCE, b"log.info", b"raise ValueError"))
    sure = [m for m in mutants(SOURCE, lines_of(SOURCE, b"log.info")) if not m.likely_equivalent]
    assert sure == []


def test_old_syntax_is_mutated_though_our_python_cant_compile_it():
    source = b"def f(a):\n    print >>out, a\n    async = 1\n    return a < 1\n"
    assert {m.operator for m in mutants(source, [4])} >= {"comparison_boundary", "return"}


@given(
    st.binary(max_size=60), st.binary(max_size=60), st.sampled_from([b"a.py", b"a b/\xc3\xa9.py", b'q".py'])
)
@settings(max_examples=80, deadline=None)
def test_readable_patch_is_what_git_reads(old, new, path):
    if b"\0" in old + new or old == new:
        return
    (file,) = parse_patch(readable_patch(path, old, new))
    assert file.paths == (path,)
    rebuilt = changed(old, new, path)
    whole = rebuilt.new
    for number in reversed(range(len(rebuilt.hunks))):
        whole = ChangedFile(path=path, old=old, new=whole, hunks=rebuilt.hunks).without(number)
    assert whole == old


def test_mutant_applies_as_a_patch(tmp_path):
    (tmp_path / "m.py").write_bytes(SOURCE)
    for mutant in mutants(SOURCE, ALL)[::5]:
        patch = readable_patch(b"m.py", SOURCE, mutant.data)
        subprocess.run(["git", "apply", "-p1", "-"], cwd=tmp_path, input=patch, check=True)
        assert (tmp_path / "m.py").read_bytes() == mutant.data
        subprocess.run(["git", "apply", "-R", "-p1", "-"], cwd=tmp_path, input=patch, check=True)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (b"a = 2 * 3\n", b"a = 6\n", True),
        (
            b"def f():\n    'doc'\n    return 1\n",
            b"def f():\n\n    # why\n    'other'\n    return (1)\n",
            True,
        ),
        (b"a = 1\n", b"a = True\n", False),
        (b"a = 0.0\n", b"a = -0.0\n", False),
        (b"def f(a):\n    return a < 1\n", b"def f(a):\n    return a <= 1\n", False),
        (b"print 1\n", b"print 1\n", False),
        (b"def f():\n    return [1 for _ in a]\n", b"def f():\n    return [2 for _ in a]\n", False),
        (b"assert x\n", b"pass\n", False),
    ],
)
def test_equivalence_is_claimed_only_where_it_is_proven(old, new, same):
    assert same_program(old, new) is same


@pytest.mark.parametrize(
    ("path", "inert"),
    [(b"docs/conf.py", True), (b"CHANGES.rst", True), (b"src/news/1.fix", True), (b"LICENSE", True), (b"pkg/x.pyi", True), (b"pkg/fast.pyx", False), (b".travis.yml", True), (b".github/workflows/ci.py", True), (b"setup.py", False), (b"pkg/changes.py", False), (b"news/feed.py", False), (b"history/a.py", False), (b"pkg/data.json", False), (b"docsys/a.py", False), (b"pkg/data.yml", False), (b"pyproject.toml", False), (b"pkg/setup.cfg", False)],
)  # fmt: skip
def test_module_named_like_a_change_log_is_still_code(path, inert):
    assert is_inert(path) is inert


OLD = b"def add(a, b):\n    return a - b\n\n\n\n\n\n\n\n\ndef label(a):\n    return '%d' % a\n"
NEW = b"def add(a, b):\n    return a + b\n\n\n\n\n\n\n\n\ndef label(a):\n    if a < 0:\n        return 'debt'\n    return '%d' % a\n"


def test_one_wrong_fix_isnt_counted_under_two_names():
    attempts, _ = wrong_fixes([changed(OLD, NEW)], "seed")
    kinds = [attempt.kind for attempt in attempts]
    assert kinds.count(WrongFixKind.NO_OP) == 1
    assert kinds.count(WrongFixKind.HUNK_LEFT_OUT) == 2
    assert kinds.count(WrongFixKind.FILE_LEFT_OUT) == 0
    assert kinds.count(WrongFixKind.EMPTY_BODY) == 2
    contents = [frozenset(attempt.files.items()) for attempt in attempts]
    assert len(set(contents)) == len(contents)


@pytest.mark.parametrize("seed", "abcdefgh")
def test_draw_is_not_spent_on_what_was_counted_already(seed):
    one_hunk = changed(b"a = 1\n", b"a = 2\n", b"a.py")  # without its hunk it is without its change
    attempts, _ = wrong_fixes([one_hunk, changed(OLD, NEW)], seed, FixLimits(files=1))
    assert [a.path for a in attempts if a.kind is WrongFixKind.FILE_LEFT_OUT] == [b"toy/money.py"]


def test_no_wrong_fix_is_gold():
    for attempt in wrong_fixes(
        [changed(OLD, NEW), changed(None, SOURCE, b"toy/new.py"), changed(SOURCE, None, b"toy/old.py")],
        "seed",
    )[0]:
        assert dict(attempt.files).get(b"toy/money.py") != NEW


def test_hunk_that_changes_comments_isnt_held_against_the_tests():
    (attempt,) = [
        a for a in wrong_fixes([changed(OLD, OLD.replace(b"add(a, b):\n", b"add(a, b):\n    # sum\n")), changed(OLD, NEW, b"b.py")], "s")[0]
        if a.kind is WrongFixKind.HUNK_LEFT_OUT and a.path == b"toy/money.py"
    ]  # fmt: skip
    assert attempt.equivalent


def test_choice_is_the_same_in_every_run_and_spread_over_hunks_and_operators():
    file = changed(b"", SOURCE)
    first, more = wrong_fixes([file], "seed", FixLimits(mutants=8))
    again, _ = wrong_fixes([file], "seed", FixLimits(mutants=8))
    other, _ = wrong_fixes([file], "another seed", FixLimits(mutants=8))
    assert first == again != other
    chosen = [a for a in first if a.kind is WrongFixKind.MUTANT]
    assert len(chosen) == 8
    assert more > 8
    assert len({a.operator for a in chosen}) >= 7
    assert not any(a.likely_equivalent for a in chosen)


def test_small_hunk_gets_its_mutants_beside_a_large_one():
    attempts = [
        Attempt(kind=WrongFixKind.MUTANT, path=b"a", files={b"a": b"%d" % n}, operator="constant")
        for n in range(30)
    ]
    chosen = spread(attempts, ["large"] * 27 + ["small"] * 3, 6, random.Random(1))
    assert sum(attempt in attempts[27:] for attempt in chosen) == 3


def test_long_list_of_words_doesnt_pass_for_many_wrong_fixes():
    attempts = [
        Attempt(
            kind=WrongFixKind.MUTANT, path=b"a", files={b"a": b"%d" % n}, operator="string" if n else "return"
        )
        for n in range(30)
    ]
    chosen = spread(attempts, ["hunk"] * 30, 20, random.Random(1))
    assert sorted(attempt.operator for attempt in chosen) == ["return", "string", "string", "string"]


def test_edits_that_overlap_are_refused():
    with pytest.raises(ValueError, match="overlaps"):
        edited(b"abcdef", [ByteEdit(0, 3, b""), ByteEdit(2, 4, b"")])
