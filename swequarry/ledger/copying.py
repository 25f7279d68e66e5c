"""A ledger from SQLite to Postgres or back, whole or not at all."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select

from swequarry.errors import InputError, StorageError
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.tables import leases, metadata
from swequarry.records import canonical_json

_CHUNK = 1000
_TABLES: tuple[Table, ...] = tuple(metadata.sorted_tables)
_FREED = dict.fromkeys(("host", "pid", "birth", "deadline"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """How many rows of each table are in the copy, and the hash that both ledgers have."""

    rows: Mapping[str, int]
    sha256: str


def copy_ledger(source: Ledger, target: Ledger) -> Copied:
    """Copy all rows into an empty ledger, with their numbers, and compare what is there then.

    Leases come free: only how many workers died on an item goes along. Blobs aren't part of a ledger.

    Raises:
        InputError: the target holds something already.
        StorageError: one can't be read or written, or the copy isn't equal; then the target stays empty.
    """
    with source.database.read() as old, target.database.write() as new:
        for table in _TABLES:
            if new.execute(select(func.count()).select_from(table)).scalar_one():
                raise InputError(
                    f"the ledger {target.database.label} isn't empty (table {table.name}); name a new one"
                )
        for table in _TABLES:
            _copy(old, new, table)
            if "id" in table.c:
                target.database.kind.restart_numbers(new, table)
        copied, there = _digest(old), _digest(new)
        if copied != there:
            raise StorageError(
                f"the copy at {target.database.label} isn't equal to {source.database.label}; "
                "nothing of it was kept: stop what works on either and copy again"
            )
    return there


def _rows(connection: Connection, table: Table) -> Iterator[list[dict[str, Any]]]:
    query = select(table).execution_options(yield_per=_CHUNK)
    if table is leases:
        query = query.where(leases.c.deaths > 0)
    for chunk in connection.execute(query).mappings().partitions(_CHUNK):
        yield [{**row, **_FREED} if table is leases else dict(row) for row in chunk]


def _copy(old: Connection, new: Connection, table: Table) -> None:
    for rows in _rows(old, table):
        new.execute(insert(table), rows)


def _digest(connection: Connection) -> Copied:
    """Hash every row and add the hashes up, so that the order of a database's text doesn't matter."""
    total, counts = 0, {}
    for table in _TABLES:
        counts[table.name] = 0
        for rows in _rows(connection, table):
            counts[table.name] += len(rows)
            total += sum(_hash(table.name, row) for row in rows)
    return Copied(rows=counts, sha256=f"{total % 2**256:064x}")


def _hash(table: str, row: Mapping[str, Any]) -> int:
    data = canonical_json([table, sorted((name, repr(value)) for name, value in row.items())])
    return int.from_bytes(hashlib.sha256(data).digest(), "big")
