"""The connection to the ledger's database: SQLite at a path, Postgres at a URL."""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy
from sqlalchemy import ColumnElement, Connection, Engine, Table
from sqlalchemy.exc import SQLAlchemyError

from swequarry.errors import DiskFullError, InputError, StorageError, StorageLostError
from swequarry.ledger import postgres, sqlite
from swequarry.ledger.blobs import is_disk_full


class Kind(Protocol):
    """What one database does in its own way."""

    def label(self, url: sqlalchemy.URL) -> str:
        """Return what may be shown of an address."""

    def alone(self, engine: Engine) -> AbstractContextManager[None]:
        """Keep other processes that open the same ledger out while the block runs."""

    def prepare(self, engine: Engine) -> None:
        """Do what a new database needs before its tables."""

    def begin_hint(self, connection: Connection) -> float | None:
        """Begin a transaction whose loss in a crash does no harm; return the server's time, epoch seconds."""

    def take_turns(self, connection: Connection, name: str) -> None:
        """Let transactions that name the same thing follow each other."""

    def insert_new(
        self, connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], name: str
    ) -> set[str]:
        """Insert the rows whose primary key isn't there yet; return what column `name` holds in those."""

    def by_bytes(self, column: ColumnElement[str]) -> ColumnElement[str]:
        """Return what orders by a text's bytes."""

    def restart_numbers(self, connection: Connection, table: Table) -> None:
        """Continue the numbers of `table.id` after rows that came with theirs."""

    def no_space(self, error: BaseException) -> bool:
        """Whether an error of the driver says that no space is left."""

    def is_lost(self, error: BaseException) -> bool:
        """Whether an error says that the server is away, and that the same call may work later."""


_KINDS: dict[str, Kind] = {"sqlite": sqlite.Sqlite(), "postgresql": postgres.Postgres()}


@contextmanager
def _storage_errors(location: str, kind: Kind) -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        original = getattr(error, "orig", None) or error
        if kind.no_space(original) or is_disk_full(original):
            raise DiskFullError(
                f"can't write the ledger {location}: no space left; free some or move the workspace, "
                "then run again"
            ) from error
        if kind.is_lost(error):
            raise StorageLostError(f"the ledger {location} can't be reached: {original}") from error
        raise StorageError(f"the ledger {location} can't be used: {original}") from error


@dataclass(frozen=True, slots=True)
class Database:
    """An engine whose errors are StorageErrors. Safe for several threads; each process opens its own.

    `location` opens the same database in another process (a URL may hold a password: use `label` to show).
    """

    engine: Engine
    location: str

    @property
    def kind(self) -> Kind:
        """What this database does in its own way."""
        return _KINDS[self.engine.dialect.name]

    @property
    def label(self) -> str:
        """The path, or the URL without its password."""
        return _KINDS[self.engine.url.get_backend_name()].label(self.engine.url)

    @property
    def is_server(self) -> bool:
        """Whether a server keeps it, which many machines reach."""
        return self.engine.dialect.name != "sqlite"

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state of the ledger.

        Raises:
            StorageLostError: its server is away.
            StorageError: the database can't be read.
        """
        with _storage_errors(self.label, self.kind), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that is stored whole when the block ends, and not at all if it raises.

        Raises:
            DiskFullError: no space is left.
            StorageLostError: its server is away, or went away before it said that the transaction is stored.
            StorageError: the database can't be written, or stayed busy for the whole timeout.
        """
        engine = self.engine.execution_options(**{sqlite.WRITES: True})
        with _storage_errors(self.label, self.kind), engine.begin() as connection:
            yield connection

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes that open the same ledger out, while it is created or migrated."""
        with _storage_errors(self.label, self.kind), self.kind.alone(self.engine):
            yield

    def prepare(self) -> None:
        """Do what a new database needs before its tables."""
        with _storage_errors(self.label, self.kind):
            self.kind.prepare(self.engine)


def connect(location: str | Path, *, create: bool = True) -> Database:
    """Return the database at a path (SQLite) or at a `postgresql://` URL.

    Raises:
        InputError: nothing is there and `create` is off, or the URL is of neither.
        StorageError: the folder can't be made, or the URL can't be understood.
    """
    text = os.fspath(location)
    if isinstance(location, str) and "://" in text and not text.startswith("sqlite:"):
        return _at_url(text)
    path = (Path(text.removeprefix("sqlite:///")) if isinstance(location, str) else location).absolute()
    if not create and not path.is_file():
        raise InputError(f"no ledger is at {path}; name the workspace of an earlier run, or run first")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        kind = DiskFullError if is_disk_full(error) else StorageError
        raise kind(f"can't make the folder {path.parent}: {error.strerror}") from error
    return Database(sqlite.engine_at(str(path)), str(path))


def _at_url(text: str) -> Database:
    scheme = text.partition("://")[0]
    if scheme.partition("+")[0] not in ("postgresql", "postgres"):
        raise InputError(f"a ledger is a SQLite file or lies at postgresql://..., not at {scheme}://...")
    with _storage_errors(scheme, _KINDS["postgresql"]):
        return Database(postgres.engine_at(text), text)


def dialect_options(database: Database) -> dict[str, Any]:
    """Return what alembic needs to know: SQLite alters tables by copying them."""
    return {"render_as_batch": database.engine.dialect.name == "sqlite"}
