import functools
import random
from pathlib import Path

import pytest
import sqlalchemy
from postgres_server import PostgresServer
from typer.testing import CliRunner

from swequarry.cli.app import app
from swequarry.errors import InputError, StorageError
from swequarry.ledger import copying
from swequarry.ledger.attempts import AttemptEnd, AttemptStatus
from swequarry.ledger.copying import copy_ledger
from swequarry.ledger.keys import StageKey, StoredOutcome
from swequarry.ledger.labels import Label, LabelVerdict, add_label, labels_of
from swequarry.ledger.leases import LeaseState
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.process import ProcessMark
from swequarry.outcome import Accepted
from swequarry.records import ContentHash

ODD = "nul\0 \ud800 \\n é"
ELSEWHERE = ProcessMark(host="another-machine", pid=1, birth="boot/pid:[1]/7")


def key(number: int) -> StageKey:
    return StageKey(
        stage="s", version=1, input_hash=ContentHash(f"{number:064x}"), settings_hash=ContentHash("b" * 64)
    )


def fill(ledger: Ledger, count: int = 30) -> Ledger:
    for number in range(count):
        item = f"{ODD}-{number}"
        attempt = ledger.begin_attempt(key(number), item)
        done = StoredOutcome(item=item, outcome=Accepted(value={"n": number}))
        ledger.record(key(number), [done], {"duration_s": 0.1}, attempt=attempt)
    ledger.end_attempt(
        ledger.begin_attempt(key(99), "f"), AttemptEnd(status=AttemptStatus.FAILED, message=ODD)
    )
    run = ledger.save_run({"workspace": "w"}, [f"{ODD}-{number}" for number in range(count)])
    ledger.settle(run, "s", StoredOutcome(item=f"{ODD}-0", outcome=Accepted(value={})))
    ledger.leases.acquire("line", ODD, ledger.process, lease_s=60)
    ledger.leases.report_death("line", ODD, ledger.process)
    ledger.leases.acquire("line", ODD, ELSEWHERE, lease_s=3600)
    add_label(ledger, Label(item=ODD, verdict=LabelVerdict.SOUND, note=ODD))
    return ledger


@pytest.mark.postgres
def test_ledger_goes_to_postgres_and_back_without_losing_a_row(tmp_path: Path, postgres: PostgresServer):
    first = fill(Ledger.open(tmp_path / "first.sqlite"))
    there = Ledger.open(postgres.database())
    back = Ledger.open(tmp_path / "back.sqlite")
    copied = copy_ledger(first, there)
    assert copy_ledger(there, back) == copied
    assert copied.rows == {
        "results": 30, "items": 30, "attempts": 31, "leases": 1,
        "runs": 1, "selections": 30, "endings": 1, "labels": 1,
    }  # fmt: skip
    for ledger in (there, back):
        assert ledger.selection(1) == first.selection(1)
        assert ledger.endings(1) == first.endings(1)
        assert ledger.attempts(key(99)) == first.attempts(key(99))
        assert labels_of(ledger) == labels_of(first)
        # The next numbers follow those that came along; the dead worker is remembered, the holder isn't.
        assert ledger.begin_attempt(key(100), "x") == 32
        assert ledger.save_run({}) == 2
        assert ledger.leases.acquire("line", ODD, ledger.process, lease_s=1) is LeaseState.TAKEN
        assert ledger.leases.report_death("line", ODD, ledger.process) == 2


def test_copy_into_a_used_ledger_is_refused_and_changes_nothing(tmp_path: Path):
    source, target = (fill(Ledger.open(tmp_path / name), 2) for name in ("a.sqlite", "b.sqlite"))
    target.reopen_failed()
    before = copying._digest(target.database.engine.connect())
    with pytest.raises(InputError, match="isn't empty"):
        copy_ledger(source, target)
    assert copying._digest(target.database.engine.connect()) == before


def test_copy_that_came_out_otherwise_is_thrown_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source, target = fill(Ledger.open(tmp_path / "a.sqlite")), Ledger.open(tmp_path / "b.sqlite")
    hashes = functools.partial(random.Random(3).getrandbits, 64)
    monkeypatch.setattr(copying, "_hash", lambda *_args: hashes())
    with pytest.raises(StorageError, match="isn't equal"):
        copy_ledger(source, target)
    with target.database.read() as connection:
        assert connection.scalar(sqlalchemy.text("SELECT count(*) FROM results")) == 0


def test_command_takes_workspaces_and_says_what_was_copied(tmp_path: Path):
    fill(Ledger.open(tmp_path / "old" / "ledger.sqlite"))
    done = CliRunner().invoke(app, ["ledger", "copy", str(tmp_path / "old"), str(tmp_path / "new")])
    assert done.exit_code == 0, done.output
    assert "selections: 30" in done.output
    assert Ledger.open(tmp_path / "new" / "ledger.sqlite", create=False).endings(1)
