"""The line of one candidate, from snapshot to assess, and the work that executors run."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar, assert_never

from miner.mine import MineUnit, unit_fingerprint
from swequarry.config import Settings, parse_settings
from swequarry.ledger.keys import StoredOutcome
from swequarry.outcome import Accepted, Failed, Rejected
from swequarry.pipeline.stage import Stage, StageItem, StageResult, run_stage
from swequarry.pipeline.stages.assess import AssessInput, AssessStage
from swequarry.pipeline.stages.checks import ChecksStage, measured_time
from swequarry.pipeline.stages.environment import EnvironmentInput, EnvironmentStage, with_override
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.stages.interface import InterfaceInput, InterfaceStage, told, without_dropped
from swequarry.pipeline.stages.mine import MineStage
from swequarry.pipeline.stages.seal import SealInput, SealStage
from swequarry.pipeline.stages.snapshot import SnapshotStage
from swequarry.pipeline.stages.stability import StabilityStage, matrix_of
from swequarry.pipeline.stages.strength import StrengthStage
from swequarry.pipeline.stages.testwriter import TestWriterStage, WritingInput
from swequarry.pipeline.stages.verified import VerifiedInput
from swequarry.pipeline.stages.verify import VerifyInput, VerifyStage
from swequarry.pipeline.worker import ItemStatus
from swequarry.pipeline.workspace import Workspace
from swequarry.records import (
    BlobHash,
    Candidate,
    Checks,
    ContentHash,
    Environment,
    InterfaceRecord,
    Seal,
    Snapshot,
    Stability,
    Strength,
    Verification,
    Writing,
    canonical_json,
    sha256_hex,
)
from swequarry.verify.stability_measure import without_unstable

T = TypeVar("T")
LAST_STAGE = "assess"


@dataclass(frozen=True, slots=True)
class Ended:
    """Where a candidate ended, how, and whether it is for good."""

    stage: str
    outcome: StoredOutcome
    final: bool

    @property
    def status(self) -> ItemStatus:
        """What an executor calls it; AGAIN where another attempt is due."""
        if not self.final:
            return ItemStatus.AGAIN
        match self.outcome.outcome:
            case Accepted():
                return ItemStatus.ACCEPTED
            case Rejected():
                return ItemStatus.REJECTED
            case Failed():
                return ItemStatus.FAILED
            case never:
                assert_never(never)


class _Stop(Exception):  # noqa: N818 - control flow of this file, no error
    def __init__(self, ended: Ended) -> None:
        super().__init__(ended.stage)
        self.ended = ended


def joint_hash(*parts: ContentHash) -> ContentHash:
    """Return the hash of several records, in their order: the input hash of a stage that takes them all."""
    return ContentHash(sha256_hex(canonical_json(list(parts))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a candidate's tests run."""

    item: str
    snapshot: Snapshot
    environment: Environment

    def world(self, candidate: Candidate) -> ContentHash:
        """Return the hash of a candidate in this place."""
        frozen = joint_hash(candidate.content_hash(), self.snapshot.content_hash())
        return joint_hash(frozen, self.environment.content_hash())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """A candidate, and what the stages found that look at its tests."""

    candidate: Candidate
    measured: Verification
    stability: Stability
    stable: Verification
    interface: InterfaceRecord
    seal: Seal
    checks: Checks
    strength: Strength


def _with_tests(candidate: Candidate, writings: Sequence[Writing]) -> Candidate:
    return next((one.candidate for one in reversed(writings) if one.candidate is not None), candidate)


@dataclass(frozen=True, slots=True)
class Line:
    """Takes candidates through the stages; every stage is memoised in the ledger."""

    house: House

    def mine(self, unit: MineUnit) -> StageResult:
        """Return what one unit of the source gave."""
        fingerprint = unit_fingerprint(unit, self.house.settings, self.house.locator)
        return self._run(MineStage(self.house), StageItem(key=unit.key, input_hash=fingerprint, value=unit))

    def advance(self, item: str, candidate: Candidate) -> Ended:
        """Take a candidate as far as it gets: to a task, a rejection or a failure."""
        try:
            return self._through(item, candidate)
        except _Stop as stop:
            return stop.ended

    def _through(self, item: str, candidate: Candidate) -> Ended:
        house, base = self.house, candidate.content_hash()
        snapshot = Snapshot.from_json(
            self._accept(SnapshotStage(house), StageItem(key=item, input_hash=base, value=candidate))
        )
        first = EnvironmentInput(candidate=candidate, snapshot=snapshot)
        frozen = joint_hash(base, snapshot.content_hash())
        wanted = with_override(frozen, house.settings, candidate.repo)
        environment = Environment.from_json(
            self._accept(EnvironmentStage(house), StageItem(key=item, input_hash=wanted, value=first))
        )
        place = _Place(item=item, snapshot=snapshot, environment=environment)
        writings: tuple[Writing, ...] = ()
        if not candidate.test_files:
            writings = (self._written(place, candidate, None),)
        judged = self._judged(place, _with_tests(candidate, writings))
        if judged.strength.wrong_fixes:
            known = told(judged.candidate, judged.interface)
            more = self._written(place, known, judged.strength)
            if more.candidate is not None:
                added = replace(more.candidate, statement=judged.candidate.statement)
                judged = self._judged(place, added)
            writings = (*writings, more)
        return self._assessed(place, judged, writings)

    def _written(self, place: _Place, candidate: Candidate, strength: Strength | None) -> Writing:
        """Return what the TestWriter makes of a candidate; without strength it has no tests yet."""
        known = WritingInput(
            candidate=candidate, snapshot=place.snapshot, environment=place.environment, strength=strength
        )
        parts = () if strength is None else (strength.content_hash(),)
        wanted = joint_hash(place.world(candidate), *parts)
        item = StageItem(key=place.item, input_hash=wanted, value=known)
        return Writing.from_json(self._accept(TestWriterStage(self.house), item))

    def _judged(self, place: _Place, candidate: Candidate) -> _Judged:
        """Take a candidate with tests through all that looks at them."""
        house, item, world = self.house, place.item, place.world(candidate)
        snapshot, environment = place.snapshot, place.environment
        second = VerifyInput(candidate=candidate, snapshot=snapshot, environment=environment)
        verification = Verification.from_json(
            self._accept(VerifyStage(house), StageItem(key=item, input_hash=world, value=second))
        )
        inside = SealInput(candidate=candidate, snapshot=snapshot, environment=environment)
        seal = Seal.from_json(
            self._accept(SealStage(house), StageItem(key=item, input_hash=world, value=inside))
        )
        measured = joint_hash(world, verification.content_hash())
        third = VerifiedInput(
            candidate=candidate,
            snapshot=snapshot,
            environment=environment,
            verification=verification,
            test_s=measured_time(house.workspace.ledger, item),
        )
        stability = Stability.from_json(
            self._accept(StabilityStage(house), StageItem(key=item, input_hash=measured, value=third))
        )
        stable = without_unstable(verification, stability, matrix_of(house, verification))
        asked = InterfaceInput(candidate=candidate, environment=environment, verification=stable)
        lists = StageItem(key=item, input_hash=joint_hash(world, stable.content_hash()), value=asked)
        interface = InterfaceRecord.from_json(self._accept(InterfaceStage(house), lists))
        stable = without_dropped(stable, interface)
        settled = joint_hash(world, stable.content_hash())
        fourth = StageItem(key=item, input_hash=settled, value=replace(third, verification=stable))
        checks = Checks.from_json(self._accept(ChecksStage(house), fourth))
        strength = Strength.from_json(self._accept(StrengthStage(house), fourth))
        return _Judged(
            candidate=candidate,
            measured=verification,
            stability=stability,
            stable=stable,
            interface=interface,
            seal=seal,
            checks=checks,
            strength=strength,
        )

    def _assessed(self, place: _Place, judged: _Judged, writings: Sequence[Writing]) -> Ended:
        last = AssessInput(
            candidate=told(judged.candidate, judged.interface),
            snapshot=place.snapshot,
            environment=place.environment,
            measured=judged.measured,
            stability=judged.stability,
            stable=judged.stable,
            seal=judged.seal,
            checks=judged.checks,
            strength=judged.strength,
            interface=judged.interface,
            writings=tuple(writings),
        )
        parts = (judged.measured, judged.stability, judged.checks, judged.strength, judged.seal, *writings)
        if judged.interface.demands:
            parts = (*parts, judged.interface)
        proven = joint_hash(place.world(judged.candidate), *(part.content_hash() for part in parts))
        item = StageItem(key=place.item, input_hash=proven, value=last)
        result = self._run(AssessStage(self.house), item)
        return Ended(LAST_STAGE, result.outcomes[0], result.final)

    def _accept(self, stage: Stage[T], item: StageItem[T]) -> object:
        result = self._run(stage, item)
        outcome = result.outcomes[0]
        if isinstance(outcome.outcome, Accepted):
            return outcome.outcome.value
        raise _Stop(Ended(stage.name, outcome, result.final))

    def _run(self, stage: Stage[T], item: StageItem[T]) -> StageResult:
        house = self.house
        return run_stage(
            stage,
            item,
            house.workspace.ledger,
            house.workspace.blobs,
            max_attempts=house.settings.max_attempts,
        )


@cache
def _line(settings_json: str) -> Line:
    settings = parse_settings(json.loads(settings_json))
    return Line(House(settings, Workspace.open(settings)))


def settings_text(settings: Settings) -> str:
    """Return settings as text that crosses into a worker process, wherever that stands."""
    here = settings.model_copy(update={"workspace": settings.workspace.absolute()})
    return json.dumps(here.model_dump(mode="json"), sort_keys=True)


@dataclass(frozen=True, slots=True)
class MachineCheck:
    """Says what a machine lacks that the driver's has: a candidate must end in the same way on both."""

    settings_json: str
    interpreters: tuple[str, ...]

    @classmethod
    def of(cls, house: House) -> "MachineCheck":
        """Return what to ask of other machines, going by this one."""
        return cls(settings_text(house.settings), _minors(house))

    def __call__(self) -> tuple[str, ...]:
        """Return what is missing here; empty where the work can be done."""
        house = _line(self.settings_json).house
        missing = house.backend.probe()
        if missing:
            return missing
        lacking = [version for version in self.interpreters if version not in _minors(house)]
        return (f"it lacks Python {', '.join(lacking)}, which the driver's machine has",) if lacking else ()


def _minors(house: House) -> tuple[str, ...]:
    """Return the versions `3.9` of the interpreters that sandboxes have here."""
    return tuple(sorted({".".join(one.version.split(".")[:2]) for one in house.backend.interpreters()}))


def _status(result: StageResult) -> ItemStatus:
    return ItemStatus.DONE if result.final else ItemStatus.AGAIN


def mined_name(unit: str) -> str:
    """Return the name of the selection that holds the key under which a unit's result lies."""
    return f"mined {unit}"


@dataclass(frozen=True, slots=True)
class MineWork:
    """Mines one unit in a worker; the result lies in the ledger."""

    settings_json: str
    run: int
    units: Mapping[str, MineUnit]

    def __call__(self, item: str) -> ItemStatus:
        """Run stage `mine` for the unit of this key."""
        line = _line(self.settings_json)
        try:
            result = line.mine(self.units[item])
        finally:
            line.house.locator.clones.release()
        if result.final:
            # Who reads it may have no clone of this repository, and so can't tell under which key it lies.
            line.house.workspace.ledger.save_selection(self.run, [result.key.digest()], mined_name(item))
        return _status(result)

    def bare(self) -> "MineWork":
        """Return it without units; see `Portioned`."""
        return replace(self, units={})

    def portion(self, item: str) -> MineUnit:
        """Return the unit of a key."""
        return self.units[item]

    def given(self, item: str, portion: MineUnit) -> "MineWork":
        """Return it with one unit."""
        return replace(self, units={item: portion})


@dataclass(frozen=True, slots=True)
class CandidateWork:
    """Takes one candidate through the line in a worker, and writes down how it ended in this run.

    `candidates` maps item keys to blobs with the candidate's JSON.
    """

    settings_json: str
    run: int
    candidates: Mapping[str, BlobHash]

    def __call__(self, item: str) -> ItemStatus:
        """Advance the candidate of this key."""
        line = _line(self.settings_json)
        workspace = line.house.workspace
        candidate = Candidate.from_json(json.loads(workspace.blobs.get(self.candidates[item])))
        try:
            ended = line.advance(item, candidate)
        finally:
            line.house.locator.clones.release()
        if ended.final:
            workspace.ledger.settle(self.run, ended.stage, ended.outcome)
        return ended.status

    def bare(self) -> "CandidateWork":
        """Return it without candidates; see `Portioned`."""
        return replace(self, candidates={})

    def portion(self, item: str) -> BlobHash:
        """Return the blob of a candidate."""
        return self.candidates[item]

    def given(self, item: str, portion: BlobHash) -> "CandidateWork":
        """Return it with one candidate."""
        return replace(self, candidates={item: portion})
