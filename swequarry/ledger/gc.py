"""Delete the blobs that nothing in the ledger names, and nothing else."""

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, select

from swequarry.ledger.blobs import BlobStore
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.tables import attempts, endings, items, labels, runs
from swequarry.records import BlobHash

DEFAULT_GRACE_S = 24 * 3600.0
"""Longer than any stage runs: a running stage has put blobs that no result names yet."""

_HASH = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


@dataclass(frozen=True, slots=True, kw_only=True)
class GcReport:
    """What a collection did: blobs deleted with their bytes, kept since named, kept since young."""

    deleted: int
    freed_bytes: int
    named: int
    young: int


def _texts(connection: Connection) -> Iterable[str | None]:
    columns: tuple[Column[Any], ...] = (
        items.c.outcome,
        endings.c.outcome,
        attempts.c.log,
        attempts.c.observed,
        runs.c.settings,
        labels.c.patch,
    )
    for column in columns:
        yield from connection.scalars(select(column).execution_options(yield_per=500))


def named_blobs(ledger: Ledger) -> frozenset[BlobHash]:
    """Return all hashes that stand anywhere in results, endings, attempts, runs and labels.

    A record's content hash looks like a blob's name; taking it for one keeps nothing that isn't there.
    """
    with ledger.database.read() as connection:
        return frozenset(
            BlobHash(found) for text in _texts(connection) if text for found in _HASH.findall(text)
        )


def collect(
    ledger: Ledger,
    blobs: BlobStore,
    *,
    now: float | None = None,
    grace_s: float = DEFAULT_GRACE_S,
    keep: Iterable[BlobHash] = (),
    dry_run: bool = False,
) -> GcReport:
    """Delete blobs that the ledger doesn't name and nobody put within `grace_s` seconds.

    Safe beside a concurrent run: blobs are listed before the ledger is read, and one that is put again
    while this runs is young. `keep` names what is kept beside; `dry_run` only counts.

    Raises:
        StorageError: the ledger or the store can't be read or written.
    """
    limit = (time.time() if now is None else now) - grace_s
    stored = list(blobs.iterate())
    named = named_blobs(ledger) | frozenset(keep)
    old = [blob for blob in stored if blob.name not in named and blob.touched_at <= limit]
    gone = [blob for blob in old if dry_run or blobs.delete(blob.name, untouched_since=limit)]
    if not dry_run:
        blobs.sweep(untouched_since=limit)
    kept = sum(blob.name in named for blob in stored)
    return GcReport(
        deleted=len(gone),
        freed_bytes=sum(blob.size_bytes for blob in gone),
        named=kept,
        young=len(stored) - kept - len(gone),
    )
