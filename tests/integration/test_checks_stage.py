"""The stage that makes canaries and twins, and gradings of one open task, on a toy without a sandbox."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest
from toy_task import BASE
from verified_toy import SEAL, Verified, verified_toy
from verify_worlds import RECIPE

from swequarry.outcome import Accepted, Boundary, Failed
from swequarry.pipeline import grader
from swequarry.pipeline.graded_task import OpenTask
from swequarry.pipeline.selftest import SUITE, SolverVerdict, self_test
from swequarry.pipeline.stage import StageResult
from swequarry.pipeline.stages.assess import AssessInput, assemble
from swequarry.pipeline.stages.checks import ChecksStage
from swequarry.records import Budget, Checks, Stability, Strength, sha256_hex
from swequarry.sandbox.contract import World

NARROW = {
    "tests/test_money.py": """
        from toy.money import add, parse

        def test_parse():
            assert parse("12 EUR") == 12

        def test_add():
            assert add(2, 3) == 5
            assert add(10, 20) == 30
    """
}


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verified]:
    gold = {"toy/money.py": BASE["toy/money.py"].replace("a - b", "a + b")}
    toy = {"gold": gold, "hidden": NARROW, "fail_to_pass": ("test_add",), "pass_to_pass": ("test_parse",)}
    with verified_toy(tmp_path_factory.mktemp("verified"), **toy) as found:
        yield found


def run(verified: Verified, test_s: float | None = None, **checks: object) -> StageResult:
    value = replace(verified.known, test_s=test_s)
    return verified.run(ChecksStage(verified.house_with(checks=checks)), value)


@pytest.fixture(scope="module")
def made(verified: Verified) -> Checks:
    (stored,) = run(verified).outcomes
    assert isinstance(stored.outcome, Accepted), stored.outcome
    return Checks.from_json(stored.outcome.value)


def test_checks_of_a_verified_task_are_its_canaries_and_twins_by_hash(verified, made):
    assert (made.canaries.covered, made.canaries.fail_to_pass) == (1, 1)
    assert made.held_out.twins
    assert made.left_out == ()
    assert all(
        verified.house.workspace.blobs.has(file.content)
        for file in (*made.canaries.files, *made.held_out.files)
    )


def test_checks_made_again_in_another_workspace_are_the_same_bytes(verified, made, tmp_path):
    (stored,) = run(verified.elsewhere(tmp_path), test_s=1.0).outcomes
    assert Checks.from_json(stored.outcome.value) == made


@pytest.mark.parametrize(
    ("settings", "left_out"),
    [
        ({"budget_s": 3}, ("canaries: ", "held-out twins: ")),
        ({"enabled": False}, ("canaries and held-out twins: ",)),
    ],
)
def test_what_is_not_made_is_said_and_costs_no_run(verified, settings, left_out):
    before = len(verified.backend.runs)
    (stored,) = run(verified, test_s=1.0, **settings).outcomes
    checks = Checks.from_json(stored.outcome.value)
    assert (checks.canaries, checks.held_out) == (None, None)
    assert all(said.startswith(start) for said, start in zip(checks.left_out, left_out, strict=True))
    assert len(verified.backend.runs) == before


def test_budget_for_canaries_alone_makes_them_and_no_twins(verified, made):
    (stored,) = run(verified, test_s=1.0, budget_s=8).outcomes
    checks = Checks.from_json(stored.outcome.value)
    assert checks.canaries == made.canaries
    assert len(checks.held_out.twins) < len(made.held_out.twins)
    assert [said.partition(":")[0] for said in checks.left_out] == ["held-out twins with other inputs"]


def test_broken_sandbox_is_a_failure_and_no_task_without_canaries(verified, monkeypatch):
    monkeypatch.setattr(verified.backend, "broken", True)
    (stored,) = run(verified, budget_s=800).outcomes
    assert isinstance(stored.outcome, Failed)
    assert stored.outcome.boundary is Boundary.SANDBOX


@pytest.fixture(scope="module")
def opened(verified, made):
    known = verified.known
    records_ = AssessInput(
        candidate=known.candidate, snapshot=known.snapshot, environment=known.environment,
        measured=known.verification, stability=Stability(), stable=known.verification, seal=SEAL, checks=made,
        strength=Strength(wrong_fixes=()),
    )  # fmt: skip
    rig, found = verified.toy.rig.surveyed(RECIPE)
    assert rig.survey is found
    (key,) = verified.backend.worlds
    return OpenTask(
        house=verified.house,
        task=assemble(records_, Budget(time_s=60)),
        world=World(backend="fake", key=key),
        survey=found,
    )


def test_open_task_grades_with_its_canaries_and_twins_in_any_number_of_threads(opened):
    wanted = {"a value that equals everything", "a table of the known inputs", "gold with tests of its own"}
    findings = self_test(
        opened, [s for s in SUITE if s.attack.name in wanted], workers=2, tell=lambda _: None
    )
    verdict = {found.name: (found.verdict, found.how.partition(":")[0]) for found in findings}
    assert verdict == {
        "gold": (SolverVerdict.ACCEPTED, "every test passed"),
        "gold with tests of its own": (SolverVerdict.ACCEPTED, "every test passed"),
        "a value that equals everything": (SolverVerdict.REJECTED, "tampering, by canary"),
        "a table of the known inputs": (SolverVerdict.REJECTED, "held_out"),
    }


def test_calls_at_the_same_time_each_get_the_verdict_of_their_own_patch(opened, verified, monkeypatch):
    asked = []
    monkeypatch.setattr(grader, "open_task", lambda _house, name: asked.append(name) or opened)
    gold = verified.house.workspace.blobs.get(opened.task.candidate.gold_patch)
    patches = [
        gold,
        b"",
        gold.replace(b"a + b", b"a * b"),
        b"no patch",
        gold.replace(b"a + b", b"b - a"),
        gold,
    ]

    async def all_at_once():
        async with grader.Grader(verified.house, workers=3) as service:
            return await asyncio.gather(*(service.grade("task", patch) for patch in patches))

    done = asyncio.run(all_at_once())
    assert [one.resolved for one in done] == [True, False, False, False, False, True]
    assert [one.patch_sha256 for one in done] == [sha256_hex(patch) for patch in patches]
    assert done[0] == done[-1]
    assert done[2].passed_pass_to_pass == done[2].pass_to_pass == 1
    assert asked == ["task"]
