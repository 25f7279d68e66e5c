"""The connection to the ledger's database. All that is special to SQLite stands in this file.

SQLite runs in WAL mode: readers never wait for the writer, and a killed process leaves nothing half done.
Writing transactions begin with BEGIN IMMEDIATE, so that two of them queue up at the busy timeout instead of
failing half-way; on other databases the plain begin does.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import SQLAlchemyError

from swequarry.errors import DiskFullError, InputError, StorageError
from swequarry.ledger.blobs import is_disk_full

BUSY_TIMEOUT_S = 60.0
_WRITES = "swequarry_writes"


def _connected(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # SQLAlchemy's begin event decides, not the driver's guess
    connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_S * 1000)}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")  # a result row outlives a power cut, as its blobs do


def _begin(connection: Connection) -> None:
    immediate = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def _sqlite_engine(path: str) -> Engine:
    url = sqlalchemy.URL.create("sqlite", database=path)
    engine = sqlalchemy.create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S})
    event.listen(engine, "connect", _connected)
    event.listen(engine, "begin", _begin)
    return engine


def _no_space(error: BaseException) -> bool:
    original = getattr(error, "orig", error)
    return getattr(original, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL or is_disk_full(original)


@contextmanager
def _storage_errors(location: str) -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        if _no_space(error):
            raise DiskFullError(
                f"can't write the ledger {location}: no space left; free some or move the workspace, "
                "then run again"
            ) from error
        reason = getattr(error, "orig", None) or error
        raise StorageError(f"the ledger {location} can't be used: {reason}") from error


@dataclass(frozen=True, slots=True)
class Database:
    """An engine whose errors are StorageErrors. Safe for several threads; each process opens its own.

    `location` opens the same database in another process (a URL may hold a password: use `label` to show).
    """

    engine: Engine
    location: str

    @property
    def label(self) -> str:
        """The path, or the URL without its password."""
        url = self.engine.url
        return str(url.database) if url.drivername == "sqlite" else url.render_as_string(hide_password=True)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state of the ledger.

        Raises:
            StorageError: the database can't be read.
        """
        with _storage_errors(self.label), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that is stored whole when the block ends, and not at all if it raises.

        Raises:
            DiskFullError: no space is left.
            StorageError: the database can't be written, or stayed busy for the whole timeout.
        """
        engine = self.engine.execution_options(**{_WRITES: True})
        with _storage_errors(self.label), engine.begin() as connection:
            yield connection

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes that open the same ledger out, while it is created or migrated."""
        path = self.engine.url.database if self.engine.dialect.name == "sqlite" else None
        if path is None:
            yield
            return
        with _storage_errors(self.label):
            handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def prefer_wal(self) -> None:
        """Switch SQLite to WAL; a file system that can't do it keeps the slower, equally safe default."""
        if self.engine.dialect.name == "sqlite":
            with _storage_errors(self.label):
                raw = self.engine.raw_connection()
                try:
                    raw.driver_connection.execute("PRAGMA journal_mode = WAL")  # type: ignore[union-attr]
                finally:
                    raw.close()


def connect(location: str | Path, *, create: bool = True) -> Database:
    """Return the database at a path (SQLite) or at a URL with `://` (any that SQLAlchemy knows).

    Raises:
        InputError: nothing is there and `create` is off.
        StorageError: the folder can't be made, or the URL can't be understood.
    """
    text = os.fspath(location)
    if isinstance(location, str) and "://" in text and not text.startswith("sqlite:"):
        with _storage_errors(text.partition("://")[0]):
            return Database(sqlalchemy.create_engine(text), text)
    path = (Path(text.removeprefix("sqlite:///")) if isinstance(location, str) else location).absolute()
    if not create and not path.is_file():
        raise InputError(f"no ledger is at {path}; name the workspace of an earlier run, or run first")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        kind = DiskFullError if is_disk_full(error) else StorageError
        raise kind(f"can't make the folder {path.parent}: {error.strerror}") from error
    return Database(_sqlite_engine(str(path)), str(path))


def dialect_options(database: Database) -> dict[str, Any]:
    """Return what alembic needs to know: SQLite alters tables by copying them."""
    return {"render_as_batch": database.engine.dialect.name == "sqlite"}
