"""Issue texts from a file: broken lines are named, the others go on."""

import json

import pytest

from miner.sources.issues import read_issues
from swequarry.errors import InputError
from swequarry.records import RepoRef

REPO = RepoRef(owner="acme", name="widgets")


def line(**changed):
    fields = {"repo": "Acme/Widgets", "number": 1, "title": "T", "body": "B"}
    return json.dumps({**fields, **changed}).encode()


def test_broken_lines_are_named_and_the_others_go_on(tmp_path):
    path = tmp_path / "issues.jsonl"
    bad = [b"{", b"[]", line(repo=3), line(number="1"), line(number=True), line(title=["T"])]
    path.write_bytes(b"\n".join([line(), *bad, b"", line(number=2, repo="other/repo"), line(number=3)]))
    book = read_issues(path, REPO)
    assert sorted(book.issues) == [1, 3]
    assert [problem.split(": ")[0] for problem in book.problems] == [f"issues.jsonl:{n}" for n in range(2, 8)]


def test_nulls_dates_and_comments_of_the_api_are_read(tmp_path):
    path = tmp_path / "issues.jsonl"
    comments = ["plain", {"body": "dated", "created_at": "2024-01-01T00:00:00Z"}, {"body": None}, 7]
    path.write_bytes(
        line(body=None, comments=comments, created_at="nonsense", pull_request={"url": "x"})
        + b"\n"
        + line(number=2, body="a\r\nb", pull_request=None)
    )
    book = read_issues(path, REPO)
    first = book.issues[1]
    assert (first.body, first.is_pull_request, first.created_at) == ("", True, None)
    assert [(c.text, c.created_at is not None) for c in first.comments] == [("plain", False), ("dated", True)]
    assert (book.issues[2].body, book.issues[2].is_pull_request) == ("a\nb", False)


def test_last_line_of_an_issue_counts(tmp_path):
    path = tmp_path / "issues.jsonl"
    path.write_bytes(line(title="old") + b"\n" + line(title="new"))
    assert read_issues(path, REPO).issues[1].title == "new"


@pytest.mark.parametrize("data, word", [(b"", "empty"), (None, "can't be read")])
def test_missing_or_empty_file_is_an_input_error(tmp_path, data, word):
    path = tmp_path / "issues.jsonl"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InputError, match=word):
        read_issues(path, REPO)
