"""What only a server can do to a ledger: clocks, races, restarts, somebody else's database."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy
import stamina
from postgres_server import PostgresServer

from swequarry.errors import InputError, StorageError, StorageLostError
from swequarry.ledger.keys import StageKey, StoredOutcome
from swequarry.ledger.leases import LeaseState
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.process import ProcessMark
from swequarry.ledger.tables import leases
from swequarry.outcome import Accepted
from swequarry.records import ContentHash

pytestmark = pytest.mark.postgres
KEY = StageKey(stage="s", version=1, input_hash=ContentHash("a" * 64), settings_hash=ContentHash("b" * 64))


def worker(number: int) -> ProcessMark:
    return ProcessMark(host="another-machine", pid=number, birth=f"boot/pid:[1]/{number}")


def ok(**value: object) -> StoredOutcome:
    return StoredOutcome(item="x", outcome=Accepted(value=value))


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.database()


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    opened = Ledger.open(url)
    yield opened
    opened.close()


def test_deadline_goes_by_the_clock_of_the_server(ledger: Ledger, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(time, "time", lambda: 10_000_000_000.0)  # this machine's clock is wrong by centuries
    assert ledger.leases.acquire("line", "x", worker(1), lease_s=0.3) is LeaseState.TAKEN
    assert ledger.leases.acquire("line", "x", worker(2), lease_s=60) is LeaseState.HELD
    time.sleep(0.4)
    assert ledger.leases.acquire("line", "x", worker(2), lease_s=60) is LeaseState.TAKEN


def test_driver_never_waits_for_a_row_that_another_is_at(ledger: Ledger):
    ledger.leases.acquire("line", "busy", worker(1), lease_s=-1)
    with ledger.database.write() as connection:
        connection.execute(sqlalchemy.update(leases).values(deadline=0))
        states = ledger.leases.acquire_many("line", {"busy": worker(2), "free": worker(3)}, lease_s=60)
    assert states == {"busy": LeaseState.HELD, "free": LeaseState.TAKEN}


def test_item_goes_to_one_of_many_drivers_at_once(url: str):
    drivers = [Ledger.open(url) for _ in range(6)]
    items = [f"item-{number}" for number in range(40)]
    start = threading.Barrier(len(drivers))

    def take(number: int) -> list[str]:
        start.wait()
        order = items[number * 5 :] + items[: number * 5]
        wanted = dict.fromkeys(order, worker(number))
        states = drivers[number].leases.acquire_many("line", wanted, lease_s=60)
        return [item for item, state in states.items() if state is LeaseState.TAKEN]

    with ThreadPoolExecutor(len(drivers)) as pool:
        taken = [item for got in pool.map(take, range(len(drivers))) for item in got]
    assert sorted(taken) == sorted(set(taken))
    left = set(items) - set(taken)  # rows that two were at in the same moment: nobody waited
    again = drivers[0].leases.acquire_many("line", dict.fromkeys(left, worker(0)), lease_s=60)
    assert set(again.values()) <= {LeaseState.TAKEN}
    for driver in drivers:
        driver.close()


def test_results_of_many_at_once_are_one_result(url: str):
    ledgers = [Ledger.open(url) for _ in range(6)]
    start = threading.Barrier(len(ledgers))

    def finish(number: int) -> object:
        start.wait()
        run = 1
        kept = ledgers[number].record(KEY, [ok(by=number)])
        ledgers[number].settle(run, "s", kept[0])
        return kept

    ledgers[0].save_run({}, ["x"])
    with ThreadPoolExecutor(len(ledgers)) as pool:
        kept = list(pool.map(finish, range(len(ledgers))))
    assert all(one == kept[0] for one in kept)
    assert [ending.outcome for ending in ledgers[0].endings(1)] == [kept[0][0].outcome]
    for ledger in ledgers:
        ledger.close()


def test_many_that_open_an_empty_database_at_once_make_one_ledger(url: str):
    with ThreadPoolExecutor(4) as pool:
        for ledger in pool.map(lambda _: Ledger.open(url), range(4)):
            assert ledger.result(KEY) is None
            ledger.close()


def test_endings_come_in_the_order_of_bytes_whatever_the_locale(ledger: Ledger):
    names = ["b", "B", "a-1", "a_1", "a1", "Z", "é"]
    run = ledger.save_run({}, names)
    for name in names:
        ledger.settle(run, "s", StoredOutcome(item=name, outcome=Accepted(value={})))
    assert [ending.item for ending in ledger.endings(run)] == ["B", "Z", "é", "a-1", "a1", "a_1", "b"]


def test_reading_command_makes_no_tables_in_an_empty_database(url: str):
    with pytest.raises(InputError, match="no ledger"):
        Ledger.open(url, create=False)
    with sqlalchemy.create_engine(url.replace("postgresql", "postgresql+psycopg", 1)).connect() as connection:
        assert sqlalchemy.inspect(connection).get_table_names() == []


def test_database_that_is_no_ledger_or_not_there_is_said(url: str, tmp_path: Path):
    with pytest.raises(StorageLostError, match="can't be reached"):
        Ledger.open(f"postgresql://tests@/x?host={tmp_path}")
    with pytest.raises(InputError, match="not at mysql"):
        Ledger.open("mysql://host/x")
    engine = sqlalchemy.create_engine(url.replace("postgresql", "postgresql+psycopg", 1))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE bookmarks (id INTEGER)")
    with pytest.raises(StorageError, match="not a ledger"):
        Ledger.open(url)


def test_calls_outlive_a_restart_of_the_server(url: str, postgres: PostgresServer):
    ledger = Ledger.open(url)
    ledger.record(KEY, [ok(n=1)])
    postgres.stop()
    with ThreadPoolExecutor(2) as pool:
        taken = pool.submit(ledger.leases.acquire, "line", "x", worker(1), lease_s=60)
        read = pool.submit(ledger.result, KEY)
        time.sleep(0.5)
        assert not taken.done()
        postgres.start()
        assert taken.result() is LeaseState.TAKEN
        assert read.result() == (ok(n=1),)
    ledger.close()


def test_server_that_stays_away_is_an_error_in_the_end(url: str, postgres: PostgresServer):
    ledger = Ledger.open(url)
    postgres.stop()
    try:
        with pytest.raises(StorageLostError, match="can't be reached"), stamina.set_testing(True, attempts=2):
            ledger.result(KEY)
    finally:
        postgres.start()
        ledger.close()
