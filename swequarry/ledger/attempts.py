"""The attempts table: every try of a stage, with who tried, how it ended, and what was observed."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from swequarry.ledger.keys import StageKey
from swequarry.ledger.process import ProcessMark, is_gone
from swequarry.ledger.tables import attempts, results
from swequarry.outcome import Boundary
from swequarry.records import BlobHash, ContentHash


class AttemptStatus(StrEnum):
    """How a try ended; only FAILED uses up the bound on retries."""

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"
    DIED = "died"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try. Times are seconds since the epoch; `counted` is off for tries before a reset."""

    number: int
    key: StageKey
    item: str
    status: AttemptStatus
    counted: bool
    started_at: float
    ended_at: float | None
    process: ProcessMark
    boundary: Boundary | None
    message: str | None
    log: BlobHash | None
    observed: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnd:
    """How to end an attempt."""

    status: AttemptStatus
    boundary: Boundary | None = None
    message: str | None = None
    log: BlobHash | None = None
    observed: Mapping[str, Any] | None = None


def start(connection: Connection, key: StageKey, item: str, mark: ProcessMark, now: float) -> int:
    """Insert an open attempt and return its number."""
    row = insert(attempts).values(
        key=key.digest(),
        stage=key.stage,
        version=key.version,
        input_hash=key.input_hash,
        settings_hash=key.settings_hash,
        item=item,
        status=AttemptStatus.OPEN.value,
        counted=True,
        started_at=now,
        host=mark.host,
        pid=mark.pid,
        birth=mark.birth,
    )
    primary_key = connection.execute(row).inserted_primary_key
    assert primary_key is not None  # noqa: S101 - insert of one row always has one
    return int(primary_key[0])


def finish(connection: Connection, number: int, end: AttemptEnd, now: float) -> None:
    """End an open attempt; one that somebody ended already stays as it is."""
    observed = None if end.observed is None else json.dumps(dict(end.observed), sort_keys=True, default=str)
    connection.execute(
        update(attempts)
        .where(attempts.c.id == number, attempts.c.status == AttemptStatus.OPEN.value)
        .values(
            status=end.status.value,
            ended_at=now,
            boundary=None if end.boundary is None else end.boundary.value,
            message=end.message,
            log=end.log,
            observed=observed,
        )
    )


def of_key(connection: Connection, key: StageKey) -> tuple[Attempt, ...]:
    """Return all tries of a key, oldest first."""
    query = select(attempts).where(attempts.c.key == key.digest()).order_by(attempts.c.id)
    return tuple(_attempt(row) for row in connection.execute(query))


def all_of_items(connection: Connection, names: Collection[str]) -> tuple[Attempt, ...]:
    """Return all tries of some items at any stage, oldest first."""
    query = select(attempts).where(attempts.c.item.in_(names)).order_by(attempts.c.id)
    return tuple(_attempt(row) for row in connection.execute(query))


def still_open(connection: Connection) -> tuple[Attempt, ...]:
    """Return the tries that have no end."""
    query = select(attempts).where(attempts.c.status == AttemptStatus.OPEN.value).order_by(attempts.c.id)
    return tuple(_attempt(row) for row in connection.execute(query))


def open_of(connection: Connection, mark: ProcessMark) -> tuple[Attempt, ...]:
    """Return the tries of one process that have no end."""
    return tuple(attempt for attempt in still_open(connection) if attempt.process == mark)


def orphans(connection: Connection) -> tuple[Attempt, ...]:
    """Return the tries without an end whose process is certainly dead."""
    return tuple(attempt for attempt in still_open(connection) if is_gone(attempt.process))


def failures(connection: Connection, key: StageKey) -> int:
    """Return how many counted tries of a key failed."""
    query = select(func.count()).where(
        attempts.c.key == key.digest(),
        attempts.c.status == AttemptStatus.FAILED.value,
        attempts.c.counted.is_(True),
    )
    return int(connection.execute(query).scalar_one())


def forgive_failed(connection: Connection, only: Collection[str] | None = None) -> None:
    """Stop counting the tries that failed so far (of `only` these items), where no result came of them."""
    query = select(attempts.c.id, attempts.c.item).where(
        attempts.c.status == AttemptStatus.FAILED.value,
        attempts.c.counted.is_(True),
        attempts.c.key.not_in(select(results.c.key)),
    )
    for row in connection.execute(query).all():
        if only is None or row.item in only:
            connection.execute(update(attempts).where(attempts.c.id == row.id).values(counted=False))


def _attempt(row: Row[Any]) -> Attempt:
    return Attempt(
        number=row.id,
        key=StageKey(
            stage=row.stage,
            version=row.version,
            input_hash=ContentHash(row.input_hash),
            settings_hash=ContentHash(row.settings_hash),
        ),
        item=row.item,
        status=AttemptStatus(row.status),
        counted=row.counted,
        started_at=row.started_at,
        ended_at=row.ended_at,
        process=ProcessMark(host=row.host, pid=row.pid, birth=row.birth),
        boundary=None if row.boundary is None else Boundary(row.boundary),
        message=row.message,
        log=None if row.log is None else BlobHash(row.log),
        observed={} if row.observed is None else json.loads(row.observed),
    )
