"""The stages that perturb a task's tests and try wrong fixes on them, on a toy without a sandbox."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from toy_task import BASE
from verified_toy import SEAL, Verified, verified_toy

from swequarry.outcome import Accepted, Boundary, Failed, RejectCode, Rejected
from swequarry.pipeline.stages.assess import AssessInput, assemble
from swequarry.pipeline.stages.stability import StabilityStage
from swequarry.pipeline.stages.strength import StrengthStage
from swequarry.records import (
    Budget,
    Checks,
    Fate,
    Stability,
    Strength,
    TestId,
    WrongFixKind,
    canonical_json,
)
from swequarry.verify.stability_measure import without_unstable

HIDDEN = {
    "tests/test_money.py": """
        import datetime
        from toy.money import add, parse

        def test_parse():
            assert parse("12 EUR") == 12

        def test_add():
            assert add(2, 3) == 5

        def test_next_year():
            today = datetime.date.today()
            assert add(today.replace(year=today.year + 1).year, 0) > today.year
    """
}
GOLD = {"toy/money.py": BASE["toy/money.py"].replace("a - b", "b + a")}
NAMED = "tests/test_money.py::{}"
BOMB = TestId(NAMED.format("test_next_year"))


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verified]:
    toy = {"gold": GOLD, "hidden": HIDDEN, "fail_to_pass": ("test_add", "test_next_year")}
    folder = tmp_path_factory.mktemp("verified")
    with verified_toy(folder, pass_to_pass=("test_parse",), **toy) as found:
        tests = {
            NAMED.format("test_add"): {"before": ["failed"] * 3, "after": ["passed"] * 3},
            BOMB: {"before": ["passed"] * 3, "after": ["passed"] * 3},
            NAMED.format("test_parse"): {"before": ["passed"] * 3, "after": ["passed"] * 3},
        }
        matrix = found.house.workspace.blobs.put(canonical_json({"version": 1, "tests": tests}))
        known = replace(found.known, verification=replace(found.known.verification, matrix=matrix))
        yield replace(found, known=known)


def stability(verified: Verified, **settings: object):
    value = replace(verified.known, test_s=1.0)
    (stored,) = verified.run(StabilityStage(verified.house_with(stability=settings)), value).outcomes
    return stored.outcome


@pytest.fixture(scope="module")
def searched(verified: Verified) -> Stability:
    outcome = stability(verified)
    assert isinstance(outcome, Accepted), outcome
    return Stability.from_json(outcome.value)


def test_test_that_fails_on_another_day_is_quarantined_and_the_task_stays(verified, searched):  # B047
    assert {(test.id, test.reason.value) for test in searched.unstable} == {(BOMB, "time")}
    matrix = {"tests": {}}
    left = without_unstable(verified.known.verification, searched, matrix)
    assert left.fail_to_pass == (NAMED.format("test_add"),)
    assert [(test.id, test.reason) for test in left.quarantined] == [(BOMB, "time")]


def test_task_of_which_only_a_time_bomb_is_left_is_rejected_with_its_reason(verified):  # B047
    known = verified.known
    only = replace(known, verification=replace(known.verification, fail_to_pass=(BOMB,)))
    outcome = stability(replace(verified, known=only), budget="default")
    assert isinstance(outcome, Rejected)
    assert outcome.code is RejectCode.UNSTABLE
    assert outcome.evidence[0].startswith(f"{BOMB} (after): time;")


def test_search_that_is_off_costs_no_run_and_sets_nothing_aside(verified):
    before = len(verified.backend.runs)
    outcome = stability(verified, budget=False)  # what YAML makes of `off`
    assert len(verified.backend.runs) == before
    found = Stability.from_json(outcome.value)
    assert (found.unstable, found.runs, found.complete) == ((), 0, False)


def test_broken_sandbox_is_no_verdict_about_stability_or_strength(verified, monkeypatch, tmp_path):
    monkeypatch.setattr(verified.backend, "broken", True)
    elsewhere = verified.elsewhere(tmp_path)
    blobs = verified.house.workspace.blobs
    elsewhere.house.workspace.blobs.put(blobs.get(verified.known.verification.matrix))
    for outcome in (stability(elsewhere), strength(elsewhere)):
        assert isinstance(outcome, Failed)
        assert outcome.boundary is Boundary.SANDBOX


def strength(verified: Verified, **settings: object):
    (stored,) = verified.run(StrengthStage(verified.house_with(strength=settings)), verified.known).outcomes
    return stored.outcome


def test_strength_is_in_the_task_and_not_in_its_hash(verified, searched):
    found = Strength.from_json(strength(verified, mutants=5, budget_s=600).value)
    assert found.count(frozenset({Fate.KILLED}), WrongFixKind.NO_OP) == 1
    assert found.coverage.lines == 1
    known = verified.known
    stable = without_unstable(known.verification, searched, {"tests": {}})
    given = AssessInput(
        candidate=known.candidate,
        snapshot=known.snapshot,
        environment=known.environment,
        measured=known.verification,
        stability=searched,
        stable=stable,
        seal=SEAL,
        checks=Checks(),
        strength=found,
    )
    task = assemble(given, Budget(time_s=60))
    assert task.strength == found
    assert task.stability == searched
    assert task.verifier.fail_to_pass == stable.fail_to_pass
    assert task.provenance.verification == known.verification.content_hash()
    unmeasured = assemble(replace(given, strength=Strength(wrong_fixes=())), Budget(time_s=60))
    assert unmeasured.strength is None
    assert unmeasured.content_hash() == task.content_hash()


def test_strength_that_is_off_costs_no_run(verified):
    before = len(verified.backend.runs)
    assert Strength.from_json(strength(verified, enabled=False).value) == Strength(wrong_fixes=())
    assert len(verified.backend.runs) == before


def test_test_file_of_a_wider_scope_is_run_by_every_grader(verified, searched):  # B067
    known = verified.known
    wide = replace(
        known.verification, scope="related", test_files=(*known.verification.test_files, "tests/test_b.py")
    )
    given = AssessInput(
        candidate=known.candidate,
        snapshot=known.snapshot,
        environment=known.environment,
        measured=wide,
        stability=searched,
        stable=wide,
        seal=SEAL,
        checks=Checks(),
        strength=Strength(wrong_fixes=()),
    )
    task = assemble(given, Budget(time_s=60))
    assert task.verifier.test_files == (*known.candidate.test_files, "tests/test_b.py")
    assert task.verification.scope == "related"
