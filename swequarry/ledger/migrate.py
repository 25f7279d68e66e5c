"""Bring a ledger to this version at open: an older one is migrated, a newer one refused."""

from pathlib import Path

import sqlalchemy
from sqlalchemy import Connection

from swequarry.errors import InputError, StorageError
from swequarry.ledger.database import Database, dialect_options
from swequarry.ledger.tables import metadata

FOLDER = Path(__file__).parent / "migrations"
REVISIONS: tuple[str, ...] = ("0001", "0002", "0003")
"""All revisions, oldest first; alembic's chain in `migrations/versions` (a test compares the two)."""


def _revision(connection: Connection) -> str | None:
    """Return the revision of a ledger, None for an empty database."""
    names = set(sqlalchemy.inspect(connection).get_table_names())
    if "alembic_version" in names:
        found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
        if found is not None:
            return str(found)
    if names - {"alembic_version"}:
        raise StorageError(
            f"{connection.engine.url.database} is a database, but not a ledger; name another path"
        )
    return None


def _check(revision: str | None, location: str) -> None:
    if revision is not None and revision not in REVISIONS:
        raise StorageError(
            f"the ledger {location} has revision {revision}, this program knows up to {REVISIONS[-1]}; "
            "it was written by a newer swequarry: upgrade swequarry or name another workspace"
        )


def _upgrade(connection: Connection, database: Database) -> None:
    # Imported only when there is something to do: every worker opens the ledger, and alembic is slow to load.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes.update(connection=connection, metadata=metadata, options=dialect_options(database))
    command.upgrade(config, "head")


def bring_up_to_date(database: Database, *, create: bool = True) -> None:
    """Create or migrate the tables in one transaction; several processes may do it at once.

    Raises:
        InputError: the database is empty and `create` is off.
        StorageError: the ledger is newer than this program, isn't a ledger, or can't be written.
    """
    if database.is_server:  # thousands of workers open it: they needn't queue up
        with database.read() as connection:
            if _revision(connection) == REVISIONS[-1]:
                return
    with database.alone():
        with database.read() as connection:
            revision = _revision(connection)
        _check(revision, database.label)
        if revision == REVISIONS[-1]:
            return
        if revision is None and not create and database.is_server:
            raise InputError(f"no ledger is at {database.label}; name that of an earlier run, or run first")
        database.prepare()
        with database.write() as connection:
            _upgrade(connection, database)
