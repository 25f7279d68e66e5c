"""How far a run is, counted by the database: nothing here grows with the number of items."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import func, select

from swequarry.ledger.attempts import AttemptStatus
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.runs import CANDIDATES
from swequarry.ledger.steady import steady
from swequarry.ledger.tables import attempts, endings, leases, runs, selections

RECENT_S = 60.0
"""The time for which tries are counted as of late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The counts of a run. `ends` are by stage, kind and code; `held` are the leases of the ledger by host.

    `recent` counts the tries of any stage that ended within the last `RECENT_S` seconds, whoever made them.
    Times are seconds since the epoch.
    """

    run: int
    started_at: float
    ended_at: float | None
    selected: int
    ends: Mapping[tuple[str, str, str], int]
    held: Mapping[str, int]
    recent: int

    def of_kind(self, kind: str) -> int:
        """Return how many items ended as `accepted`, `rejected` or `failed`."""
        return sum(count for (_, one, _), count in self.ends.items() if one == kind)

    @property
    def open(self) -> int:
        """How many items have no end yet."""
        return max(0, self.selected - sum(self.ends.values()))


@steady
def tally(ledger: Ledger, run: int | None = None) -> Tally | None:
    """Return the counts of a run, the newest by default; None if there is none.

    Raises:
        StorageError: the ledger can't be read.
    """
    with ledger.database.read() as connection:
        query = select(runs).order_by(runs.c.id.desc()).limit(1)
        found = connection.execute(query if run is None else query.where(runs.c.id == run)).one_or_none()
        if found is None:
            return None
        chosen = select(func.count()).where(selections.c.run == found.id, selections.c.name == CANDIDATES)
        kinds = (endings.c.stage, endings.c.kind, endings.c.code)
        counted = select(*kinds, func.count()).where(endings.c.run == found.id).group_by(*kinds)
        held = select(leases.c.host, func.count()).where(leases.c.birth.is_not(None))
        late = select(func.count()).where(
            attempts.c.ended_at > ledger.clock() - RECENT_S, attempts.c.status != AttemptStatus.OPEN.value
        )
        return Tally(
            run=found.id,
            started_at=found.started_at,
            ended_at=found.ended_at,
            selected=connection.execute(chosen).scalar_one(),
            ends={(row[0], row[1], row[2]): row[3] for row in connection.execute(counted)},
            held={row[0]: row[1] for row in connection.execute(held.group_by(leases.c.host))},
            recent=connection.execute(late).scalar_one(),
        )
