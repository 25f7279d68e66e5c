import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swequarry.pipeline.demo.pulls import ISSUES
from swequarry.pipeline.demo.story import START
from testwriter.interface import Subject
from testwriter.subjects import folder_for_tests, names_in, new_path
from testwriter.writers.issue import IssueWriter, may_reproduce, shown_values
from testwriter.writers.markdown import raised_in, read_issue
from testwriter.writers.resolve import free_names, missing_imports, names_of
from testwriter.writers.snippets import read_snippet


def subject(statement: str, title: str = "", **more: object) -> Subject:
    known = {
        "instance_id": "tally-1",
        "statement": statement,
        "title": title,
        "paths": tuple(START),
        "read": START.get,
        "base_names": names_in(START.values()),
        "folder": "tests",
        **more,
    }
    return Subject(**known)  # type: ignore[arg-type]


def texts(statement: str, title: str = "") -> list[str]:
    return [p.text for p in IssueWriter().propose(subject(statement, title), lambda _: pytest.fail("runs"))]


def bodies(statement: str) -> list[str]:
    return [text.partition("shows():\n")[2].strip() for text in texts(statement)]


def test_call_that_the_issue_says_raises_is_made():
    (issue,) = [issue for issue in ISSUES if issue.number == 109]
    (proposal,) = IssueWriter().propose(subject(issue.body, issue.title), lambda _: None)
    assert proposal.text == (
        "from tally.table import widths\n\n\ndef test_what_the_issue_shows():\n    widths([[1, 2]])\n"
    )
    assert proposal.method == "issue_code"
    assert proposal.public
    assert proposal.evidence == ("`widths([[1, 2]])` raises TypeError.",)


def test_value_that_should_come_out_is_wanted():
    found = bodies("`slug('Große Zahl')` should be `grosse-zahl`.")
    assert found == ["result = slug('Große Zahl')\n    assert result == 'grosse-zahl'"]


def test_every_value_of_a_sentence_is_proposed_since_words_dont_tell_which_is_right():
    found = bodies("`percent(2, 3)` gives 66 instead of 67.")
    assert [body[-2:] for body in found[:2]] == ["66", "67"]


def test_session_with_a_traceback_must_not_raise():
    found = bodies(
        "```python\n>>> from tally.table import widths\n>>> rows = [[1, 2]]\n>>> widths(rows)\nTraceback (most recent call last):\n"
        '  File "x", line 1, in <module>\nTypeError: object of type int has no len()\n>>> 1 + 1\n2\n```'
    )
    assert found[0] == "rows = [[1, 2]]\n    widths(rows)"


def test_output_after_the_word_expected_is_wanted_and_the_shown_one_is_not():
    found = bodies(
        "```python\nshare(100, 3)\n```\nOutput:\n```\n[33, 33, 33]\n```\nExpected:\n```\n[34, 33, 33]\n```\n"
    )
    assert found[0] == "result = share(100, 3)\n    assert result == [34, 33, 33]"
    assert "result = share(100, 3)\n    assert not result == [33, 33, 33]" in found


def test_addresses_of_an_output_are_nobodys_business():
    (text, *_) = texts("```python\n>>> share(100, 3)\n[<Cent at 0x7f01>]  # wrong, should differ\n```")
    assert "0x7f01" not in text
    assert "import re" in text


def test_error_that_should_be_raised_is_wanted():
    found = texts(
        "It should raise a `ValueError`:\n```python\nshare(1, 0)\n```\nZeroDivisionError comes now."
    )
    assert any("with pytest.raises(ValueError):\n        share(1, 0)" in text for text in found)


def test_code_with_names_from_nowhere_is_not_proposed():
    assert texts("```python\nsplit_bill(100, guests)\n```\nraises TypeError") == []


def test_no_proposal_for_issue_without_code():
    assert texts("Lines come back with a carriage return.") == []
    assert not may_reproduce("Lines come back with a carriage return.")


@pytest.mark.parametrize(
    "statement", ["`share(1, 2)` fails", "```\nshare(1, 2)\n```", ">>> not a fence\n\n    share(1)\n"]
)
def test_issue_with_code_may_be_reproduced(statement):
    assert may_reproduce(statement)


def test_values_that_an_issue_shows_can_be_measured():
    found = list(
        shown_values(subject("```python\nparts = share(100, 3)\nsum(parts)\n```\nand `percent(1, 2)`"))
    )
    assert [(probe.setup, probe.value) for probe in found] == [
        ("", "share(100, 3)"),
        ("parts = share(100, 3)", "sum(parts)"),
        ("", "percent(1, 2)"),
    ]
    assert found[0].imports == ("from tally.amounts import share",)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("x = f()\nprint(x)  # 3\n", [("x = f()", None, ""), ("print(x)", "x", "3")]),
        ("f()\n# gives\n# 3\n", [("f()", "f()", "gives\n3")]),
        (">>> f()\n3\n>>> g(\n...   1)\n", [("f()", "f()", "3"), ("g(1)", "g(1)", "")]),
        ("In [1]: f()\nOut[1]: 3\n", [("f()", "f()", "3")]),
        ("if __name__ == '__main__':\n    f()\n", [("f()", "f()", "")]),
        ("f()\nthis is no code\n", [("f()", "f()", "")]),
        ("print 'old'\n", []),
    ],
)
def test_pasted_code_is_read_with_its_outputs(text, steps):
    assert [(step.source, step.value, step.output) for step in read_snippet(text)] == steps


@given(st.text())
def test_any_text_can_be_read_as_a_snippet(text):
    for step in read_snippet(text):
        ast.parse(step.source)


@given(st.text())
def test_any_text_can_be_read_as_an_issue(text):
    issue = read_issue(text)
    assert all(span.code in span.sentence for span in issue.spans)
    may_reproduce(text)


@given(st.sampled_from(["`a(1)`", "should be", "3.", "\n```python\n", ">>> share(1, 2)", "\n", "ValueError", "# 3"]).flatmap(
    lambda first: st.lists(st.sampled_from(["`share(1, 2)`", " is ", "`[1]`", "\n```\n", ">>> tags('#a')", "\n", "TypeError", "  # 3"])).map(lambda rest: first + "".join(rest))
))  # fmt: skip
def test_what_is_proposed_is_python_and_holds_a_test(statement):
    for text in texts(statement):
        tree = ast.parse(text)
        assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] == [
            "test_what_the_issue_shows"
        ]


def test_class_of_a_traceback_is_the_last_line_s():
    assert (
        raised_in(
            "Traceback (most recent call last):\n  File\nKeyError: 1\n\nDuring\n\npkg.errors.OddError: x\n"
        )
        == "OddError"
    )
    assert raised_in("33 ValueError is no error here") is None


def test_import_of_a_name_is_the_one_that_the_base_uses():
    names = names_of(subject(""))
    assert names.line_for("tally") == "import tally"
    assert names.line_for("slug") == "from tally.labels import slug"
    assert missing_imports("slug(nobody_knows)", names) is None
    assert free_names(ast.parse("def f(a):\n    return a + b\nfor c in f(1): len(c)")) == {"b"}


def test_new_test_lies_beside_the_others_under_a_free_name():
    assert (
        folder_for_tests(("tests/unit/test_a.py", "tests/unit/test_b.py", "tests/test_c.py", "a.py"))
        == "tests/unit"
    )
    assert folder_for_tests(("a.py",)) == "tests"
    taken = subject("", paths=("tests/test_a.py",))
    assert new_path(taken, "a") == "tests/test_a_1.py"


def test_lines_of_an_output_belong_to_the_statements_that_print():
    found = bodies(
        "```python\nprint(share(9, 3))\nprint(share(100, 3))\n```\nreturns\n```\n[3, 3, 3]\n[33, 33, 33]\n```"
    )
    assert any("result = share(9, 3)\n    assert str(result) == '[3, 3, 3]'" in body for body in found)
    assert any(
        body.endswith("result = share(100, 3)\n    assert not str(result) == '[33, 33, 33]'")
        for body in found
    )
