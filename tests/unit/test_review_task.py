"""The review of tasks: what is hidden, what is given away."""

from patchreview.diff import read_diff
from patchreview.findings import Severity
from patchreview.task.hidden import hidden_messages, hidden_names, said_share
from patchreview.task.review import Axis, review_task
from patchreview.task.subject import Subject

GOLD = b"""diff --git a/src/p.py b/src/p.py
--- a/src/p.py
+++ b/src/p.py
@@ -1,2 +1,8 @@
+class EmptyInputError(ValueError):
+    pass
+
+
 def parse(text):
+    if not text:
+        raise EmptyInputError("E042: nothing to parse")
     return text.split()
"""
TESTS = b"""diff --git a/tests/test_p.py b/tests/test_p.py
--- a/tests/test_p.py
+++ b/tests/test_p.py
@@ -1,1 +1,7 @@
 import p
+from p import EmptyInputError
+
+
+def test_empty():
+    with pytest.raises(EmptyInputError, match="E042: nothing to parse"):
+        p.parse('')
"""
CLEAR = (
    "parse('') gives an empty list. It should raise a new class `EmptyInputError`, a ValueError, with the message "
    "'E042: nothing to parse', so that callers can tell what happened to the text that they gave to the parser."
)


def subject(statement: str, **more) -> Subject:
    return Subject(
        instance_id="a__b-1", statement=statement, gold=read_diff(GOLD), tests=read_diff(TESTS), **more
    )


def rules(statement: str, **more) -> dict[str, Severity]:
    return {one.rule: one.severity for one in review_task(subject(statement, **more)).findings}


def test_name_and_message_that_nobody_wrote_down_are_named():
    """B066."""
    vague = subject("parse('') should raise a helpful error")
    assert hidden_names(vague) == ["EmptyInputError"]
    assert hidden_messages(vague) == ["E042: nothing to parse"]
    review = review_task(vague)
    said = " ".join(f"{one.message}: {one.evidence}" for one in review.findings)
    assert "underspecified" in said
    assert "EmptyInputError" in said
    assert "E042: nothing to parse" in said
    assert review.scores[Axis.STATEMENT_TESTS] > 0.5


def test_what_the_statement_says_is_not_hidden():
    assert not {"hidden-name", "hidden-message"} & rules(CLEAR).keys()
    assert review_task(subject(CLEAR)).scores[Axis.STATEMENT_TESTS] < 0.25


def test_statement_that_says_what_should_happen_is_no_doubt_and_one_that_only_complains_is():
    assert "no-wish" not in rules(CLEAR)
    assert "no-wish" not in rules("Expected: 3\nActual: 2")
    assert rules("parse('') gives an empty list.")["no-wish"] is Severity.NOTE


def test_fix_that_the_statement_does_not_name_weighs_on_the_tests():
    far, near = subject("It is slow, and it should be quick."), subject(GOLD.decode() + " should raise")
    assert said_share(far) == 0
    assert said_share(near) == 1
    assert "far-from-fix" in {one.rule for one in review_task(far).findings}
    assert "far-from-fix" not in {one.rule for one in review_task(near).findings}
    assert review_task(far).scores[Axis.STATEMENT_TESTS] > 0.25


def test_name_that_base_has_is_not_hidden():
    assert hidden_names(subject("parse", in_base=lambda word: word == b"EmptyInputError")) == []


def test_statement_that_holds_the_fix_is_blocked():
    """B066, the reverse case."""
    given = (
        CLEAR
        + '\n```python\nclass EmptyInputError(ValueError):\n    raise EmptyInputError("E042: nothing to parse")\n```\n'
    )
    assert rules(given)["solution-in-statement"] is Severity.BLOCK
    assert "solution-in-statement" not in rules(CLEAR)


def test_short_statement_several_issues_and_wide_tests_are_named():
    wide = tuple(f"tests/test_p.py::test_{n}" for n in range(60))
    found = rules("It fails.", issue_numbers=(1, 2), fail_to_pass=wide)
    assert {"short-statement", "several-issues", "wide-tests"} <= found.keys()


def test_link_to_the_fix_is_named():
    assert "link-in-statement" in rules(CLEAR + " See https://example.org/a/b/pull/12/files")


def test_scores_are_between_nought_and_one():
    for statement in ("", "x", CLEAR, "? " * 500):
        assert all(0 <= score <= 1 for score in review_task(subject(statement)).scores.values())
