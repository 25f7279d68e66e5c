"""Questions about items across stages: what was tried, and what each stage last said."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import func, select

from swequarry.ledger.attempts import Attempt, all_of_items
from swequarry.ledger.keys import outcome_from_json
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.tables import attempts, items, results
from swequarry.outcome import Accepted

_CHUNK = 500
"""Bound on the parameters of one query; SQLite allows 999 in old builds."""


def attempts_of(ledger: Ledger, names: Sequence[str]) -> tuple[Attempt, ...]:
    """Return all tries of some items at any stage, oldest first.

    Raises:
        StorageError: the ledger can't be read.
    """
    found: list[Attempt] = []
    for start in range(0, len(names), _CHUNK):
        with ledger.database.read() as connection:
            found.extend(all_of_items(connection, names[start : start + _CHUNK]))
    return tuple(sorted(found, key=lambda attempt: attempt.number))


def count_attempts(ledger: Ledger) -> int:
    """Return how many tries of all stages there ever were."""
    with ledger.database.read() as connection:
        return int(connection.execute(select(func.count()).select_from(attempts)).scalar_one())


def accepted_values(ledger: Ledger, stage: str, item: str) -> tuple[dict[str, Any], ...]:
    """Return every value that a stage accepted for an item, under whatever key, in no meaningful order.

    Raises:
        StorageError: the ledger can't be read.
    """
    query = (
        select(items.c.outcome)
        .join(results, results.c.key == items.c.key)
        .where(results.c.stage == stage, items.c.item == item, items.c.kind == "accepted")
        .order_by(items.c.key)
    )
    with ledger.database.read() as connection:
        outcomes = [outcome_from_json(json.loads(text)) for text in connection.scalars(query)]
    return tuple(outcome.value for outcome in outcomes if isinstance(outcome, Accepted))


def accepted_of_stages(ledger: Ledger, stages: Sequence[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (stage, item, value) of everything that some stages accepted, under whatever key.

    Raises:
        StorageError: the ledger can't be read.
    """
    query = (
        select(results.c.stage, items.c.item, items.c.outcome)
        .join(results, results.c.key == items.c.key)
        .where(results.c.stage.in_(stages), items.c.kind == "accepted")
        .order_by(items.c.key, items.c.position)
        .execution_options(yield_per=_CHUNK)
    )
    with ledger.database.read() as connection:
        for row in connection.execute(query):
            outcome = outcome_from_json(json.loads(row.outcome))
            if isinstance(outcome, Accepted):
                yield row.stage, row.item, outcome.value
