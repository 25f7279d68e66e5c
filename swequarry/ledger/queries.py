"""Questions about items across stages: what was tried, and what each stage last said."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import func, select

from swequarry.ledger.attempts import Attempt, all_of_items
from swequarry.ledger.keys import outcome_from_json
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.runs import Ending
from swequarry.ledger.steady import steady
from swequarry.ledger.tables import attempts, endings, items, results
from swequarry.outcome import Accepted

_CHUNK = 500
"""Bound on the parameters of one query; SQLite allows 999 in old builds."""


@steady
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


@steady
def ending_of(ledger: Ledger, run: int, item: str) -> Ending | None:
    """Return how an item of a run ended; None while it is on its way.

    Raises:
        StorageError: the ledger can't be read.
    """
    query = select(endings).where(endings.c.run == run, endings.c.item == item)
    with ledger.database.read() as connection:
        row = connection.execute(query).one_or_none()
    if row is None:
        return None
    return Ending(item=row.item, stage=row.stage, outcome=outcome_from_json(json.loads(row.outcome)))


@steady
def count_attempts(ledger: Ledger) -> int:
    """Return how many tries of all stages there ever were."""
    with ledger.database.read() as connection:
        return int(connection.execute(select(func.count()).select_from(attempts)).scalar_one())


def accepted_of_stage(
    ledger: Ledger, stage: str, *, item: str | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (item, value) of everything that a stage accepted, of one item only where it is named.

    Under whatever key, so that an item may come several times, in no meaningful order.

    Raises:
        StorageError: the ledger can't be read.
    """
    query = (
        select(items.c.item, items.c.outcome)
        .join(results, results.c.key == items.c.key)
        .where(results.c.stage == stage, items.c.kind == "accepted")
        .order_by(items.c.key, items.c.position)
        .execution_options(yield_per=_CHUNK)
    )
    if item is not None:
        query = query.where(items.c.item == item)
    with ledger.database.read() as connection:
        for row in connection.execute(query):
            outcome = outcome_from_json(json.loads(row.outcome))
            if isinstance(outcome, Accepted):
                yield row.item, outcome.value
