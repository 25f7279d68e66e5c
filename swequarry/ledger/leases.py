"""Leases: who works on an item, until when, and how often it took its worker down.

A lease is taken over when its process is certainly dead or when its deadline has passed (the only sign that
a worker on another machine gives). What two workers do to one item is harmless, since the first result
stays; the lease only saves the work. Deadlines go by the clock of the database's server where there is one,
so that the clocks of several machines needn't agree.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, delete, select, update

from swequarry.ledger.database import Database
from swequarry.ledger.process import ProcessMark, is_gone
from swequarry.ledger.steady import steady
from swequarry.ledger.tables import leases


class LeaseState(StrEnum):
    """What came of asking for a lease."""

    TAKEN = "taken"
    HELD = "held"
    POISON = "poison"


@dataclass(frozen=True, slots=True)
class Leases:
    """The leases of a ledger. `max_deaths` workers may die with an item before it counts as poison.

    `clock` gives seconds since the epoch where the database has no clock of its own; `always` puts it in that
    one's place, for tests.
    """

    database: Database
    clock: Callable[[], float]
    always: bool = False

    def acquire(
        self, scope: str, item: str, mark: ProcessMark, *, lease_s: float, max_deaths: int = 2
    ) -> LeaseState:
        """Take the lease on an item for a process, if it is free, orphaned or past its deadline.

        Raises:
            StorageError: the ledger can't be written.
        """
        return self.acquire_many(scope, {item: mark}, lease_s=lease_s, max_deaths=max_deaths)[item]

    @steady
    def acquire_many(
        self, scope: str, wanted: Mapping[str, ProcessMark], *, lease_s: float, max_deaths: int = 2
    ) -> dict[str, LeaseState]:
        """Take the leases on some items, each for a process, in one transaction; see `acquire`.

        A row that another driver is just at counts as held: nobody waits for anybody.
        """
        states = dict.fromkeys(wanted, LeaseState.HELD)
        with self.database.write() as connection:
            now = self._begin(connection)
            rows = _free_to_lock(connection, scope, tuple(wanted))
            locked = _known(connection, scope, wanted.keys() - rows.keys())
            free, new = [], []
            for item in sorted(wanted.keys() - locked):  # in one order: drivers can't block each other
                row, mark = rows.get(item), wanted[item]
                lease = {"scope": scope, "item": item, **_holder(mark), "deadline": now + lease_s}
                if row is None:
                    new.append({**lease, "deaths": 0})
                elif row.deaths >= max_deaths:
                    states[item] = LeaseState.POISON
                elif not _is_held(row, mark, now):
                    free.append({_bound(name): value for name, value in lease.items()})
                    states[item] = LeaseState.TAKEN
            taken = self.database.kind.insert_new(connection, leases, new, "item")
            if free:
                connection.execute(_TAKE, free)
        return states | dict.fromkeys(taken, LeaseState.TAKEN)

    @steady
    def renew(self, scope: str, item: str, mark: ProcessMark, *, lease_s: float) -> bool:
        """Move the deadline; False if the lease is another's by now."""
        with self.database.write() as connection:
            now = self._begin(connection)
            done = connection.execute(
                update(leases).where(_is_of(scope, item, mark)).values(deadline=now + lease_s)
            )
            return bool(done.rowcount)

    def release(self, scope: str, item: str, mark: ProcessMark, *, finished: bool = True) -> None:
        """Give the lease back; an item that was finished has its worker deaths forgotten."""
        self.release_many(scope, ((item, mark),), finished=finished)

    @steady
    def release_many(
        self, scope: str, given: Sequence[tuple[str, ProcessMark]], *, finished: bool = True
    ) -> None:
        """Give leases back in one transaction; see `release`."""
        rows = [
            {"_scope": scope, "_item": item, "_pid": mark.pid, "_birth": mark.birth}
            for item, mark in sorted(given, key=lambda one: one[0])
        ]
        if not rows:
            return
        with self.database.write() as connection:
            self._begin(connection)
            connection.execute(_FINISH if finished else _RETURN, rows)

    @steady
    def report_death(self, scope: str, item: str, mark: ProcessMark) -> int:
        """Free the lease of a worker that died under a living driver; return the item's deaths so far.

        Only a driver that saw its own worker die may call this: a worker that went down together with
        its driver says nothing about the item.
        """
        with self.database.write() as connection:
            row = _row(connection, scope, item)
            if row is None or row.birth != mark.birth or row.pid != mark.pid:
                return 0 if row is None else int(row.deaths)
            deaths = int(row.deaths) + 1
            connection.execute(update(leases).where(_is(scope, item)).values(**_FREE, deaths=deaths))
            return deaths

    @steady
    def pardon(self, only: Collection[str] | None = None) -> int:
        """Forget the worker deaths of all items, or of `only` these; return how many had some."""
        query = select(leases.c.scope, leases.c.item).where(leases.c.deaths > 0)
        with self.database.write() as connection:
            found = [row for row in connection.execute(query) if only is None or row.item in only]
            for row in found:
                connection.execute(update(leases).where(_is(row.scope, row.item)).values(deaths=0))
        return len(found)

    @steady
    def held(self, scope: str) -> dict[str, ProcessMark]:
        """Return the items of a scope that somebody holds a lease on, alive or not."""
        query = select(leases).where(leases.c.scope == scope, leases.c.birth.is_not(None))
        with self.database.read() as connection:
            return {row.item: _mark(row) for row in connection.execute(query)}

    @steady
    def overdue(self, scope: str) -> dict[str, ProcessMark]:
        """Return the items of a scope whose holder let the deadline pass."""
        with self.database.write() as connection:
            now = self._begin(connection)
            query = select(leases).where(leases.c.scope == scope, leases.c.deadline <= now)
            return {row.item: _mark(row) for row in connection.execute(query)}

    def _begin(self, connection: Connection) -> float:
        """Begin a transaction about leases; return the time that all who share the ledger go by."""
        server = self.database.kind.begin_hint(connection)
        return self.clock() if server is None or self.always else server


_CHUNK = 500
"""Bound on the parameters of one query; SQLite allows 999 in old builds."""
_FREE: dict[str, None] = {"host": None, "pid": None, "birth": None, "deadline": None}


def _bound(name: str) -> str:
    """Return the name of a parameter; that of a column means its new value."""
    return f"_{name}"


_ITEM = and_(leases.c.scope == bindparam("_scope"), leases.c.item == bindparam("_item"))
_MINE = and_(_ITEM, leases.c.birth == bindparam("_birth"), leases.c.pid == bindparam("_pid"))
_TAKE = update(leases).where(_ITEM).values({name: bindparam(_bound(name)) for name in _FREE})
_FINISH = delete(leases).where(_MINE)
_RETURN = update(leases).where(_MINE).values(_FREE)


def _is(scope: str, item: str) -> ColumnElement[bool]:
    return and_(leases.c.scope == scope, leases.c.item == item)


def _is_of(scope: str, item: str, mark: ProcessMark) -> ColumnElement[bool]:
    return and_(_is(scope, item), leases.c.birth == mark.birth, leases.c.pid == mark.pid)


def _is_held(row: Row[Any], mark: ProcessMark, now: float) -> bool:
    if row.birth is None or row.deadline <= now:
        return False
    holder = _mark(row)
    return holder != mark and not is_gone(holder)


def _free_to_lock(connection: Connection, scope: str, items: Sequence[str]) -> dict[str, Row[Any]]:
    """Lock and return the rows of some items, those that others have locked left out."""
    query = select(leases).where(leases.c.scope == scope).with_for_update(skip_locked=True)
    found: dict[str, Row[Any]] = {}
    for chunk in _chunks(items):
        found |= {row.item: row for row in connection.execute(query.where(leases.c.item.in_(chunk)))}
    return found


def _known(connection: Connection, scope: str, items: Collection[str]) -> set[str]:
    """Return those of some items that have a row, locked or not."""
    query = select(leases.c.item).where(leases.c.scope == scope)
    found: set[str] = set()
    for chunk in _chunks(tuple(items)):
        found |= set(connection.scalars(query.where(leases.c.item.in_(chunk))))
    return found


def _chunks(items: Sequence[str]) -> Iterator[Sequence[str]]:
    return (items[start : start + _CHUNK] for start in range(0, len(items), _CHUNK))


def _row(connection: Connection, scope: str, item: str) -> Row[Any] | None:
    return connection.execute(select(leases).where(_is(scope, item)).with_for_update()).one_or_none()


def _holder(mark: ProcessMark) -> dict[str, Any]:
    return {"host": mark.host, "pid": mark.pid, "birth": mark.birth}


def _mark(row: Row[Any]) -> ProcessMark:
    return ProcessMark(host=row.host, pid=row.pid, birth=row.birth)
