"""A toy task as stages take it: its records in a workspace of its own, on a backend that isolates nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from fake_backend import FakeBackend
from git_building import REPO
from toy_task import Toy, toy_task
from verify_worlds import RECIPE

from swequarry.config import parse_settings
from swequarry.errors import SandboxError
from swequarry.pipeline.stage import Stage, StageItem, StageResult, run_stage
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.stages.verified import VerifiedInput
from swequarry.pipeline.stages.worlds import base_key, environment_key
from swequarry.pipeline.workspace import Workspace
from swequarry.records import (
    BlobHash,
    Candidate,
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
)

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
    known: VerifiedInput

    def house_with(self, **sections: object) -> House:
        """Return a house with other settings, in the same workspace."""
        settings = self.house.settings.model_dump(mode="json", exclude_unset=True)
        house = House(parse_settings({**settings, **sections}), self.house.workspace)
        vars(house)["backend"] = self.backend
        return house

    def run(self, stage: Stage, value: VerifiedInput) -> StageResult:
        workspace = self.house.workspace
        item = StageItem(key="x", input_hash=value.verification.content_hash(), value=value)
        return run_stage(stage, item, workspace.ledger, workspace.blobs, max_attempts=1)

    def elsewhere(self, folder: Path) -> "Verified":
        """Return the same in another workspace that has the patches alone."""
        workspace = Workspace.open(parse_settings({"workspace": str(folder / "w")}))
        for name in (self.known.candidate.gold_patch, self.known.candidate.test_patch):
            workspace.blobs.put(self.house.workspace.blobs.get(name))
        return replace(self, house=House(self.house.settings, workspace))


def a_house(folder: Path) -> House:
    settings = parse_settings({
        "workspace": str(folder / "quarry"),
        "cache": str(folder / "cache"),
        "source": {"mirror": str(folder / "toy.git")},
    })  # fmt: skip
    return House(settings, Workspace.open(settings))


def records(house: House, toy: Toy) -> VerifiedInput:
    put, bench, case = house.workspace.blobs.put, toy.rig.bench, toy.case
    candidate = Candidate(
        repo=REPO, instance_id="acme__widgets-1", pull_number=1, source="git", base_commit=COMMIT,
        base_tree=case.base, before_tree=case.before, after_tree=case.after,
        gold_patch=put(bench.diff(case.before, case.after)), test_patch=put(bench.diff(case.base, case.before)),
        gold_files=("toy/money.py",), test_files=case.test_files, cutoff=datetime(2024, 1, 1, tzinfo=UTC),
        tree_proof=TreeProof.PROVEN, statement=Statement(kind=StatementKind.ISSUE, text="t", issue_numbers=()),
    )  # fmt: skip
    audit = ClosureAudit(objects=1, checks=())
    return VerifiedInput(
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


@contextmanager
def verified_toy(folder: Path, **toy: object) -> Iterator[Verified]:
    with toy_task(folder, **toy) as made:  # type: ignore[arg-type]
        house = a_house(folder)
        known = records(house, made)
        key = environment_key(base_key(known.snapshot), known.environment)
        backend = Stored(worlds={key: folder / "world"}, variables=made.rig.backend.variables)
        vars(house)["backend"] = backend
        yield Verified(house=house, backend=backend, toy=made, known=known)
