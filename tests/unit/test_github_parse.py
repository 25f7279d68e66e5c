"""GitHub's JSON read into facts: nulls everywhere (B053), and texts as they were."""

from hypothesis import given
from hypothesis import strategies as st

from miner.sources.githubapi.parse import parse_issue, parse_pull, parse_repo
from swequarry.records import IssueRef, RepoRef

REPO = RepoRef(owner="acme", name="widgets")
NULLS = {
    "__typename": "PullRequest",
    "number": 5,
    "title": "Fix",
    "body": None,
    "author": None,
    "headRefOid": None,
    "mergeCommit": None,
    "labels": None,
    "closingIssuesReferences": None,
    "commits": None,
}


def test_pull_request_of_nulls_is_read():
    found = parse_pull(5, NULLS, REPO)
    assert (found.author, found.body, found.merged, found.merge_commit) == ("ghost", "", False, None)
    assert found.closing == ()
    assert found.labels == ()


def test_what_only_tells_the_landing_leaves_the_rest_unknown():
    found = parse_pull(5, {"number": 5, "merged": True, "mergeCommit": {"oid": "a" * 40}}, REPO)
    assert (found.merged, found.merge_commit) == (True, "a" * 40)
    assert (found.body, found.author, found.closing, found.labels) == (None, None, None, None)


def test_closing_reference_of_another_repository_keeps_its_name():
    nodes = [
        {"number": 1, "repository": {"nameWithOwner": "Acme/Widgets"}},
        {"number": 2, "repository": {"nameWithOwner": "acme/other"}},
        None,
        {"number": None},
    ]
    found = parse_pull(5, {**NULLS, "closingIssuesReferences": {"nodes": nodes}}, REPO)
    assert found.closing == (IssueRef(number=1), IssueRef(number=2, repo="acme/other"))


def test_number_that_is_a_pull_request_has_no_text():
    """B007"""
    found = parse_issue(71, {"__typename": "PullRequest", "number": 71, "title": "Refactor"}, REPO)
    assert found.is_pull_request is True
    assert found.body is None


def test_edits_are_versions_oldest_first_and_a_removed_one_is_unknown():
    edits = [
        {"editedAt": "2024-01-03T00:00:00Z", "diff": "third"},
        {"editedAt": "2024-01-02T00:00:00Z", "diff": None},
        {"editedAt": "2024-01-01T00:00:00Z", "diff": "first\r\nline"},
    ]
    found = parse_issue(1, {"__typename": "Issue", "userContentEdits": {"nodes": edits}}, REPO)
    assert [version.text for version in found.body_versions] == ["first\nline", None, "third"]


def test_closers_are_told_apart():
    events = [
        {"__typename": "ClosedEvent", "createdAt": "2024-01-01T00:00:00Z", "closer": None},
        {
            "__typename": "ClosedEvent",
            "createdAt": "2024-01-02T00:00:00Z",
            "closer": {
                "__typename": "PullRequest",
                "number": 9,
                "repository": {"nameWithOwner": "acme/widgets"},
            },
        },
        {"__typename": "ReopenedEvent", "createdAt": "2024-01-03T00:00:00Z"},
        {
            "__typename": "ClosedEvent",
            "createdAt": "2024-01-04T00:00:00Z",
            "closer": {"__typename": "Commit", "oid": "b" * 40},
        },
    ]
    found = parse_issue(1, {"__typename": "Issue", "timelineItems": {"nodes": events}}, REPO)
    assert [(c.pull, c.commit, c.repo) for c in found.closings] == [
        (None, None, None),
        (9, None, None),
        (None, "b" * 40, None),
    ]
    assert len(found.reopened_at) == 1


def test_repository_without_a_licence_is_read():
    assert parse_repo({"id": 3, "full_name": "a/b", "license": None}).licence is None
    assert parse_repo({"license": {"spdx_id": "NOASSERTION"}}).licence == "NOASSERTION"


NAMES = ("author", "title", "body", "mergedAt", "mergeCommit", "labels", "commits", "comments", "createdAt")


@given(st.dictionaries(st.sampled_from(NAMES), st.none() | st.text(max_size=5) | st.just({}), max_size=9))
def test_missing_and_null_fields_never_raise(node):
    parse_pull(1, node, REPO)
    parse_issue(1, {"__typename": "Issue", **node}, REPO)
