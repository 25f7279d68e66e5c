from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swequarry.errors import InputError, StorageError
from swequarry.ledger import attempts as attempt_rows
from swequarry.ledger.attempts import AttemptEnd, AttemptStatus
from swequarry.ledger.keys import StageKey, StoredOutcome, StoredValue
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.tables import items, results
from swequarry.outcome import Accepted, Boundary, Failed, RejectCode, Rejected
from swequarry.records import BlobHash, ContentHash, sha256_hex

BROKEN = Failed(boundary=Boundary.INDEX, message="the index answers 429")
POISON = Failed(boundary=Boundary.WORKER, message="poison", retryable=False)
LEAK = Rejected(code=RejectCode.LEAK, message="the fix is in a tag", evidence=("v1.2",))


@pytest.fixture
def ledger(ledger_place: str) -> Iterator[Ledger]:
    opened = Ledger.open(ledger_place)
    yield opened
    opened.close()


def key(name: str = "a", *, stage: str = "verify", version: int = 1) -> StageKey:
    return StageKey(
        stage=stage, version=version, input_hash=ContentHash(name * 64), settings_hash=ContentHash("0" * 64)
    )


def ok(item: str, **value: Any) -> StoredOutcome:
    return StoredOutcome(item=item, outcome=Accepted(value=value))


def ended(item: str, outcome: StoredValue) -> StoredOutcome:
    return StoredOutcome(item=item, outcome=outcome)


def rows(ledger: Ledger) -> list[tuple[Any, ...]]:
    with ledger.database.read() as connection:
        return [
            tuple(row)
            for table in (results, items)
            for row in connection.execute(sqlalchemy.select(table).order_by(*table.primary_key))
        ]


def test_result_has_its_items_in_the_order_of_the_stage(ledger: Ledger) -> None:
    outcomes = (ok("z", a=1), ended("a", LEAK), ended("m", POISON))
    assert ledger.result(key()) is None
    ledger.record(key(), outcomes)
    assert ledger.result(key()) == outcomes


def test_stage_that_found_nothing_has_a_result(ledger: Ledger) -> None:
    ledger.record(key(), ())
    assert ledger.result(key()) == ()
    assert ledger.result(key("b")) is None


def test_crash_while_recording_leaves_no_half_result(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    number = ledger.begin_attempt(key(), "x")

    def crash(*_args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(attempt_rows, "finish", crash)
        with pytest.raises(KeyboardInterrupt):
            ledger.record(key(), [ok("x")], {"duration_s": 1}, attempt=number)
    assert ledger.result(key()) is None
    assert rows(ledger) == []
    assert ledger.attempts(key())[0].status is AttemptStatus.OPEN


def test_item_that_ended_twice_is_refused(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="twice"):
        ledger.record(key(), [ok("x"), ended("x", LEAK)])
    assert ledger.result(key()) is None


def test_value_that_json_cannot_hold_is_refused(ledger: Ledger) -> None:
    for value in (float("nan"), b"bytes", {1, 2}):
        with pytest.raises((ValueError, TypeError)):
            ledger.record(key(), [ok("x", v=value)])
    assert rows(ledger) == []


def test_first_result_stays_whoever_comes_second(ledger: Ledger) -> None:
    ledger.record(key(), [ok("x", by="first")])
    assert ledger.record(key(), [ok("x", by="second")]) == (ok("x", by="first"),)
    assert ledger.record(key(), [ended("x", BROKEN)]) == (ok("x", by="first"),)
    assert ledger.result(key()) == (ok("x", by="first"),)


def test_failure_of_one_driver_gives_way_to_the_result_of_another(ledger: Ledger) -> None:
    ledger.record(key(), [ended("x", POISON)])
    assert ledger.record(key(), [ok("x")]) == (ok("x"),)
    assert ledger.result(key()) == (ok("x"),)


def test_what_was_observed_is_beside_the_result_never_in_it(tmp_path: Path) -> None:
    dumps = []
    for name, clock, seconds in (("one", 1000.0, 0.5), ("two", 2000.0, 99.0)):
        ledger = Ledger.open(tmp_path / name, clock=lambda now=clock: now)
        number = ledger.begin_attempt(key(), "x")
        ledger.record(key(), [ok("x", n=1)], {"duration_s": seconds}, attempt=number)
        dumps.append(rows(ledger))
        (attempt,) = ledger.attempts(key())
        assert (attempt.started_at, attempt.ended_at) == (clock, clock)
        assert attempt.observed == {"duration_s": seconds}
        assert attempt.process == ledger.process
    assert dumps[0] == dumps[1]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(st.text(st.characters(), max_size=12), unique=True, max_size=4),
    message=st.text(st.characters()),
)
def test_hostile_names_and_messages_come_back_whole(ledger: Ledger, names: list[str], message: str) -> None:
    mine = StageKey(
        stage="s",
        version=1,
        input_hash=ContentHash(sha256_hex(repr((names, message)).encode("utf-8", "backslashreplace"))),
        settings_hash=ContentHash(""),
    )
    ledger.record(mine, [ok(name) for name in names])
    assert [stored.item for stored in ledger.result(mine) or ()] == names
    number = ledger.begin_attempt(mine, "".join(names))
    ledger.end_attempt(number, AttemptEnd(status=AttemptStatus.FAILED, message=message))
    last = ledger.attempts(mine)[-1]
    assert (last.item, last.message) == ("".join(names), message)
    run = ledger.save_run({"m": "x"}, names)
    assert list(ledger.selection(run)) == names


def test_attempt_that_was_closed_by_another_is_not_reopened(ledger: Ledger) -> None:
    number = ledger.begin_attempt(key(), "x")
    (attempt,) = ledger.close_attempts_of(
        ledger.process, AttemptEnd(status=AttemptStatus.DIED, boundary=Boundary.WORKER, message="SIGKILL")
    )
    assert (attempt.number, attempt.key, attempt.item) == (number, key(), "x")
    ledger.end_attempt(number, AttemptEnd(status=AttemptStatus.DONE))
    assert ledger.attempts(key())[0].status is AttemptStatus.DIED
    assert ledger.close_attempts_of(ledger.process, AttemptEnd(status=AttemptStatus.DIED)) == ()


def test_only_failed_tries_use_up_the_bound(ledger: Ledger) -> None:
    for status in AttemptStatus:
        number = ledger.begin_attempt(key(), "x")
        if status is not AttemptStatus.OPEN:
            ledger.end_attempt(number, AttemptEnd(status=status))
    assert ledger.failures(key()) == 1
    assert ledger.failures(key("b")) == 0


def fill(ledger: Ledger) -> None:
    for name, outcome in (("a", Accepted(value={})), ("b", LEAK), ("c", BROKEN), ("d", POISON)):
        number = ledger.begin_attempt(key(name), name)
        status = AttemptStatus.FAILED if isinstance(outcome, Failed) else AttemptStatus.DONE
        ledger.record(key(name), [ended(name, outcome)], attempt=number, end=AttemptEnd(status=status))


def test_same_command_reopens_what_can_be_retried_and_nothing_else(ledger: Ledger) -> None:
    fill(ledger)
    assert ledger.reopen_failed() == 1
    assert [ledger.result(key(name)) is None for name in "abcd"] == [False, False, True, False]
    assert [ledger.failures(key(name)) for name in "cd"] == [0, 1]
    assert len(ledger.attempts(key("c"))) == 1


def test_retry_reopens_poison_and_forgets_its_deaths(ledger: Ledger) -> None:
    fill(ledger)
    ledger.leases.acquire("line", "d", ledger.process, lease_s=60)
    ledger.leases.report_death("line", "d", ledger.process)
    ledger.reopen_failed()
    assert ledger.leases.report_death("line", "d", ledger.process) == 1
    assert ledger.reopen_failed(also_final=True) == 1
    assert ledger.leases.report_death("line", "d", ledger.process) == 0
    assert [ledger.result(key(name)) is None for name in "abcd"] == [False, False, True, True]


def test_retry_of_named_items_leaves_the_others(ledger: Ledger) -> None:
    fill(ledger)
    pending = ledger.begin_attempt(key("e"), "e")
    ledger.end_attempt(pending, AttemptEnd(status=AttemptStatus.FAILED))
    assert ledger.reopen_failed(also_final=True, only=["d", "a"]) == 1
    assert [ledger.result(key(name)) is None for name in "abcd"] == [False, False, False, True]
    assert [ledger.failures(key(name)) for name in "cde"] == [1, 0, 1]
    assert ledger.reopen_failed(only=["e"]) == 0
    assert ledger.failures(key("e")) == 0


def test_result_that_names_a_lost_blob_can_be_made_again(ledger: Ledger) -> None:
    ledger.record(key("a"), [ok("x", patch="1" * 64)])
    ledger.record(key("b"), [ok("y", patch="2" * 64)])
    assert ledger.forget(BlobHash("1" * 64)) == 1
    assert (ledger.result(key("a")), ledger.result(key("b"))) == (None, (ok("y", patch="2" * 64),))


def test_reading_command_makes_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no ledger"):
        Ledger.open(tmp_path / "none" / "ledger.sqlite", create=False)
    assert not (tmp_path / "none").exists()


def test_outcome_of_a_newer_program_is_an_error_not_a_guess(ledger: Ledger) -> None:
    ledger.record(key(), [ok("x")])
    with ledger.database.write() as connection:
        connection.execute(sqlalchemy.update(items).values(outcome='{"kind":"postponed"}'))
    with pytest.raises(StorageError, match="postponed"):
        ledger.result(key())
