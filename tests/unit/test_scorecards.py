"""Scorecards: counts come from items, and what wasn't measured isn't 0."""

import json

import pytest
from finished_run import FinishedRun
from hypothesis import given
from hypothesis import strategies as st

from swequarry.cli.main import run as command
from swequarry.ledger.attempts import AttemptEnd, AttemptStatus
from swequarry.ledger.keys import StageKey, StoredOutcome
from swequarry.outcome import Accepted, RejectCode, Rejected
from swequarry.pipeline.publish import publish
from swequarry.pipeline.scorecards import run_scorecards
from swequarry.pipeline.spending import POLICY
from swequarry.records import (
    ContentHash,
    GoldCoverage,
    Stability,
    State,
    Strength,
    TestId,
    TestStability,
    UnstableReason,
)
from swequarry.report.scorecard import End, ItemFacts, scorecards

OLD = {b"a.py": b"x = 1\n"}
NEW = {b"a.py": b"x = 2\n"}
BUILD = Rejected(code=RejectCode.BUILD_FAILED, message="m")
SPARED = Rejected(code=RejectCode.NOT_TRIED, message="the policy stops it")


@pytest.fixture
def made(tmp_path):
    return FinishedRun.make(tmp_path)


def tried(made, item, stage, outcome, **observed):
    ledger = made.workspace.ledger
    key = StageKey(
        stage=stage,
        version=1,
        input_hash=ContentHash(f"{len(item):064x}"),
        settings_hash=ContentHash("0" * 64),
    )
    number = ledger.begin_attempt(key, item)
    end = AttemptEnd(status=AttemptStatus.DONE, observed={"duration_s": 30.0, **observed})
    ledger.record(key, [StoredOutcome(item=item, outcome=outcome)], attempt=number, end=end)


def verified(made, task, *runs):
    tried(made, task.instance_id, "environment", Accepted(value={}))
    tried(made, task.instance_id, "verify", Accepted(value=task.verification.to_json()), runs=list(runs))


def base_run(passed, failed, seconds):
    return {"state": "base", "duration_s": seconds, "outcomes": {"passed": passed, "failed": failed}}


def test_numbers_are_those_of_the_ledger(made):
    task = made.task(
        1, made.upstream().commit(OLD), NEW, quarantined=(("t::flaky", "flaky"), ("t::big", "resource_limit"))
    )
    verified(
        made, task, base_run(3, 1, 60.0), {"state": "after", "duration_s": 180.0, "outcomes": {"passed": 4}}
    )
    tried(made, "acme__widgets-22", "environment", BUILD)
    run = made.finish(
        task, rejected={"acme__widgets-22": ("environment", BUILD), "acme__widgets-333": (POLICY, SPARED)}
    )
    (card,) = run_scorecards(made.workspace, run)
    assert (card.repo, card.candidates) == ("acme/widgets", 3)
    assert card.ends == {"accepted": 1, "rejected": 1, "failed": 0, "not_tried": 1, "open": 0}
    assert (card.builds.part, card.builds.whole) == (1, 2)
    assert (card.base_tests.part, card.base_tests.whole) == (3, 4)
    assert (card.flakes.part, card.flakes.whole) == (1, 4)
    assert (card.run_minutes_median, card.run_minutes_slowest) == (2.0, 3.0)
    assert card.spent_minutes == card.minutes_per_task == 1.5
    assert card.coverage.share is None
    assert card.causes == {"build_failed": 1, "not_tried": 1}


@pytest.mark.parametrize("wrap", [lambda one, _: one, lambda one, name: {"other": 1, name: one}])
def test_strength_and_stability_count_where_stages_left_them(made, wrap):
    task = made.task(1, made.upstream().commit(OLD), NEW)
    verified(made, task)
    coverage = GoldCoverage(lines=4, covered_lines=3)
    unstable = TestStability(
        id=TestId("tests/test_a.py::test_one"),
        state=State.AFTER,
        runs=2,
        passes=1,
        reason=UnstableReason.TIME,
    )
    strength, stability = Strength(wrong_fixes=(), coverage=coverage), Stability(unstable=(unstable,))
    tried(made, task.instance_id, "strength", Accepted(value=wrap(strength.to_json(), "strength")))
    tried(made, task.instance_id, "stability", Accepted(value=wrap(stability.to_json(), "stability")))
    (card,) = run_scorecards(made.workspace, made.finish(task))
    assert (card.coverage.part, card.coverage.whole) == (3, 4)
    assert (card.flakes.part, card.flakes.whole) == (1, 2)


def test_stage_that_leaves_something_else_under_that_name_is_passed_over(made):
    task = made.task(1, made.upstream().commit(OLD), NEW)
    verified(made, task)
    tried(made, task.instance_id, "strength", Accepted(value={"grade": "A"}))
    (card,) = run_scorecards(made.workspace, made.finish(task))
    assert card.coverage.whole == 0


facts = st.lists(
    st.builds(
        ItemFacts,
        repo=st.sampled_from(["a/one", "b/two"]),
        end=st.sampled_from(End),
        built=st.sampled_from([None, True, False]),
        base_tests=st.integers(3, 9),
        base_passed=st.integers(0, 3),
        spent_s=st.floats(0, 100),
    ),
    max_size=12,
)


@given(facts)
def test_every_item_stands_once_in_the_card_of_its_repository(found):
    cards = scorecards(found)
    assert sum(card.candidates for card in cards) == len(found)
    assert [card.repo for card in cards] == sorted({one.repo for one in found})
    for card in cards:
        assert card.builds.whole == sum(one.repo == card.repo and one.built is not None for one in found)
        assert card.base_tests.share is None or 0 <= card.base_tests.share <= 1
        assert (card.minutes_per_task is None) == (card.ends["accepted"] == 0)


def test_command_report_and_why_tell_what_was_not_tried(made, capsys):
    task = made.task(1, made.upstream().commit(OLD), NEW)
    verified(made, task, base_run(1, 0, 1.0))
    run = made.finish(task, rejected={"acme__widgets-333": (POLICY, SPARED)})
    place = ["-w", str(made.settings.workspace)]
    assert command(["scorecard", *place, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema_version"], told["repositories"][0]["ends"]["not_tried"]) == (1, 1)
    assert command(["scorecard", *place]) == 0
    assert "acme/widgets" in capsys.readouterr().out
    assert command(["why", "333", *place]) == 0
    assert "not tried: the policy stops it" in capsys.readouterr().out
    assert command(["status", *place, "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["ends"] == {
        "accepted": 1,
        "rejected": 1,
        "failed": 0,
        "open": 0,
        "candidates": 2,
        "not_tried": 1,
    }
    assert [row["passed"] for row in status["funnel"][:3]] == [2, 1, 1]
    assert publish(made.workspace, run.number).not_tried == 1
    assert "What the runs showed per repository" in made.workspace.report.read_text()
