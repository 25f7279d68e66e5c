"""Counts come from items: nothing is lost between the funnel, the reasons and the repositories."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from report_factory import STAGES, make_report
from task_factory import Blobs, make_task

from swequarry.outcome import REJECT_MEANING, Boundary, RejectCode
from swequarry.records import RepoRef, StatementKind
from swequarry.report.counts import BOUNDARY_MEANING, ends, funnel, reasons, stage_timings, yields
from swequarry.report.model import (
    FailureEntry,
    OpenEntry,
    RejectEntry,
    ReportData,
    RunInfo,
    TaskEntry,
    Timing,
)
from swequarry.report.text import funnel_rows, reason_rows, yield_rows

names = st.sampled_from([stage.name for stage in STAGES] + ["a_stage_nobody_listed"])
repos = st.sampled_from(["a/one", "b/two", "c/three"])


def _task(repo, kind):
    owner, name = repo.split("/")
    return TaskEntry(task=make_task(Blobs(), repo=RepoRef(owner=owner, name=name), kind=kind))


reports = st.builds(
    ReportData,
    run=st.just(RunInfo(title="t", version="0")),
    stages=st.just(STAGES),
    tasks=st.lists(st.builds(_task, repos, st.sampled_from(StatementKind)), max_size=4).map(tuple),
    rejects=st.lists(
        st.builds(
            RejectEntry,
            item=st.text(max_size=3),
            repo=repos,
            stage=names,
            code=st.sampled_from(RejectCode),
            message=st.just("m"),
        )
    ).map(tuple),
    failures=st.lists(
        st.builds(
            FailureEntry,
            item=st.text(max_size=3),
            repo=repos,
            stage=names,
            boundary=st.sampled_from(Boundary),
            message=st.just("m"),
        )
    ).map(tuple),
    open_items=st.lists(st.builds(OpenEntry, item=st.text(max_size=3), repo=repos, stage=names)).map(tuple),
)


@given(reports)
def test_candidates_are_accepted_rejected_failed_and_open_everywhere(data):
    total = ends(data)
    stages, lines = funnel(data), yields(data)
    assert stages[0].entered == total.candidates
    assert stages[-1].passed == total.accepted == len(data.tasks)
    assert all(later.entered == earlier.passed for earlier, later in itertools.pairwise(stages))
    assert sum(stage.rejected for stage in stages) == total.rejected
    assert sum(stage.failed for stage in stages) == total.failed
    assert sum(line.ends.candidates for line in lines) == total.candidates
    assert sum(line.ends.accepted for line in lines) == total.accepted
    assert sum(reason.count for reason in reasons(data)) == total.rejected + total.failed
    assert sum(line.from_commits for line in lines) <= total.accepted


@given(reports)
def test_text_rows_say_the_same_as_the_counts(data):
    assert [row.passed for row in funnel_rows(data)] == [stage.passed for stage in funnel(data)]
    assert sum(row.count for row in reason_rows(data)) == len(data.rejects) + len(data.failures)
    for row in yield_rows(data):
        assert row.candidates == row.accepted + row.rejected + row.failed + row.open
        assert 0 <= row.share <= 1


def test_nothing_at_all_gives_rows_without_dividing_by_zero():
    data = ReportData(run=RunInfo(title="t", version="0"), stages=STAGES)
    assert {row.share for row in funnel_rows(data)} == {0.0}
    assert reason_rows(data) == yield_rows(data) == stage_timings(data) == ()


def test_every_code_and_boundary_has_a_meaning():
    assert set(BOUNDARY_MEANING) == set(Boundary)
    assert set(REJECT_MEANING) == set(RejectCode)


def test_most_frequent_reason_comes_first_and_failures_stand_apart():
    data, _ = make_report()
    found = reasons(data)
    assert [reason.count for reason in found] == sorted((reason.count for reason in found), reverse=True)
    assert found[0].code == "no_test_change"
    assert [reason.code for reason in found if reason.kind == "failed"] == ["index"]


def test_longest_item_is_named():
    timings = tuple(Timing(stage="verify", item=str(n), seconds=float(n)) for n in range(1, 11))
    (line,) = stage_timings(ReportData(run=RunInfo(title="t", version="0"), stages=STAGES, timings=timings))
    assert (line.count, line.total_s, line.median_s, line.p90_s, line.longest_s, line.longest_item) == (
        10,
        55.0,
        5.5,
        10.0,
        10.0,
        "10",
    )
