"""Leases: who works on an item, until when, and how often it took its worker down.

A lease is taken over when its process is certainly dead or when its deadline has passed (the only sign that
a worker on another machine gives). What two workers do to one item is harmless, since the first result
stays; the lease only saves the work. Clocks of several machines need to agree to within a lease's length.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from swequarry.ledger.database import Database
from swequarry.ledger.process import ProcessMark, is_gone
from swequarry.ledger.tables import leases


class LeaseState(StrEnum):
    """What came of asking for a lease."""

    TAKEN = "taken"
    HELD = "held"
    POISON = "poison"


@dataclass(frozen=True, slots=True)
class Leases:
    """The leases of a ledger. `max_deaths` workers may die with an item before it counts as poison."""

    database: Database
    clock: Callable[[], float]

    def acquire(
        self, scope: str, item: str, mark: ProcessMark, *, lease_s: float, max_deaths: int = 2
    ) -> LeaseState:
        """Take the lease on an item for a process, if it is free, orphaned or past its deadline.

        Raises:
            StorageError: the ledger can't be written.
        """
        with self.database.write() as connection:
            row = _row(connection, scope, item)
            if row is not None and row.deaths >= max_deaths:
                return LeaseState.POISON
            if row is not None and self._is_held(row, mark):
                return LeaseState.HELD
            values = {**_holder(mark), "deadline": self.clock() + lease_s}
            if row is not None:
                connection.execute(update(leases).where(_is(scope, item)).values(values))
                return LeaseState.TAKEN
            try:
                with connection.begin_nested():
                    connection.execute(insert(leases).values(scope=scope, item=item, deaths=0, **values))
            except IntegrityError:  # another driver was faster (databases without BEGIN IMMEDIATE)
                return LeaseState.HELD
            return LeaseState.TAKEN

    def renew(self, scope: str, item: str, mark: ProcessMark, *, lease_s: float) -> bool:
        """Move the deadline; False if the lease is another's by now."""
        with self.database.write() as connection:
            done = connection.execute(
                update(leases)
                .where(_is(scope, item), leases.c.birth == mark.birth, leases.c.pid == mark.pid)
                .values(deadline=self.clock() + lease_s)
            )
            return bool(done.rowcount)

    def release(self, scope: str, item: str, mark: ProcessMark, *, finished: bool = True) -> None:
        """Give the lease back; an item that was finished has its worker deaths forgotten."""
        mine = and_(_is(scope, item), leases.c.birth == mark.birth, leases.c.pid == mark.pid)
        with self.database.write() as connection:
            if finished:
                connection.execute(delete(leases).where(mine))
            else:
                connection.execute(update(leases).where(mine).values(_FREE))

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

    def pardon(self, only: Collection[str] | None = None) -> int:
        """Forget the worker deaths of all items, or of `only` these; return how many had some."""
        query = select(leases.c.scope, leases.c.item).where(leases.c.deaths > 0)
        with self.database.write() as connection:
            found = [row for row in connection.execute(query) if only is None or row.item in only]
            for row in found:
                connection.execute(update(leases).where(_is(row.scope, row.item)).values(deaths=0))
        return len(found)

    def held(self, scope: str) -> dict[str, ProcessMark]:
        """Return the items of a scope that somebody holds a lease on, alive or not."""
        query = select(leases).where(leases.c.scope == scope, leases.c.birth.is_not(None))
        with self.database.read() as connection:
            return {row.item: _mark(row) for row in connection.execute(query)}

    def _is_held(self, row: Row[Any], mark: ProcessMark) -> bool:
        if row.birth is None or row.deadline <= self.clock():
            return False
        holder = _mark(row)
        return holder != mark and not is_gone(holder)


_FREE: dict[str, None] = {"host": None, "pid": None, "birth": None, "deadline": None}


def _is(scope: str, item: str) -> ColumnElement[bool]:
    return and_(leases.c.scope == scope, leases.c.item == item)


def _row(connection: Connection, scope: str, item: str) -> Row[Any] | None:
    return connection.execute(select(leases).where(_is(scope, item)).with_for_update()).one_or_none()


def _holder(mark: ProcessMark) -> dict[str, Any]:
    return {"host": mark.host, "pid": mark.pid, "birth": mark.birth}


def _mark(row: Row[Any]) -> ProcessMark:
    return ProcessMark(host=row.host, pid=row.pid, birth=row.birth)
