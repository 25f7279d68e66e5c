"""The ledger: what was decided, once and for all, and what was tried on the way.

A result is stored under its StageKey in one transaction, together with its items and the end of the attempt
that made it: killed at any moment, the ledger has all of it or nothing. The first result of a key stays,
so that two workers on one item can't disagree. Where a server keeps the ledger, every call waits for one that
is away, and may happen twice without harm.
"""

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, delete, insert, select, update

from swequarry.errors import StorageError
from swequarry.ledger import attempts as attempt_rows
from swequarry.ledger.attempts import Attempt, AttemptEnd, AttemptStatus
from swequarry.ledger.database import Database, connect
from swequarry.ledger.keys import (
    StageKey,
    StoredOutcome,
    first_failure,
    outcome_code,
    outcome_from_json,
    outcome_kind,
    outcome_to_json,
)
from swequarry.ledger.leases import Leases
from swequarry.ledger.migrate import bring_up_to_date
from swequarry.ledger.process import ProcessMark, own_mark
from swequarry.ledger.runs import CANDIDATES, Ending, Run
from swequarry.ledger.steady import steady
from swequarry.ledger.tables import endings, items, results, runs, selections
from swequarry.outcome import Failed
from swequarry.records import BlobHash, ContentHash, canonical_json


def _outcome_row(outcome: StoredOutcome) -> dict[str, str]:
    return {
        "item": outcome.item,
        "kind": outcome_kind(outcome.outcome),
        "code": outcome_code(outcome.outcome),
        "outcome": canonical_json(outcome_to_json(outcome.outcome)).decode("ascii"),
    }


def _retryable(outcomes: Sequence[StoredOutcome]) -> bool:
    return any(isinstance(stored.outcome, Failed) and stored.outcome.retryable for stored in outcomes)


@dataclass(frozen=True, slots=True)
class Ledger:
    """Results, attempts, leases, runs. Safe for threads; every process opens its own."""

    database: Database
    clock: Callable[[], float] = time.time
    process: ProcessMark = field(default_factory=own_mark)

    @classmethod
    def open(
        cls, location: str | Path, *, create: bool = True, clock: Callable[[], float] = time.time
    ) -> Self:
        """Open the ledger at a path or URL; it is created or migrated as needed.

        Raises:
            InputError: nothing is there and `create` is off.
            StorageError: it is newer than this program, isn't a ledger, or can't be used.
        """
        database = connect(location, create=create)
        bring_up_to_date(database, create=create)
        return cls(database, clock)

    def close(self) -> None:
        """Close the connections; the ledger opens new ones if it is used again."""
        self.database.engine.dispose()

    @property
    def location(self) -> str:
        """What another process gives to `Ledger.open` to open the same ledger."""
        return self.database.location

    @property
    def leases(self) -> Leases:
        """The leases kept in this ledger."""
        return Leases(self.database, self.clock, always=self.clock is not time.time)

    # --- results ---------------------------------------------------------------------------------------

    @steady
    def result(self, key: StageKey) -> tuple[StoredOutcome, ...] | None:
        """Return the outcomes stored under a key, in the stage's order; None if there is no result yet.

        Raises:
            StorageError: the ledger can't be read.
        """
        return self.result_of(key.digest())

    @steady
    def result_of(self, digest: ContentHash) -> tuple[StoredOutcome, ...] | None:
        """Return the outcomes stored under the digest of a key; see `result`."""
        with self.database.read() as connection:
            return _stored(connection, digest)

    @steady
    def record(
        self,
        key: StageKey,
        outcomes: Sequence[StoredOutcome],
        observed: Mapping[str, Any] | None = None,
        *,
        attempt: int | None = None,
        end: AttemptEnd | None = None,
    ) -> tuple[StoredOutcome, ...]:
        """Store the result of a key with the end of its attempt, and return what the ledger now has.

        A result that is there already stays, unless it is a failure and the new one isn't.

        Raises:
            ValueError: two outcomes name the same item, or a value isn't plain JSON.
            StorageError: the ledger can't be written; then nothing of it is stored.
        """
        rows = [_outcome_row(outcome) for outcome in outcomes]
        if len({row["item"] for row in rows}) != len(rows):
            raise ValueError(f"stage {key.stage} named an item twice; every item ends once")
        with self.database.write() as connection:
            self.database.kind.take_turns(connection, key.digest())
            kept = _stored(connection, key.digest())
            if kept is None or (first_failure(kept) and not first_failure(outcomes)):
                _insert_result(connection, key, rows, retryable=_retryable(outcomes))
                kept = _stored(connection, key.digest()) or ()
            if attempt is not None:
                end = end or AttemptEnd(status=AttemptStatus.DONE, observed=observed or {})
                attempt_rows.finish(connection, attempt, end, self.clock())
        return kept

    @steady
    def reopen_failed(self, *, also_final: bool = False, only: Collection[str] | None = None) -> int:
        """Give failed items a fresh bound of attempts; return how many results were reopened.

        Retryable failures by default, as the same command does at its start; `also_final` reopens the others
        (poison) too, as `retry` does. `only` names items. What was accepted or rejected stays.
        """
        query = select(items.c.key, items.c.item).join(results).where(items.c.kind == "failed")
        if not also_final:
            query = query.where(results.c.retryable.is_(True))
        with self.database.write() as connection:
            found = connection.execute(query).all()
            keys = {row.key for row in found if only is None or row.item in only}
            for key in sorted(keys):
                connection.execute(delete(results).where(results.c.key == key))
            attempt_rows.forgive_failed(connection, only)
        if also_final:
            self.leases.pardon(only)
        return len(keys)

    @steady
    def forget(self, blob: BlobHash) -> int:
        """Delete the results that name a lost or damaged blob: they are made again. Return how many."""
        with self.database.write() as connection:
            naming = select(items.c.key).where(items.c.outcome.contains(blob))
            keys = set(connection.scalars(naming))
            for key in sorted(keys):
                connection.execute(delete(results).where(results.c.key == key))
        return len(keys)

    # --- attempts --------------------------------------------------------------------------------------

    @steady
    def begin_attempt(self, key: StageKey, item: str) -> int:
        """Write down that this process starts on a key; return the attempt's number."""
        with self.database.write() as connection:
            return attempt_rows.start(connection, key, item, self.process, self.clock())

    @steady
    def end_attempt(self, number: int, end: AttemptEnd) -> None:
        """End an attempt that gave no result."""
        with self.database.write() as connection:
            attempt_rows.finish(connection, number, end, self.clock())

    @steady
    def attempts(self, key: StageKey) -> tuple[Attempt, ...]:
        """Return all tries of a key, oldest first."""
        with self.database.read() as connection:
            return attempt_rows.of_key(connection, key)

    @steady
    def failures(self, key: StageKey) -> int:
        """Return how many tries of a key failed since the last reset."""
        with self.database.read() as connection:
            return attempt_rows.failures(connection, key)

    @steady
    def close_attempts_of(self, mark: ProcessMark, end: AttemptEnd) -> tuple[Attempt, ...]:
        """End the open attempts of a process that is dead; return them as they were."""
        with self.database.write() as connection:
            found = attempt_rows.open_of(connection, mark)
            for attempt in found:
                attempt_rows.finish(connection, attempt.number, end, self.clock())
        return found

    @steady
    def close_orphans(self) -> int:
        """End the open attempts of dead processes of this machine; return how many."""
        with self.database.write() as connection:
            found = attempt_rows.orphans(connection)
            for attempt in found:
                end = AttemptEnd(status=AttemptStatus.DIED, message="the process was killed")
                attempt_rows.finish(connection, attempt.number, end, self.clock())
        return len(found)

    # --- runs ------------------------------------------------------------------------------------------

    @steady
    def save_run(self, settings: Mapping[str, Any], selection: Sequence[str] = ()) -> int:
        """Store a run with its resolved settings and the items it starts with; return its number."""
        with self.database.write() as connection:
            row = insert(runs).values(
                settings=canonical_json(dict(settings)).decode("ascii"),
                started_at=self.clock(),
                host=self.process.host,
                pid=self.process.pid,
                birth=self.process.birth,
            )
            primary_key = connection.execute(row).inserted_primary_key
            assert primary_key is not None  # noqa: S101 - insert of one row always has one
            _insert_selection(connection, int(primary_key[0]), CANDIDATES, selection)
        return int(primary_key[0])

    @steady
    def end_run(self, run: int) -> None:
        """Write down that a run came to its end."""
        with self.database.write() as connection:
            connection.execute(update(runs).where(runs.c.id == run).values(ended_at=self.clock()))

    @steady
    def runs(self) -> tuple[Run, ...]:
        """Return all runs, oldest first."""
        with self.database.read() as connection:
            return tuple(
                Run(
                    number=row.id,
                    settings=json.loads(row.settings),
                    started_at=row.started_at,
                    ended_at=row.ended_at,
                )
                for row in connection.execute(select(runs).order_by(runs.c.id))
            )

    @steady
    def save_selection(self, run: int, selection: Sequence[str], name: str = CANDIDATES) -> None:
        """Store a named, ordered set of items of a run; replaces one of the same name."""
        with self.database.write() as connection:
            self.database.kind.take_turns(connection, f"selection {run} {name}")
            connection.execute(delete(selections).where(selections.c.run == run, selections.c.name == name))
            _insert_selection(connection, run, name, selection)

    @steady
    def selection(self, run: int, name: str = CANDIDATES) -> tuple[str, ...]:
        """Return the items of a selection in their order."""
        query = (
            select(selections.c.item)
            .where(selections.c.run == run, selections.c.name == name)
            .order_by(selections.c.position)
        )
        with self.database.read() as connection:
            return tuple(connection.scalars(query))

    @steady
    def settle(self, run: int, stage: str, outcome: StoredOutcome) -> None:
        """Write down how an item of a run ended; a later ending replaces an earlier one."""
        with self.database.write() as connection:
            self.database.kind.take_turns(connection, f"ending {run} {outcome.item}")
            connection.execute(delete(endings).where(endings.c.run == run, endings.c.item == outcome.item))
            connection.execute(insert(endings).values(run=run, stage=stage, **_outcome_row(outcome)))

    @steady
    def endings(self, run: int) -> tuple[Ending, ...]:
        """Return how the items of a run ended, in the order of their keys."""
        by_key = self.database.kind.by_bytes(endings.c.item)
        query = select(endings).where(endings.c.run == run).order_by(by_key)
        with self.database.read() as connection:
            return tuple(
                Ending(item=row.item, stage=row.stage, outcome=outcome_from_json(json.loads(row.outcome)))
                for row in connection.execute(query)
            )


def _insert_result(
    connection: Connection, key: StageKey, rows: Sequence[dict[str, str]], *, retryable: bool
) -> None:
    digest = key.digest()
    connection.execute(delete(results).where(results.c.key == digest))
    connection.execute(
        insert(results).values(
            key=digest,
            stage=key.stage,
            version=key.version,
            input_hash=key.input_hash,
            settings_hash=key.settings_hash,
            retryable=retryable,
        )
    )
    numbered = [{"key": digest, "position": position, **row} for position, row in enumerate(rows)]
    if numbered:
        connection.execute(insert(items), numbered)


def _insert_selection(connection: Connection, run: int, name: str, selection: Sequence[str]) -> None:
    rows = [
        {"run": run, "name": name, "position": position, "item": item}
        for position, item in enumerate(selection)
    ]
    if rows:
        connection.execute(insert(selections), rows)


def _stored(connection: Connection, digest: str) -> tuple[StoredOutcome, ...] | None:
    if connection.scalar(select(results.c.key).where(results.c.key == digest)) is None:
        return None
    query = select(items.c.item, items.c.outcome).where(items.c.key == digest).order_by(items.c.position)
    try:
        return tuple(
            StoredOutcome(item=row.item, outcome=outcome_from_json(json.loads(row.outcome)))
            for row in connection.execute(query)
        )
    except (ValueError, KeyError) as error:
        raise StorageError(f"result {digest} of the ledger can't be read: {error}") from error
