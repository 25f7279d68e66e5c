"""Links by all that is known: GitHub's own word, keywords, and what speaks against them (B003, B004, B006, B007)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.evidence import (
    CLOSED_BY_OTHER,
    NEVER_CLOSED,
    NEWER,
    REASONS,
    REOPENED,
    Timelines,
    link_pull,
    say_link,
)
from miner.linking import NEGATED, TARGET_IS_PULL_REQUEST
from swequarry.records import (
    CommitSha,
    IssueClosing,
    IssueRecord,
    IssueRef,
    LinkPlace,
    MergeKind,
    PullRecord,
    RepoRef,
)

REPO = RepoRef(owner="acme", name="widgets")
MERGED = datetime(2024, 3, 1, tzinfo=UTC)
SHA = CommitSha("a" * 40)


def pull(number: int = 60, body: str | None = None, **more) -> PullRecord:
    given = {"title": "Change", "merged_at": MERGED, "base_branch": "main", "default_branch": "main", **more}
    return PullRecord(
        repo=REPO,
        number=number,
        merge_kind=MergeKind.SQUASH,
        merge_commit=SHA,
        base_commit=SHA,
        body=body,
        **given,
    )


def linked(record: PullRecord, *issues: IssueRecord, pulls=frozenset()):
    known = {issue.number: issue for issue in issues}
    timelines = Timelines()
    timelines.learn(known)
    return link_pull(record, known, timelines.closed_by(record), pulls)


def closed(by: int | None = None, *, commit: str | None = None, hours: float = 0.0) -> IssueClosing:
    sha = CommitSha(commit) if commit else None
    return IssueClosing(at=MERGED + timedelta(hours=hours), pull=by, commit=sha)


def test_githubs_word_comes_first_and_every_other_piece_is_kept():
    record = pull(body="Fixes #41", closing_references=(IssueRef(number=41),), commit_messages=("fix #41",))
    (link,) = linked(record, IssueRecord(number=41, closings=(closed(60),)))
    assert (link.place, link.confidence, link.ambiguous) == (LinkPlace.CLOSING_REFERENCE, "confirmed", None)
    assert len(link.notes) == 2
    assert "the description: Fixes #41" in link.notes
    said = say_link(link, REPO)
    assert said.startswith("acme/widgets#41 is resolved (confirmed)")
    assert "2024-03-01" in said
    assert "Fixes #41" in said


def test_issue_linked_by_hand_is_found_without_a_word():
    record = pull(
        body=None, title=None, closing_references=(IssueRef(number=5), IssueRef(number=6, repo="o/r"))
    )
    assert [(n.number, n.repo) for n in linked(record)] == [(5, None), (6, "o/r")]


def test_own_name_in_a_reference_is_no_other_repository():
    record = pull(body="Fixes #5", closing_references=(IssueRef(number=5, repo="Acme/Widgets"),))
    assert [(n.number, n.repo) for n in linked(record)] == [(5, None)]


def test_quoted_text_links_only_if_a_close_event_confirms_it():
    assert linked(pull(body="> fixes #6"), IssueRecord(number=6, closings=(closed(61),))) == ()
    (link,) = linked(pull(body="> fixes #6"), IssueRecord(number=6, closings=(closed(60),)))
    assert (link.number, link.place, link.confidence) == (6, LinkPlace.TIMELINE, "confirmed")


def test_closing_by_a_commit_of_the_pull_request_counts_and_by_a_stranger_does_not():
    own, other = CommitSha("b" * 40), "c" * 40
    record = pull(commits=(own,))
    assert [n.number for n in linked(record, IssueRecord(number=7, closings=(closed(commit=own),)))] == [7]
    assert linked(record, IssueRecord(number=7, closings=(closed(commit=other),))) == ()


def test_negation_outweighs_that_github_closed_the_issue():
    record = pull(
        body="Adds logging only. This does not fix #30, see the follow-up.",
        commit_messages=("Log\n\nFiled rather than fixed: #31",),
        closing_references=(IssueRef(number=30),),
    )
    found = linked(record, IssueRecord(number=30, closings=(closed(60),)))
    assert [(n.number, n.ambiguous) for n in found] == [(30, NEGATED), (31, NEGATED)]
    assert any("does not fix #30" in note for note in found[0].notes)


def test_issue_opened_again_after_the_merge_is_ambiguous_with_its_evidence():
    reopened = IssueRecord(
        number=30, closings=(closed(60, hours=0.001),), reopened_at=(MERGED + timedelta(hours=1),)
    )
    (link,) = linked(pull(body="Fixes #30"), reopened)
    assert link.ambiguous == REOPENED
    assert "isn't taken as resolved, for it was opened again" in say_link(link, REPO)
    before = replace(reopened, reopened_at=(MERGED - timedelta(days=3),))
    assert linked(pull(body="Fixes #30"), before)[0].ambiguous is None


def test_pull_request_into_another_branch_is_linked_by_its_text_with_that_evidence():
    record = pull(body="Fixes #50", base_branch="develop", closing_references=())
    (link,) = linked(record, IssueRecord(number=50, closings=(closed(61, hours=500),)))
    assert (link.number, link.ambiguous, link.confidence) == (50, None, "stated")
    assert link.notes == ("merged into develop, which isn't the default branch main",)


@pytest.mark.parametrize(
    "issue, reason",
    [
        (IssueRecord(number=9, closings=()), NEVER_CLOSED),
        (IssueRecord(number=9, closings=(closed(8, hours=-5),)), CLOSED_BY_OTHER),
        (IssueRecord(number=9, closings=(closed(None),)), None),
        (IssueRecord(number=9, closings=(closed(8), closed(60))), None),
        (IssueRecord(number=9), None),
        (IssueRecord(number=9, created_at=MERGED + timedelta(days=1)), NEWER),
        (IssueRecord(number=9, is_pull_request=True), TARGET_IS_PULL_REQUEST),
    ],
)
def test_facts_that_speak_against_a_keyword_are_said(issue, reason):
    assert linked(pull(body="Fixes #9"), issue)[0].ambiguous == reason


def test_target_that_is_a_pull_request_is_dropped_with_a_reason():
    record = pull(72, body="Closes #71, closes #70, closes other/repo#71")
    found = linked(record, pulls=frozenset({71}))
    assert [(n.number, n.repo, n.ambiguous) for n in found] == [
        (71, None, TARGET_IS_PULL_REQUEST),
        (70, None, None),
        (71, "other/repo", None),
    ]
    known = IssueRecord(number=71, is_pull_request=False)
    assert linked(record, known, pulls=frozenset({71}))[0].ambiguous is None


def test_several_pull_requests_of_one_issue_each_keep_their_own_evidence():
    issue = IssueRecord(number=5, closings=(closed(60), closed(61)))
    for number in (60, 61):
        (link,) = linked(pull(number, body="Fixes #5"), issue)
        assert (link.place, link.quote.split(" on ")[0]) == (LinkPlace.TIMELINE, f"closed by #{number}")


def test_nulls_link_nothing():
    assert linked(pull(body=None, title=None)) == ()


def test_timelines_learn_only_what_is_new():
    timelines, issues = Timelines(), {1: IssueRecord(number=1, closings=(closed(60),))}
    timelines.learn(issues)
    issues[2] = IssueRecord(number=2, closings=(closed(60),))
    timelines.learn(issues)
    assert timelines.closed_by(pull()) == (1, 2)


NUMBERS = st.integers(1, 5)
CLOSINGS = st.none() | st.lists(
    st.builds(IssueClosing, pull=st.none() | st.integers(58, 62), at=st.none() | st.just(MERGED)), max_size=3
).map(tuple)


@given(
    st.text(alphabet="fixes not, #12345\n>`", max_size=60),
    st.none() | st.lists(st.builds(IssueRef, number=NUMBERS), max_size=3).map(tuple),
    st.lists(st.builds(IssueRecord, number=NUMBERS, closings=CLOSINGS), max_size=4),
)
def test_whatever_is_known_each_issue_comes_once_and_can_be_told(body, references, issues):
    found = linked(pull(body=body, closing_references=references), *issues)
    assert len({n.number for n in found}) == len(found)
    assert {r.number for r in references or ()} <= {n.number for n in found}
    for link in found:
        assert link.ambiguous is None or link.ambiguous in REASONS
        assert say_link(link, REPO)
