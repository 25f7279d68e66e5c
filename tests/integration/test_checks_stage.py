"""The stage that makes canaries and twins, and gradings of one open task, on a toy without a sandbox."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fake_backend import FakeBackend
from git_building import REPO
from toy_task import BASE, Toy, toy_task
from verify_worlds import RECIPE

from swequarry.config import parse_settings
from swequarry.errors import SandboxError
from swequarry.outcome import Accepted, Boundary, Failed
from swequarry.pipeline import grader
from swequarry.pipeline.graded_task import OpenTask
from swequarry.pipeline.selftest import SUITE, SolverVerdict, self_test
from swequarry.pipeline.stage import StageItem, StageResult, run_stage
from swequarry.pipeline.stages.assess import AssessInput, assemble
from swequarry.pipeline.stages.checks import ChecksInput, ChecksStage
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.stages.worlds import base_key, environment_key
from swequarry.pipeline.workspace import Workspace
from swequarry.records import (
    BlobHash,
    Budget,
    Candidate,
    Checks,
    ClosureAudit,
    CommitSha,
    ContentHash,
    Environment,
    Seal,
    Snapshot,
    Statement,
    StatementKind,
    TreeProof,
    Verification,
    sha256_hex,
)
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
COMMIT = CommitSha("b" * 40)
SEAL = Seal(
    scanner=1, snapshot=ContentHash("d" * 64), environment=ContentHash("e" * 64), checks=(), lines=0, words=0, blocks=0
)  # fmt: skip


class Stored(FakeBackend):
    """A fake backend that says which worlds it has, and breaks where it's told to."""

    broken = False

    def has_world(self, key: str) -> bool:
        return key in self.worlds

    def run_once(self, *given):
        if self.broken:
            raise SandboxError("no memory")
        return super().run_once(*given)


@dataclass
class Verified:
    """A verified toy in a workspace of its own."""

    house: House
    backend: Stored
    toy: Toy
    known: ChecksInput

    def run(self, test_s: float | None = None, **checks: object) -> StageResult:
        settings = self.house.settings.model_dump(mode="json", exclude_unset=True)
        house = House(parse_settings({**settings, "checks": checks}), self.house.workspace)
        vars(house)["backend"] = self.backend
        item = StageItem(key="x", input_hash=ContentHash("a" * 64), value=replace(self.known, test_s=test_s))
        return run_stage(
            ChecksStage(house), item, house.workspace.ledger, house.workspace.blobs, max_attempts=1
        )


def a_house(folder: Path) -> House:
    settings = parse_settings({
        "workspace": str(folder / "quarry"),
        "cache": str(folder / "cache"),
        "source": {"mirror": str(folder / "toy.git")},
    })  # fmt: skip
    return House(settings, Workspace.open(settings))


def records(house: House, toy: Toy) -> ChecksInput:
    put, bench, case = house.workspace.blobs.put, toy.rig.bench, toy.case
    candidate = Candidate(
        repo=REPO, instance_id="acme__widgets-1", pull_number=1, source="git", base_commit=COMMIT,
        base_tree=case.base, before_tree=case.before, after_tree=case.after,
        gold_patch=put(bench.diff(case.before, case.after)), test_patch=put(bench.diff(case.base, case.before)),
        gold_files=("toy/money.py",), test_files=case.test_files, cutoff=datetime(2024, 1, 1, tzinfo=UTC),
        tree_proof=TreeProof.PROVEN, statement=Statement(kind=StatementKind.ISSUE, text="t", issue_numbers=()),
    )  # fmt: skip
    audit = ClosureAudit(objects=1, checks=())
    return ChecksInput(
        candidate=candidate,
        snapshot=Snapshot(
            repo=REPO, base_commit=COMMIT, base_tree=case.base, history="full", audit=audit
        ),
        environment=Environment(
            backend="fake", python_version="3.11.7", recipe=RECIPE, lock=BlobHash("c" * 64)
        ),
        verification=Verification(
            backend="fake", scope="touched", test_command=("python", "-m", "pytest"), test_files=case.test_files,
            runs_before=1, runs_after=1, fail_to_pass=case.fail_to_pass, pass_to_pass=case.pass_to_pass,
        ),
    )  # fmt: skip


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verified]:
    folder = tmp_path_factory.mktemp("verified")
    gold = {"toy/money.py": BASE["toy/money.py"].replace("a - b", "a + b")}
    with ExitStack() as held:
        toy = held.enter_context(
            toy_task(
                folder, gold=gold, hidden=NARROW, fail_to_pass=("test_add",), pass_to_pass=("test_parse",)
            )
        )
        house = a_house(folder)
        known = records(house, toy)
        key = environment_key(base_key(known.snapshot), known.environment)
        backend = Stored(worlds={key: folder / "world"}, variables=toy.rig.backend.variables)
        vars(house)["backend"] = backend
        yield Verified(house=house, backend=backend, toy=toy, known=known)


@pytest.fixture(scope="module")
def made(verified: Verified) -> Checks:
    (stored,) = verified.run().outcomes
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
    elsewhere = Workspace.open(parse_settings({"workspace": str(tmp_path / "w")}))
    other = replace(verified, house=House(verified.house.settings, elsewhere))
    for name in (verified.known.candidate.gold_patch, verified.known.candidate.test_patch):
        elsewhere.blobs.put(verified.house.workspace.blobs.get(name))
    (stored,) = other.run(test_s=1.0).outcomes
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
    (stored,) = verified.run(test_s=1.0, **settings).outcomes
    checks = Checks.from_json(stored.outcome.value)
    assert (checks.canaries, checks.held_out) == (None, None)
    assert all(said.startswith(start) for said, start in zip(checks.left_out, left_out, strict=True))
    assert len(verified.backend.runs) == before


def test_budget_for_canaries_alone_makes_them_and_no_twins(verified, made):
    (stored,) = verified.run(test_s=1.0, budget_s=8).outcomes
    checks = Checks.from_json(stored.outcome.value)
    assert checks.canaries == made.canaries
    assert len(checks.held_out.twins) < len(made.held_out.twins)
    assert [said.partition(":")[0] for said in checks.left_out] == ["held-out twins with other inputs"]


def test_broken_sandbox_is_a_failure_and_no_task_without_canaries(verified, monkeypatch):
    monkeypatch.setattr(verified.backend, "broken", True)
    (stored,) = verified.run(budget_s=800).outcomes
    assert isinstance(stored.outcome, Failed)
    assert stored.outcome.boundary is Boundary.SANDBOX


@pytest.fixture(scope="module")
def opened(verified, made):
    known = verified.known
    records_ = AssessInput(
        candidate=known.candidate, snapshot=known.snapshot, environment=known.environment,
        verification=known.verification, seal=SEAL, checks=made,
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
