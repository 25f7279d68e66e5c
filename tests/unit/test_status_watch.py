import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from swequarry.cli import watching
from swequarry.cli.app import app
from swequarry.ledger.keys import StageKey, StoredOutcome
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.tallies import tally
from swequarry.outcome import Accepted, Boundary, Failed, RejectCode, Rejected
from swequarry.records import ContentHash

KEY = StageKey(stage="s", version=1, input_hash=ContentHash("a" * 64), settings_hash=ContentHash("b" * 64))
ENDS = (
    Accepted(value={}),
    Rejected(code=RejectCode.UNSTABLE, message="m"),
    Rejected(code=RejectCode.UNSTABLE, message="m"),
    Failed(boundary=Boundary.INDEX, message="m"),
)


def begun(ledger: Ledger) -> int:
    run = ledger.save_run({}, [f"i{number}" for number in range(6)])
    for number, outcome in enumerate(ENDS):
        ledger.settle(run, "s", StoredOutcome(item=f"i{number}", outcome=outcome))
    ledger.leases.acquire("line", "i4", ledger.process, lease_s=60)
    ledger.record(KEY, [], attempt=ledger.begin_attempt(KEY, "i0"))
    return run


def test_counts_are_those_of_the_run_and_nothing_is_missing(ledger_place: str):
    ledger = Ledger.open(ledger_place)
    assert tally(ledger) is None
    ledger.save_run({}, ["old"])
    found = tally(ledger, begun(ledger))
    assert found == tally(ledger)
    assert [found.of_kind(kind) for kind in ("accepted", "rejected", "failed")] == [1, 2, 1]
    assert (found.selected, found.open, found.recent) == (6, 2, 1)
    assert found.ends["s", "rejected", "unstable"] == 2
    assert found.held == {ledger.process.host: 1}
    ledger.close()


def test_watch_follows_a_run_to_its_end_and_then_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ledger = Ledger.open(tmp_path / "quarry" / "ledger.sqlite")
    run = begun(ledger)

    def go_on(_seconds: float) -> None:
        ledger.settle(run, "s", StoredOutcome(item="i4", outcome=ENDS[0]))
        ledger.end_run(run)

    monkeypatch.setattr(watching.time, "sleep", go_on)
    done = CliRunner().invoke(app, ["status", "--watch", "-w", str(tmp_path / "quarry")])
    assert done.exit_code == 0, done.output
    first, last = done.output.split("run 1: ")[1:]
    assert first.startswith("6 candidates = 1 accepted + 2 rejected + 1 failed + 2 on their way")
    assert "most frequent reasons: 2 unstable, 1 index" in first
    assert last.startswith("6 candidates = 2 accepted + 2 rejected + 1 failed + 1 on their way")


def test_ledger_alone_is_enough_to_ask_how_far_a_run_is(tmp_path: Path):
    begun(Ledger.open(tmp_path / "ledger.sqlite"))
    done = CliRunner().invoke(app, ["status", "--ledger", f"sqlite:///{tmp_path}/ledger.sqlite", "--json"])
    assert json.loads(done.stdout)["open"] == 2
