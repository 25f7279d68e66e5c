"""Questions about items across stages: what was tried, and what each stage last said."""

from collections.abc import Sequence

from sqlalchemy import func, select

from swequarry.ledger.attempts import Attempt, all_of_items
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.tables import attempts

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
