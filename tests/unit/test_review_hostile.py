"""Patches that want to break the reviewer get a finding, never a crash or a hang."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchreview.diff import MAX_BYTES, MAX_FILES, read_diff
from patchreview.findings import Severity
from patchreview.interface import Ground, Rule
from patchreview.output.sarif import sarif
from patchreview.output.words import markdown
from patchreview.reviewer import HOSTILE, review_patch
from patchreview.rules import all_rules
from patchreview.task.review import review_task
from patchreview.task.subject import Subject

HEAD = b"diff --git a/%s b/%s\nnew file mode 100644\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n"


def made(path: bytes, lines: list[bytes]) -> bytes:
    return HEAD % (path, path, path, len(lines)) + b"".join(b"+" + line + b"\n" for line in lines)


DEEP = {
    "brackets": [b"x = " + b"(" * 1500 + b")" * 1500],
    "brackets on lines": [b"("] * 20_000,
    "blocks": [b" " * n + b"if x:" for n in range(900)],
    "else": [b"else:"] * 20_000,
    "quotes": [b"'''" * 300] * 50,
    "one long line": [b"assert " + b"a" * 1_000_000],
    "repeated words": [b"os." * 600] * 100,
    "broken encoding": [b"\xff\xfe\x00def f(\x80):", b"    return '\xc3'", b"\xed\xa0\x80"],
}


@pytest.mark.parametrize("lines", DEEP.values(), ids=DEEP.keys())
@pytest.mark.parametrize("path", [b"src/a.py", b"tests/test_a.py", b"a.js"])
def test_hostile_source_is_reviewed_to_its_end(path, lines):
    began = time.process_time()
    review = review_patch(made(path, lines))
    assert time.process_time() - began < 10
    assert not [one for one in review.findings if "broke on this patch" in one.message]


def test_ten_thousand_files_get_a_finding():
    patch = b"".join(made(b"src/m%d.py" % n, [b"x = 1"]) for n in range(10_000))
    review = review_patch(patch)
    assert review.files == 10_000
    assert any(one.rule == HOSTILE and str(MAX_FILES) in one.message for one in review.findings)
    assert len(review.findings) < 200


def test_cheat_behind_three_thousand_files_does_not_pass():
    patch = b"".join(made(b"src/m%d.py" % n, [b"x = 1"]) for n in range(MAX_FILES))
    assert review_patch(patch + made(b"sitecustomize.py", [b"x = 1"])).blocked


def test_patch_that_is_too_large_is_not_read():
    review = review_patch(made(b"a.txt", [b"a" * (MAX_BYTES + 1)]))
    assert [one.rule for one in review.findings] == [HOSTILE]
    assert review.blocked


@pytest.mark.parametrize(
    "patch", [b"no patch", b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n x\n", b"\0\1\2"]
)
def test_what_is_no_patch_is_blocked(patch):
    assert review_patch(patch).blocked


def test_empty_patch_is_said_to_be_empty():
    review = review_patch(b"\n")
    assert not review.blocked
    assert "empty" in review.findings[0].message


def test_review_that_takes_too_long_ends_and_blocks():
    review = review_patch(made(b"src/a.py", [b"x = 1"]), limit_s=-1)
    assert review.blocked
    assert "too long" in review.findings[0].message


def test_fix_of_a_task_that_is_held_for_long_can_still_be_looked_into(monkeypatch):
    held = read_diff(made(b"src/a.py", [b"x = 1"]))
    later = time.monotonic() + 10_000
    monkeypatch.setattr("time.monotonic", lambda: later)
    assert len(list(held.files)) == 1


def test_rule_that_breaks_is_a_finding():
    def broken(case):
        raise IndexError("x")

    rule = Rule(code="broken", severity=Severity.NOTE, catches="nothing", check=broken)
    review = review_patch(made(b"src/a.py", [b"x = 1"]), rules=[rule])
    assert review.blocked
    assert "broken broke" in review.findings[0].message


LINES = st.lists(
    st.one_of(
        st.binary(max_size=20).map(lambda b: b.replace(b"\n", b"")),
        st.sampled_from(
            [
                b"def test_a():",
                b'    """',
                b"    assert x",
                b"@pytest.mark.skip",
                b"class A:",
                b"",
                b"  ",
                b"'''",
                b"\t(",
                b"x = [",
                b"\r",
            ]
        ),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([b"+", b"-", b" "]), LINES), min_size=1, max_size=4),
    st.sampled_from([b"src/a.py", b"tests/test_a.py", b"conftest.py"]),
)
def test_no_content_of_a_patch_breaks_a_rule(parts, path):
    lines = [mark + line for mark, some in parts for line in some]
    old, new = (sum(line[:1] in marks for line in lines) for marks in (b" -", b" +"))
    head = b"diff --git a/%s b/%s\n--- a/%s\n+++ b/%s\n@@ -3,%d +3,%d @@\n" % (
        path,
        path,
        path,
        path,
        old,
        new,
    )
    review = review_patch(head + b"".join(line + b"\n" for line in lines))
    assert not [one for one in review.findings if "broke on this patch" in one.message]


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_raise(data):
    review_patch(data)
    review_patch(b"diff --git a/x b/x\n" + data)


def test_every_rule_has_its_own_code():
    codes = [rule.code for rule in all_rules()]
    assert len(codes) == len(set(codes)) > 25


BINARY = (
    b"diff --git a/%s b/%s\nnew file mode 100644\nindex 0000000..1111111\nGIT binary patch\nliteral 4\nLc${NkU|;|M00aO5\n\n"
    b"literal 0\nHcmV?d00001\n\n"
)


def test_binary_file_that_python_loads_is_blocked_and_an_image_is_not():
    assert review_patch(BINARY % (b"src/a.so", b"src/a.so")).blocked
    assert not review_patch(BINARY % (b"docs/a.png", b"docs/a.png")).blocked


@pytest.mark.parametrize("path", [b"\xff\xfe.py", "ü b.py".encode(), b"a\\tb.py", b"x" * 4000 + b".py"])
def test_odd_names_reach_findings_as_text(path):
    review = review_patch(made(path, [b"import pdb; pdb.set_trace()"]))
    assert all(one.path.encode("utf-8") is not None for one in review.findings)
    json.dumps(sarif(review.findings))
    list(markdown(review))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1", "cp037"])
def test_source_in_another_encoding_is_reviewed_to_its_end(encoding):
    source = "def f(x):\n    return 'ü'\n".encode(encoding).replace(b"\n", b" ")
    assert not [one for one in review_patch(made(b"src/a.py", [source])).findings if "broke" in one.message]


def test_hostile_patch_is_held_against_a_hostile_task_too():
    deep = read_diff(made(b"src/a.py", DEEP["brackets"]))
    ground = Ground(
        gold=deep, tests=read_diff(made(b"tests/test_a.py", DEEP["quotes"])), statement="\ud800" * 9
    )
    assert isinstance(review_patch(made(b"src/b.py", DEEP["blocks"]), ground).blocked, bool)
    subject = Subject(instance_id="a__b-1", statement="(" * 100_000, gold=deep, tests=ground.tests)
    assert review_task(subject).scores


def test_ten_thousand_hunks_of_one_file_end():
    hunk = b"@@ -%d,1 +%d,1 @@\n-x = 1\n+x = 2\n"
    body = b"".join(hunk % (n * 10 + 1, n * 10 + 1) for n in range(10_000))
    review = review_patch(b"diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n" + body)
    assert (review.files, review.lines) == (1, 20_000)
