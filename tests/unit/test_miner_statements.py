"""The first version of a problem statement: words of people, never the change itself (edge case B053)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.sources.issues import Comment, KnownIssue
from miner.statements import (
    DIFF_REMOVED,
    EDIT_NOT_UNDONE,
    EDIT_UNDONE,
    FROM_COMMITS,
    ISSUE_AFTER_FIX,
    statement_from_issues,
    statement_from_messages,
    without_diffs,
)
from swequarry.records import CommitSha, MergeKind, PullRecord, RepoRef, StatementKind, TextVersion

DIFF = """\
diff --git a/f.py b/f.py
index 0123456..789abcd 100644
--- a/f.py
+++ b/f.py
@@ -1,3 +1,3 @@ def f():
 one
-secret_old
+secret_new

"""


def pull(title=None, body=None, messages=()):
    sha = CommitSha("a" * 40)
    return PullRecord(
        repo=RepoRef(owner="a", name="b"),
        number=1,
        merge_kind=MergeKind.MERGE,
        merge_commit=sha,
        base_commit=sha,
        title=title,
        body=body,
        commit_messages=tuple(messages),
    )


def test_statement_from_commits_holds_no_diff():
    for text in (
        f"Fix it\n\n{DIFF}\nThe end.",
        f"Fix it\n\n```diff\n{DIFF}```\nThe end.",
        "Fix it\n\n--- f.py\n+++ f.py\n@@ -7 +7 @@\n-secret_old\n+secret_new\nThe end.",
        "Fix it\n\n@@ -1,2 +1,2 @@\n-secret_old\n+secret_new\n x\nThe end.",
        "Fix it\n\n    diff --git a/f b/f\n    @@ -1 +1 @@\n    -secret_old\n    +secret_new\n\nThe end.",
        f"Fix it\n\n~~~\n{DIFF}\n~~~\nThe end.",
        f"Fix it\nThe end.\n```\n{DIFF}",
    ):
        statement, flags = statement_from_messages(pull("Title", None, [text]))
        assert "secret" not in statement.text
        assert "Fix it" in statement.text
        assert "The end." in statement.text
        assert flags == (FROM_COMMITS, DIFF_REMOVED)


def test_lists_rules_and_code_are_no_diffs():
    text = "- one\n- two\n+ three\n--- \n\n*** note\n```python\nx = -1\n```\n@@ no hunk\n--- a heading\ntext"
    assert without_diffs(text) == text


@given(st.text(alphabet="-+@ \n`~diff123,abc/", max_size=200))
def test_removing_diffs_never_raises_and_only_removes(text):
    left = without_diffs(text).split("\n")
    remaining = iter(text.split("\n"))
    assert all(any(line == other for other in remaining) for line in left if line)


def test_same_words_are_said_once_and_trailers_go():
    message = "Fix rounding (#3)\n\nIt was wrong.\n\nSigned-off-by: A <a@x>\nCo-authored-by: B <b@x>"
    statement, flags = statement_from_messages(pull("Fix rounding", message.partition("\n\n")[2], [message]))
    assert statement.text == "Fix rounding\n\nIt was wrong."
    assert statement.kind is StatementKind.COMMITS
    assert flags == (FROM_COMMITS,)


def test_merges_and_bots_have_nothing_to_say():
    statement, _ = statement_from_messages(
        pull(None, None, ["Merge branch 'main' into x", "[pre-commit.ci] auto fixes", "fixup! x", "Real"])
    )
    assert statement.text == "Real"


def test_statement_of_no_words_is_empty_not_invented():
    assert statement_from_messages(pull())[0].text == ""


def test_issues_come_in_the_order_of_links_and_hints_only_from_before_the_fix():
    begun = datetime(2024, 3, 1, tzinfo=UTC)
    issues = [
        KnownIssue(
            number=9,
            title="Nine",
            body="body 9",
            comments=(
                Comment(text="early", created_at=datetime(2024, 2, 1, tzinfo=UTC)),
                Comment(text="the fix is x = 1", created_at=datetime(2024, 3, 2, tzinfo=UTC)),
                Comment(text="no date"),
            ),
        ),
        KnownIssue(number=2, title="Two", body=""),
    ]
    statement, flags = statement_from_issues(issues, begun)
    assert statement.text == "Nine\nbody 9\n\nTwo"
    assert statement.hints == "early"
    assert statement.issue_numbers == (9, 2)
    assert flags == ()
    assert statement_from_issues(issues, None)[0].hints == ""


BEGUN = datetime(2024, 3, 1, tzinfo=UTC)


def day(number: int) -> datetime:
    return BEGUN + timedelta(days=number)


def edited(now: str, *versions: tuple[int, str | None], created: int = -9, **more) -> KnownIssue:
    told = tuple(TextVersion(at=day(at), text=text) for at, text in versions)
    return KnownIssue(number=1, title="T", body=now, body_versions=told, created_at=day(created), **more)


@pytest.mark.parametrize(
    "issue, body, flags",
    [
        (edited("now"), "now", ()),
        (edited("now", (-9, "first"), (-2, "now")), "now", ()),
        (
            edited("solved by x = 1", (-9, "first"), (-2, "asked"), (3, "solved by x = 1")),
            "asked",
            (EDIT_UNDONE,),
        ),
        (edited("b", (5, "b"), (-9, "a")), "a", (EDIT_UNDONE,)),
        (edited("now", (-9, None), (3, "now")), "now", (EDIT_NOT_UNDONE,)),
        (edited("now", (1, "first"), (3, "now"), created=1), "first", (ISSUE_AFTER_FIX, EDIT_UNDONE)),
        (KnownIssue(number=1, title="T", body="b", edited_at=day(1)), "b", (EDIT_NOT_UNDONE,)),
        (KnownIssue(number=1, title="T", body="b", edited_at=day(-1)), "b", ()),
    ],
)
def test_statement_is_what_the_issue_said_when_the_fix_was_begun(issue, body, flags):
    statement, told = statement_from_issues([issue], BEGUN)
    assert (statement.text, told) == (f"T\n{body}", flags)


def test_title_that_was_rewritten_after_the_fix_is_taken_back():
    titles = (TextVersion(at=day(-9), text="Crash"), TextVersion(at=day(2), text="Use == in f()"))
    issue = KnownIssue(number=1, title="Use == in f()", body="b", title_versions=titles)
    assert statement_from_issues([issue], BEGUN)[0].text == "Crash\nb"


def test_comment_that_was_edited_after_the_fix_is_no_hint():
    comments = (
        Comment(text="answer", created_at=day(-2), edited_at=day(1)),
        Comment(text="early", created_at=day(-2), edited_at=day(-1)),
    )
    assert (
        statement_from_issues([KnownIssue(number=1, body="b", comments=comments)], BEGUN)[0].hints == "early"
    )


@pytest.mark.parametrize("body", ["", None, "  \n", "<!-- say what -->", "### Steps\n\n_No response_\n"])
def test_title_alone_is_no_statement_unless_the_policy_says_so(body):
    issue = KnownIssue(number=1, title="Crash", body=body)
    assert statement_from_issues([issue], BEGUN, title_alone=False)[0].text == ""
    assert statement_from_issues([issue], BEGUN)[0].text.startswith("Crash")
    other = KnownIssue(number=2, title="Two", body="words")
    assert "Crash" in statement_from_issues([issue, other], BEGUN, title_alone=False)[0].text
