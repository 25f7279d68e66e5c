"""One run from settings to dataset: mine, take every candidate through the line, balance the books."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from miner.mine import MineUnit, check_source, mine_units
from miner.variants import find_variants
from swequarry.config import Settings
from swequarry.ledger.attempts import AttemptStatus
from swequarry.ledger.keys import StoredOutcome
from swequarry.ledger.queries import attempts_of
from swequarry.ledger.runs import Account, balance
from swequarry.outcome import Accepted
from swequarry.pipeline.executor import ItemEvent, RunReport, run_items
from swequarry.pipeline.item_queue import Gate
from swequarry.pipeline.line import CandidateWork, Line, MineWork, mined_name, settings_text
from swequarry.pipeline.placing import executor_options
from swequarry.pipeline.spending import SpendingGate
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.workspace import Workspace
from swequarry.records import BlobHash, Candidate, ContentHash, canonical_json

MINE = "mine"
Watch: TypeAlias = Callable[[str, ItemEvent], None]
"""Told of every event with the name of the phase, `mine` or `line`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """What came of a run. `account` is None where it was stopped before every item had its end."""

    run: int
    selected: tuple[str, ...]
    account: Account | None
    remarks: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    interrupted: bool = False
    halted: str | None = None


def ignore_events(_phase: str, _event: ItemEvent) -> None:
    """Tell nobody."""


def run_settings(settings: Settings, watch: Watch = ignore_events) -> RunSummary:
    """Run the whole line, or continue it: what the ledger knows already isn't done again.

    Raises:
        InputError, ConfigError, AuthenticationError: the source can't be read at all.
        SandboxUnavailableError: no sandbox of the chosen backend can run here.
        StorageError: the ledger or the blobs can't be used.
    """
    house = House(settings, Workspace.open(settings))
    ledger = house.workspace.ledger
    units = {unit.key: unit for unit in mine_units(settings)}
    check_source(settings, house.locator)
    house.backend.sweep()
    ledger.reopen_failed()
    number = ledger.save_run(settings.model_dump(mode="json"))
    try:
        return _Run(house, number, watch).make(units)
    finally:
        ledger.end_run(number)


def mine_settings(settings: Settings, watch: Watch = ignore_events) -> tuple[StoredOutcome, ...]:
    """Mine only, or continue that: return how every pull request or row ended.

    Units that weren't finished, because it was interrupted or no space is left, give no outcome.

    Raises:
        InputError, ConfigError, AuthenticationError: the source can't be read at all.
        StorageError: the ledger or the blobs can't be used.
    """
    house = House(settings, Workspace.open(settings))
    units = {unit.key: unit for unit in mine_units(settings)}
    check_source(settings, house.locator)
    house.workspace.ledger.reopen_failed()
    run = _Run(house, house.workspace.ledger.save_run(settings.model_dump(mode="json")), watch)
    try:
        mined = run.mine(units)
        finished = {key: unit for key, unit in units.items() if key not in mined.unfinished}
        return tuple(run.outcomes(finished, mined))
    finally:
        house.workspace.ledger.end_run(run.number)


def _repositories(outcomes: Sequence[StoredOutcome]) -> dict[str, str]:
    """Return the repository of each candidate, in the order in which they were mined."""
    found = {one.item: one.outcome.value for one in outcomes if isinstance(one.outcome, Accepted)}
    return {item: Candidate.from_json(value).repo.full_name for item, value in found.items()}


@dataclass(frozen=True, slots=True)
class _Run:
    house: House
    number: int
    watch: Watch

    def make(self, units: Mapping[str, MineUnit]) -> RunSummary:
        mined = self.mine(units)
        if mined.interrupted or mined.halted:
            return self._summary((), mined, units)
        outcomes = self.outcomes(units, mined)
        candidates = self._store_candidates(outcomes)
        selected = tuple(outcome.item for outcome in outcomes)
        self.house.workspace.ledger.save_selection(self.number, selected)
        for outcome in outcomes:
            if outcome.item not in candidates:
                self.house.workspace.ledger.settle(self.number, MINE, outcome)
        done = self._line(candidates, _repositories(outcomes))
        return self._summary(selected, done, units)

    def mine(self, units: Mapping[str, MineUnit]) -> RunReport:
        """Mine all units, by workers; the results lie in the ledger."""
        work = MineWork(settings_text(self.house.settings), self.number, dict(units))
        return self._execute(MINE, tuple(units), work)

    def outcomes(self, units: Mapping[str, MineUnit], mined: RunReport) -> list[StoredOutcome]:
        """Return what units gave, from the ledger."""
        line = Line(self.house)
        found: list[StoredOutcome] = []
        for key, unit in units.items():
            if key in mined.failures:
                found.append(StoredOutcome(item=key, outcome=mined.failures[key]))
            else:
                found.extend(self._mined(key) or line.mine(unit).outcomes)
        return self._one_of_each_change(found)

    def _mined(self, unit: str) -> tuple[StoredOutcome, ...]:
        ledger = self.house.workspace.ledger
        digests = ledger.selection(self.number, mined_name(unit))
        return (ledger.result_of(ContentHash(digests[0])) if digests else None) or ()

    def _one_of_each_change(self, outcomes: list[StoredOutcome]) -> list[StoredOutcome]:
        """Reject backports and second tries; a function of the set alone, so it is made anew by each run."""
        accepted = (
            (one.item, Candidate.from_json(one.outcome.value))
            for one in outcomes
            if isinstance(one.outcome, Accepted)
        )
        dropped = find_variants(accepted, self.house.workspace.blobs.get)
        return [
            StoredOutcome(item=one.item, outcome=dropped[one.item]) if one.item in dropped else one
            for one in outcomes
        ]

    def _store_candidates(self, outcomes: Sequence[StoredOutcome]) -> dict[str, BlobHash]:
        put = self.house.workspace.blobs.put
        return {
            found.item: put(canonical_json(found.outcome.value))
            for found in outcomes
            if isinstance(found.outcome, Accepted)
        }

    def _line(self, candidates: Mapping[str, BlobHash], repositories: Mapping[str, str]) -> RunReport:
        ledger, limit = self.house.workspace.ledger, self.house.settings.policy.stop_after_failures
        gate = None if limit is None else SpendingGate(ledger, self.number, limit, repositories)
        work = CandidateWork(settings_text(self.house.settings), self.number, dict(candidates))
        report = self._execute("line", tuple(candidates), work, gate)
        for item, failed in report.failures.items():
            self.house.workspace.ledger.settle(self.number, "line", StoredOutcome(item=item, outcome=failed))
        return report

    def _execute(
        self, phase: str, items: Sequence[str], work: MineWork | CandidateWork, gate: Gate | None = None
    ) -> RunReport:
        options = executor_options(self.house, phase)
        ledger = self.house.workspace.ledger
        return run_items(
            items, work, ledger, options, on_progress=lambda event: self.watch(phase, event), gate=gate
        )

    def _remarks(self, units: Mapping[str, MineUnit]) -> tuple[str, ...]:
        """Return what was odd in the input, as the last mining of each unit found it."""
        found = {
            attempt.item: attempt.observed.get("remarks", ())
            for attempt in attempts_of(self.house.workspace.ledger, tuple(units))
            if attempt.status is AttemptStatus.DONE
        }
        return tuple(str(remark) for remarks in found.values() for remark in remarks)

    def _summary(
        self, selected: tuple[str, ...], report: RunReport, units: Mapping[str, MineUnit]
    ) -> RunSummary:
        stopped = report.interrupted or report.halted is not None
        endings = self.house.workspace.ledger.endings(self.number)
        return RunSummary(
            run=self.number,
            selected=selected,
            account=None if stopped else balance(selected, endings),
            remarks=self._remarks(units),
            unfinished=report.unfinished,
            interrupted=report.interrupted,
            halted=report.halted,
        )
