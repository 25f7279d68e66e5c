import pytest
from git_building import LINK, Upstream, make_upstream
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from swequarry.errors import PatchError
from swequarry.git.patches import FilePatch, end_last_line, join, parse_patch, split_patch
from swequarry.git.paths import path_bytes, path_text, quote_path, unquote_path
from swequarry.git.trees import TreeWorkbench

SQL_COMMENT = b"""diff --git a/q.sql b/q.sql
--- a/q.sql
+++ b/q.sql
@@ -1,2 +1,2 @@
--- a/note
 select 1;
+select 2;
"""
SQL_ADDED = b"""diff --git a/q.sql b/q.sql
--- a/q.sql
+++ b/q.sql
@@ -1 +1,2 @@
 select 1;
+++ b/x
"""
QUOTED = rb"""diff --git "a/tests/t\303\251st_a.py" "b/tests/t\303\251st_a.py"
--- "a/tests/t\303\251st_a.py"
+++ "b/tests/t\303\251st_a.py"
@@ -1 +1 @@
-k=1
+k=2
"""


def one(patch: bytes) -> FilePatch:
    (file,) = parse_patch(patch)
    assert join([file]) == patch
    return file


# --- B010 --------------------------------------------------------------------------------------------


def test_removed_sql_comment_is_not_a_file_header():
    file = one(SQL_COMMENT)
    assert (file.old_path, file.new_path) == (b"q.sql", b"q.sql")
    assert file.hunks[0].removed == (b"-- a/note\n",)
    assert file.hunks[0].added == (b"select 2;\n",)


def test_added_line_that_looks_like_a_header_stays_content():
    file = one(SQL_ADDED)
    assert file.hunks[0].added == (b"++ b/x\n",)


@pytest.mark.parametrize(
    "line", [b"--- a/x", b"+++ b/x", b"diff --git a/x b/x", b"@@ -1 +1 @@", b"\\ No newline"]
)
@pytest.mark.parametrize("mark", [b"-", b"+", b" "])
def test_any_header_look_alike_inside_a_hunk_is_content(line, mark):
    counts = {b"-": b"-1 +0,0", b"+": b"-0,0 +1", b" ": b"-1 +1"}[mark]
    patch = b"--- a/f\n+++ b/f\n@@ %s @@\n%s%s\n" % (counts, mark, line)
    assert one(patch).paths == (b"f",)
    assert [file.paths for file in parse_patch(patch + patch.replace(b"/f\n", b"/g\n"))] == [(b"f",), (b"g",)]


# --- B011 --------------------------------------------------------------------------------------------


def test_octal_escapes_are_bytes_decoded_once():
    assert one(QUOTED).new_path == "tests/tést_a.py".encode()
    gold, test = split_patch(QUOTED, lambda path: path.startswith(b"tests/"))
    assert (gold, test) == (b"", QUOTED)


@pytest.mark.parametrize(
    "old, new, quoted_old, quoted_new",
    [
        (b"plain.py", "é.py".encode(), b"plain.py", rb'"\303\251.py"'),
        ("é.py".encode(), b"plain.py", rb'"\303\251.py"', b"plain.py"),
    ],
)
def test_rename_with_one_quoted_side_keeps_both_names(old, new, quoted_old, quoted_new):
    header_old = b'"a/' + quoted_old[1:] if quoted_old.startswith(b'"') else b"a/" + quoted_old
    header_new = b'"b/' + quoted_new[1:] if quoted_new.startswith(b'"') else b"b/" + quoted_new
    patch = b"diff --git %s %s\nsimilarity index 100%%\nrename from %s\nrename to %s\n" % (
        header_old,
        header_new,
        quoted_old,
        quoted_new,
    )
    file = one(patch)
    assert (file.status, file.old_path, file.new_path, file.similarity) == ("R", old, new, 100)


def test_mode_change_of_a_name_with_blanks_and_its_own_b_slash():
    file = one(b"diff --git a/a b/x b/a b/x\nold mode 100644\nnew mode 100755\n")
    assert (file.new_path, file.old_mode, file.new_mode) == (b"a b/x", 0o100644, 0o100755)


def test_header_that_names_no_file_is_refused():
    with pytest.raises(PatchError, match=r"line 2 .*which file"):
        parse_patch(b"\ndiff --git a/one b/two\nold mode 100644\nnew mode 100755\n")


@given(st.binary(min_size=1).filter(lambda path: b"\0" not in path))
@example(b'"quoted"')
@example(b"new\nline")
@example(b"\xff\xfe")
def test_paths_survive_quoting_and_record_text(path):
    assert unquote_path(quote_path(path) + b"rest") == (path, b"rest")
    assert path_bytes(path_text(path)) == path


# --- B014 --------------------------------------------------------------------------------------------


def test_only_lf_ends_a_line():
    body = (
        b' \x0c\n-a\rb\n+T = "a\xe2\x80\xa8--- a/ghost\xe2\x80\xa8+++ b/ghost"\n+\xc2\x85\x0b\x1c\x1d\x1e\n'
    )
    file = one(b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n" + body)
    assert b"".join(file.hunks[0].lines) == body
    assert len(file.hunks[0].lines) == 4


# --- B016, B017, B019: what the text alone can tell --------------------------------------------------


def test_binary_without_data_is_told_from_binary_with_data():
    without = one(b"diff --git a/x.bin b/x.bin\nindex 1..2 100644\nBinary files a/x.bin and b/x.bin differ\n")
    assert without.binary_data is False
    data = b"GIT binary patch\nliteral 2\nJcmZQzWdHyG0ssJ)\n\nliteral 2\nJcmZQzU;qFB0ssI!\n\n"
    assert one(b"diff --git a/x.bin b/x.bin\nindex 1..2 100644\n" + data).binary_data is True
    assert one(SQL_COMMENT).binary_data is None


def test_mail_messages_belong_to_neither_half():
    mail = b"From 1234 Mon Sep 17 00:00:00 2001\nSubject: x\n\n---\n q.sql | 2 +-\n\n"
    patch = mail + SQL_COMMENT + b"-- \n2.39.5\n\n" + mail + QUOTED + b"-- \n2.39.5\n\n"
    files = parse_patch(patch)
    assert join(files) == patch
    assert [file.paths[0] for file in files] == [b"q.sql", "tests/tést_a.py".encode()]
    assert split_patch(patch, lambda path: path.startswith(b"tests/")) == (SQL_COMMENT, QUOTED)


def test_carriage_returns_stay_in_both_halves():
    patch = b"--- a/win.py\n+++ b/win.py\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n"
    assert one(patch).hunks[0].added == (b"B\r\n",)
    assert split_patch(patch, lambda _: False) == (patch, b"")


def test_half_without_last_newline_does_not_swallow_the_next_file():
    cut = SQL_COMMENT + QUOTED[:-1]
    gold, _ = split_patch(cut, lambda _: False)
    assert gold == SQL_COMMENT + QUOTED


def test_cut_text_gets_back_only_what_ends_its_last_line():
    assert end_last_line(QUOTED[:-1]) == QUOTED
    assert end_last_line(QUOTED) == QUOTED
    assert end_last_line(b"") == b""
    binary = b"diff --git a/x b/x\nGIT binary patch\nliteral 2\nJcmZQzWdHyG0ssJ)\n\n"
    assert end_last_line(binary.rstrip()) == binary
    assert end_last_line(binary) == binary


# --- B013: what the text alone can tell --------------------------------------------------------------


def test_file_that_moves_between_the_sides_is_not_half_lost():
    patch = (
        b"diff --git a/helpers.py b/tests/helpers.py\nrename from helpers.py\nrename to tests/helpers.py\n"
    )
    with pytest.raises(PatchError, match=r"helpers\.py to tests/helpers\.py"):
        split_patch(patch, lambda path: path.startswith(b"tests/"))


def test_copy_belongs_to_where_it_arrives():
    patch = b"diff --git a/helpers.py b/tests/helpers.py\ncopy from helpers.py\ncopy to tests/helpers.py\n"
    assert split_patch(patch, lambda path: path.startswith(b"tests/")) == (b"", patch)


# --- damage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage, said",
    [
        (SQL_COMMENT[: -len(b"+select 2;\n")], "ends inside a hunk"),
        (SQL_COMMENT.replace(b" select 1;\n", b"select 1;\n"), "as many lines"),
        (SQL_COMMENT.replace(b"-1,2 +1,2", b"-1,1 +1,2"), "as many lines"),
        (SQL_COMMENT[: SQL_COMMENT.index(b"@@")], "a hunk must follow"),
        (b"hello\n", "no file is changed"),
        (b"diff --git a/x b/x\nGIT binary patch\n", "no data follows"),
        (b"diff --git a/x b/x\n--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n", "no a/ or b/"),
    ],
)
def test_damaged_patch_is_an_error_that_says_where(damage, said):
    with pytest.raises(PatchError, match=said):
        parse_patch(damage)


ALPHABET = [
    b"diff --git a/x b/x\n",
    b"--- a/x\n",
    b"+++ b/x\n",
    b"@@ -1 +1 @@\n",
    b"@@ -1,2 +0,0 @@\n",
    b"-a\n",
    b"+b\n",
    b" c\n",
    b"\n",
    b"\\ No newline at end of file\n",
    b"rename from x\n",
    b"rename to y\n",
    b"new file mode 100644\n",
    b"GIT binary patch\n",
    b"literal 1\n",
    b"Binary files a/x and b/x differ\n",
    b'--- "a/\\',
    b"junk",
]


@given(st.lists(st.one_of(st.sampled_from(ALPHABET), st.binary(max_size=8)), max_size=16).map(b"".join))
@example(b"")
def test_whatever_is_read_is_given_back_byte_for_byte(patch):
    try:
        files = parse_patch(patch)
    except PatchError:
        return
    assert join(files) == patch


# --- against git itself ------------------------------------------------------------------------------

NAMES = [
    b"a.py",
    b"src/b c.py",
    b"tests/test_a.py",
    "tests/tést b.py".encode(),
    b'tests/q"uote\t.py',
    b"src/back\\slash\nline",
    b"src/\xff\xfe.bin",
    b"d/e/f",
]
LINES = [
    b"--- a/x\n",
    b"+++ b/x\n",
    b"\x0c\n",
    b"a\rb\r\n",
    b"\xe2\x80\xa8\n",
    b"\n",
    b" \n",
    b"same\n",
    b"\x00\n",
    b"end",
]
CONTENT = st.lists(st.sampled_from(LINES), max_size=8).map(b"".join)
FILE = st.tuples(st.sampled_from([0o100644, 0o100644, 0o100755, LINK]), CONTENT).filter(
    lambda file: file[0] != LINK or (file[1] and b"\0" not in file[1])
)
TREE = st.dictionaries(st.sampled_from(NAMES), FILE, min_size=1)


@pytest.fixture(scope="module")
def upstream(tmp_path_factory) -> Upstream:
    return make_upstream(tmp_path_factory.mktemp("patches"))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=TREE, new=TREE)
def test_halves_of_any_change_apply_and_make_the_whole(upstream, old, new):
    before, after = upstream.tree(old), upstream.tree(new)
    with TreeWorkbench(upstream.repository) as workbench:
        whole = workbench.diff(before, after)
        assert join(parse_patch(whole)) == whole
        assert workbench.apply(before, whole) == after
        touched = [path for change in workbench.changes(before, after) for path in change.paths]
        tests = [path for path in touched if path.startswith(b"tests/")]
        rest = [path for path in touched if not path.startswith(b"tests/")]
        gold, test = workbench.diff(before, after, rest), workbench.diff(before, after, tests)
        assert split_patch(gold + test, lambda path: path.startswith(b"tests/")) == (gold, test)
        assert {path for file in parse_patch(test) for path in file.paths} <= set(tests)
        assert workbench.apply(workbench.apply(before, gold), test) == after
        assert workbench.apply(workbench.apply(before, test), gold) == after
