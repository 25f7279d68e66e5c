"""All that is special to Postgres, reached through psycopg (extra `postgres`).

Passwords come from where libpq looks for them (`PGPASSWORD`, `~/.pgpass`, a service file), never from a
setting. Nothing lives longer than a transaction, locks among it, so that a pooler such as pgbouncer may stand
between.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import sqlalchemy
from sqlalchemy import ColumnElement, Connection, Engine, Table, collate, func, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError, OperationalError

from swequarry.errors import InputError

_DISK_FULL = "53100"
_LOST = ("08", "57P", "53300", "40001", "40P01")
"""SQLSTATEs (Postgres manual, appendix A) after which the same transaction may succeed: connection gone,
server going down or coming up, too many connections, serialisation, deadlock."""
_MIGRATION = "swequarry migration"
_CONNECT_TIMEOUT_S = 10


def engine_at(text: str) -> Engine:
    """Return an engine for a `postgresql://` URL.

    Raises:
        InputError: psycopg isn't installed.
    """
    if find_spec("psycopg") is None:
        raise InputError("a ledger on Postgres needs psycopg: install swequarry[postgres]")
    url = sqlalchemy.make_url(text).set(drivername="postgresql+psycopg")
    # A worker talks from two threads, the second being its heartbeat; thousands of workers share one server.
    return sqlalchemy.create_engine(
        url,
        pool_size=1,
        max_overflow=3,
        connect_args={"connect_timeout": _CONNECT_TIMEOUT_S, "prepare_threshold": None},
    )


class Postgres:
    """See `database.Kind`."""

    def label(self, url: sqlalchemy.URL) -> str:
        """Return the URL without its password."""
        return url.set(drivername="postgresql").render_as_string(hide_password=True)

    @contextmanager
    def alone(self, engine: Engine) -> Iterator[None]:
        """Hold an advisory lock in a transaction of its own."""
        with engine.begin() as connection:
            self.take_turns(connection, _MIGRATION)
            yield

    def prepare(self, engine: Engine) -> None:
        """Nothing to prepare."""

    def begin_hint(self, connection: Connection) -> float:
        """Let this transaction's commit not wait for the disk; return the server's time."""
        hasty = func.set_config("synchronous_commit", "off", True)  # noqa: FBT003 - its own signature
        now = func.extract("epoch", func.clock_timestamp())
        return float(connection.execute(select(hasty, now)).one()[1])

    def take_turns(self, connection: Connection, name: str) -> None:
        """Wait for other transactions with this name."""
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
        number = int.from_bytes(digest[:8], "big", signed=True)
        connection.execute(select(func.pg_advisory_xact_lock(number)))

    def insert_new(
        self, connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], name: str
    ) -> set[str]:
        """Insert in a few statements, whatever the number of rows."""
        if not rows:
            return set()
        insert = postgresql.insert(table).on_conflict_do_nothing().returning(table.c[name])
        return set(connection.scalars(insert, list(rows)))

    def by_bytes(self, column: ColumnElement[str]) -> ColumnElement[str]:
        """Compare by bytes, whatever the locale of the database."""
        return collate(column, "C")

    def restart_numbers(self, connection: Connection, table: Table) -> None:
        """Let the next row's number follow the highest that was inserted by hand."""
        highest = select(func.coalesce(func.max(table.c.id), 0) + 1).scalar_subquery()
        sequence = func.pg_get_serial_sequence(table.name, "id")
        connection.execute(select(func.setval(sequence, highest, False)))  # noqa: FBT003 - its own signature

    def no_space(self, error: BaseException) -> bool:
        """Whether an error of the driver says that the server's disk is full."""
        return getattr(error, "sqlstate", None) == _DISK_FULL

    def is_lost(self, error: BaseException) -> bool:
        """Whether the same transaction may succeed in a while."""
        if not isinstance(error, DBAPIError):
            return isinstance(error, sqlalchemy.exc.TimeoutError)  # of the pool
        state = getattr(error.orig, "sqlstate", None)
        if error.connection_invalidated or (state is None and isinstance(error, OperationalError)):
            return True
        return state is not None and state.startswith(_LOST)
