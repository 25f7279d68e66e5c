"""A base tree that tells the answer is flagged with the place; what merely looks like it isn't."""

import pytest
from git_building import make_upstream
from hypothesis import given
from hypothesis import strategies as st

from reconstruct.leaks.base_tree import (
    BaseReader,
    Sought,
    _numbers,
    added_lines,
    changelog_files,
    is_changelog,
)
from swequarry.git.fixlines import FixLines, squeezed
from swequarry.git.store import list_files, object_reader, store_view
from swequarry.records import AnswerKind

GOLD = (
    b"    total = first_amount + second_amount",
    b"    return rounded_to_cents(total)",
    b"    log.debug('added two amounts')",
)
TESTS = (
    b"    assert add(first=2, second=3) == 5",
    b"    assert add(first=20, second=30) == 50",
)
ENTRY = b"- Amounts are added and no longer subtracted."


def lines(some, path):
    return FixLines(lines=frozenset(map(squeezed, some)), paths=frozenset({path}))


SOUGHT = Sought(
    gold=lines(GOLD, b"a.py"),
    tests=lines(TESTS, b"tests/test_a.py"),
    entries=frozenset({squeezed(ENTRY)}),
    numbers=frozenset({4321}),
)


@pytest.fixture
def places(tmp_path):
    upstream = make_upstream(tmp_path)

    def read(files, sought=SOUGHT):
        base = upstream.commit({path: b"\n".join(text) + b"\n" for path, text in files.items()})
        with store_view(upstream.repository.objects) as place, object_reader(place) as reader:
            found = BaseReader(reader, sought.wanted).places(list_files(place, base), sought)
        return [(one.kind, one.path, one.line) for one in found]

    return read


def test_fix_in_a_second_copy_is_seen_and_in_its_own_file_or_by_half_is_not(places):
    assert places({b"build/lib/a.py": GOLD[:2]}) == [(AnswerKind.GOLD_LINES, "build/lib/a.py", 0)]
    assert places({b"a.py": GOLD, b"b.py": GOLD[:1], b"README.md": GOLD}) == []


def test_hidden_tests_in_another_file_are_seen(places):
    assert places({b"tests/old/test_b.py": TESTS}) == [(AnswerKind.VISIBLE_TEST, "tests/old/test_b.py", 0)]


@pytest.mark.parametrize(
    "line",
    [
        b"* Fix adding (#4321)",
        b"* Fix adding, GH-4321",
        b"* Fix adding (:issue:`4321`)",
        b"* See https://example.org/acme/widgets/issues/4321",
        b"* Merged pull/4321 of a friend",
    ],
)
def test_changelog_that_names_the_issue_is_seen_with_its_line(places, line):
    assert places({b"CHANGES.rst": (b"1.0", line)}) == [(AnswerKind.CHANGELOG, "CHANGES.rst", 2)]


@pytest.mark.parametrize(
    "line", [b"* See #43210", b"* Costs 4321 dollars", b"* v4321", b"* #143210 and #432"]
)
def test_another_number_is_no_entry(places, line):
    assert places({b"CHANGES.rst": (line,)}) == []


def test_fragment_named_after_the_issue_and_words_that_the_fix_would_write_are_entries(places):
    assert places({b"changelog.d/4321.bugfix.rst": (b"Something",)}) == [
        (AnswerKind.CHANGELOG, "changelog.d/4321.bugfix.rst", 0)
    ]
    assert places({b"docs/whatsnew/1.2.txt": (ENTRY,)}) == [
        (AnswerKind.CHANGELOG, "docs/whatsnew/1.2.txt", 0)
    ]


def test_number_outside_of_a_changelog_is_no_entry(places):
    assert places({b"src/b.py": (b"# see #4321",), b"README.md": (b"#4321",)}) == []


@pytest.mark.parametrize(
    "mark",
    [
        (b"@pytest.mark.xfail(reason='#4321')",),
        (b"@pytest.mark.xfail(", b"    reason='see issue 4321',", b")"),
        (b"# issues/4321", b"@unittest.expectedFailure"),
        (b"@unittest.skip('GH-4321')",),
    ],
)
def test_mark_that_names_the_issue_is_seen(places, mark):
    found = places({b"tests/test_b.py": (*mark, b"def test_add():", b"    assert add(2, 3) == 5")})
    line = next(n for n, text in enumerate(mark, 1) if text.startswith(b"@"))
    assert found == [(AnswerKind.XFAIL_MARK, "tests/test_b.py", line)]


def test_number_in_a_test_below_a_mark_is_not_the_marks(places):
    text = (b"@pytest.mark.xfail", b"def test_a():", b"    assert parse('#4321')", b"def test_b(): '#4321'")
    assert places({b"tests/test_b.py": text}) == []


def test_binary_files_and_links_tell_nothing(places, tmp_path):
    assert places({b"CHANGES.rst": (b"\0", b"#4321")}) == []


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (b"CHANGELOG.md", True),
        (b"docs/changes/1.2.rst", True),
        (b"NEWS", True),
        (b"docs/release-notes.md", True),
        (b"src/history.py", False),
        (b"src/newsletter/a.txt", False),
        (b"changed.txt", False),
    ],
)
def test_changelogs_are_told_from_code_by_their_names(path, wanted):
    assert is_changelog(path) is wanted


def test_changelog_part_of_a_fix_is_told_from_its_code():
    patch = (
        b"diff --git a/CHANGES b/CHANGES\n--- a/CHANGES\n+++ b/CHANGES\n@@ -0,0 +1,2 @@\n+"
        + ENTRY
        + b"\n+short\ndiff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -0,0 +1 @@\n+"
        + GOLD[0]
        + b"\n"
    )
    assert added_lines(changelog_files(patch)) == {squeezed(ENTRY)}


@given(text=st.binary(max_size=60), number=st.integers(1, 9_999_999))
def test_a_named_number_is_found_whatever_stands_around_it(text, number):
    assert number in _numbers(text + b" #%d " % number + text)
