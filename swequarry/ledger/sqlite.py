"""All that is special to SQLite.

It runs in WAL mode: readers never wait for the writer, and a killed process leaves nothing half done.
Writing transactions begin with BEGIN IMMEDIATE, so that two of them queue up at the busy timeout instead of
failing half-way.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy
from sqlalchemy import ColumnElement, Connection, Engine, Table, event
from sqlalchemy.dialects import sqlite

BUSY_TIMEOUT_S = 60.0
WRITES = "swequarry_writes"


def engine_at(path: str) -> Engine:
    """Return an engine for the file at a path."""
    url = sqlalchemy.URL.create("sqlite", database=path)
    engine = sqlalchemy.create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S})
    event.listen(engine, "connect", _connected)
    event.listen(engine, "begin", _begin)
    return engine


def _connected(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # SQLAlchemy's begin event decides, not the driver's guess
    connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_S * 1000)}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")  # a result row outlives a power cut, as its blobs do


def _begin(connection: Connection) -> None:
    immediate = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


class Sqlite:
    """See `database.Kind`."""

    def label(self, url: sqlalchemy.URL) -> str:
        """Return the path."""
        return str(url.database)

    @contextmanager
    def alone(self, engine: Engine) -> Iterator[None]:
        """Hold a lock on a file beside the database."""
        handle = os.open(f"{engine.url.database}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def prepare(self, engine: Engine) -> None:
        """Switch to WAL; a file system that can't do it keeps the slower, equally safe default."""
        raw = engine.raw_connection()
        try:
            raw.driver_connection.execute("PRAGMA journal_mode = WAL")  # type: ignore[union-attr]
        finally:
            raw.close()

    def begin_hint(self, _connection: Connection) -> float | None:
        """Who shares the file shares the machine's clock."""
        return None

    def take_turns(self, _connection: Connection, _name: str) -> None:
        """BEGIN IMMEDIATE lets one writer in at a time."""

    def insert_new(
        self, connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], name: str
    ) -> set[str]:
        """Insert row by row: RETURNING is younger than some of the libraries that are in use."""
        insert = sqlite.insert(table).on_conflict_do_nothing().execution_options(preserve_rowcount=True)
        return {str(row[name]) for row in rows if connection.execute(insert, row).rowcount == 1}

    def by_bytes(self, column: ColumnElement[str]) -> ColumnElement[str]:
        """Compares text by its bytes as it is."""
        return column

    def restart_numbers(self, _connection: Connection, _table: Table) -> None:
        """The next number is the highest plus one as it is."""

    def no_space(self, error: BaseException) -> bool:
        """Whether an error of the driver says that the disk is full."""
        return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL

    def is_lost(self, _error: BaseException) -> bool:
        """No server, nothing to lose."""
        return False
