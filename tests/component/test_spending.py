"""What a policy spares depends on how earlier candidates ended, never on who was faster; nothing is lost by it."""

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swequarry.ledger.keys import StoredOutcome
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.runs import CANDIDATES, Ending, balance
from swequarry.outcome import Accepted, Boundary, Failed, RejectCode, Rejected
from swequarry.pipeline.item_queue import ItemQueue, ignore_progress
from swequarry.pipeline.spending import POLICY, Sign, SpendingGate, sign_of
from swequarry.pipeline.worker import Finished, ItemStatus

NO_PYTHON = Rejected(code=RejectCode.NO_INTERPRETER, message="m")
BROKEN = Rejected(
    code=RejectCode.BUILD_FAILED, message="m", evidence=("fatal error: ffi.h: No such file or directory",)
)
NO_TEST = Rejected(code=RejectCode.NO_FAIL_TO_PASS, message="m")
MACHINE = Failed(boundary=Boundary.SANDBOX, message="m")
DONE = Accepted(value={})
ENDS = {"python": ("environment", NO_PYTHON), "build": ("environment", BROKEN), "tests": ("verify", NO_TEST),
        "machine": ("environment", MACHINE), "task": ("assess", DONE)}  # fmt: skip
SEEN_BY_THE_POLICY = {
    "python": "no_interpreter",
    "build": sign_of(Ending(item="i", stage="environment", outcome=BROKEN)),
}
STATUS = {Rejected: ItemStatus.REJECTED, Failed: ItemStatus.FAILED, Accepted: ItemStatus.ACCEPTED}


@dataclass
class Play:
    """A queue behind a gate, and workers that finish when a test says so."""

    ledger: Ledger
    ends: dict[str, str]
    limit: int
    run: int = 0
    started: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.run = self.ledger.save_run({}, tuple(self.ends))
        repositories = {item: item[0] for item in self.ends}
        self.queue = ItemQueue(tuple(self.ends), self.ledger, "line", 60.0, 2, ignore_progress)
        self.queue.gate = SpendingGate(self.ledger, self.run, self.limit, repositories)
        self.queue.retry_delay_s = 0.0

    def play(self, workers: int, chance: random.Random) -> dict[str, Ending]:
        mark, flying = self.ledger.process, []
        while self.queue.more or flying:
            while len(flying) < workers and (item := self.queue.lease(mark)) is not None:
                self.started.append(item)
                flying.append(item)
            assert flying or not self.queue.more, "everything waits and nobody works"
            if flying:
                self.end(flying.pop(chance.randrange(len(flying))), chance)
        return {ending.item: ending for ending in self.ledger.endings(self.run)}

    def end(self, item: str, chance: random.Random) -> None:
        mark = self.ledger.process
        if chance.random() < 0.2:
            self.queue.finished(Finished(item=item, status=ItemStatus.AGAIN), mark)
            return
        stage, outcome = ENDS[self.ends[item]]
        self.ledger.settle(self.run, stage, StoredOutcome(item=item, outcome=outcome))
        self.queue.finished(Finished(item=item, status=STATUS[type(outcome)]), mark)


def reference(ends: dict[str, str], limit: int) -> set[str]:
    """Return what is spared, one candidate after the other, by the rule as docs/releases.md has it."""
    spared, counts = set(), {}
    for item, end in ends.items():
        own = counts.setdefault(item[0], {})
        if max(own.values(), default=0) >= limit:
            spared.add(item)
        elif end in SEEN_BY_THE_POLICY:
            own[end] = own.get(end, 0) + 1
        elif end != "machine":
            own.clear()
    return spared


@pytest.fixture
def ledger(tmp_path):
    return Ledger.open(tmp_path / "ledger.sqlite")


plays = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(sorted(ENDS))), max_size=9)


@settings(max_examples=40, deadline=None)
@given(ends=plays, limit=st.integers(1, 3), workers=st.integers(1, 4), seed=st.integers(0, 999))
def test_the_same_candidates_are_spared_whatever_the_workers_do_and_the_books_balance(
    tmp_path_factory, ends, limit, workers, seed
):
    named = {f"{repo}{number}": end for number, (repo, end) in enumerate(ends)}
    ledger = Ledger.open(tmp_path_factory.mktemp("play") / "ledger.sqlite")
    play = Play(ledger, named, limit)
    found = play.play(workers, random.Random(seed))
    spared = {item for item, ending in found.items() if ending.stage == POLICY}
    assert spared == reference(named, limit)
    assert spared.isdisjoint(play.started)
    account = balance(ledger.selection(play.run, CANDIDATES), tuple(found.values()))
    assert account.total == len(named)
    assert set(play.queue.close(interrupted=False).unfinished) == set()
    ledger.close()


def test_spared_candidate_names_the_cause_and_those_who_had_it(ledger):
    ends = {"a0": "build", "a1": "build", "a2": "task", "b0": "task"}
    found = Play(ledger, ends, limit=2).play(2, random.Random(1))
    outcome = found["a2"].outcome
    assert outcome.code is RejectCode.NOT_TRIED
    assert "after 2 candidates ended as build_failed: needs_system_package" in outcome.message
    assert [line.partition(":")[0] for line in outcome.evidence] == ["a0", "a1"]
    assert isinstance(found["b0"].outcome, Accepted)


def test_once_an_early_candidate_ends_otherwise_the_rest_is_tried_by_itself(ledger):
    ends = {"a0": "python", "a1": "python", "a2": "task", "a3": "task"}
    before = Play(ledger, ends, limit=2).play(2, random.Random(1))
    assert [item for item, ending in before.items() if ending.stage == POLICY] == ["a2", "a3"]
    after = Play(ledger, {**ends, "a1": "task"}, limit=2).play(2, random.Random(1))
    assert all(ending.stage != POLICY for ending in after.values())


def test_item_that_broke_outside_of_any_stage_keeps_nobody_waiting(ledger):
    play = Play(ledger, {"a0": "task", "a1": "task"}, limit=1)
    assert play.queue.lease(ledger.process) == "a0"
    assert play.queue.lease(ledger.process) is None
    failed = Failed(boundary=Boundary.WORKER, message="poison")
    play.queue.finished(Finished(item="a0", status=ItemStatus.FAILED, failed=failed), ledger.process)
    assert play.queue.lease(ledger.process) == "a1"


@pytest.mark.parametrize(
    ("stage", "outcome", "sign"),
    [
        ("assess", DONE, Sign.PASSED),
        ("verify", NO_TEST, Sign.PASSED),
        ("verify", Rejected(code=RejectCode.TEST_TIMEOUT, message="m"), "test_timeout"),
        ("snapshot", Rejected(code=RejectCode.LEAK, message="m"), Sign.NOTHING),
        ("environment", NO_PYTHON, "no_interpreter"),
        ("environment", MACHINE, Sign.NOTHING),
        (POLICY, Rejected(code=RejectCode.NOT_TRIED, message="m"), Sign.NOTHING),
    ],
)
def test_only_what_tells_of_the_repository_is_a_cause_and_broken_machinery_never_is(stage, outcome, sign):
    assert sign_of(Ending(item="i", stage=stage, outcome=outcome)) == sign


def test_builds_that_want_different_things_are_different_causes():
    other = Rejected(code=RejectCode.BUILD_FAILED, message="m", evidence=("something else",))
    causes = {sign_of(Ending(item="i", stage="environment", outcome=one)) for one in (BROKEN, other)}
    assert len(causes) == 2
