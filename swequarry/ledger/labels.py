"""What people said of tasks and patches, in the order in which they said it; nothing is ever taken back.

Who changes their mind says it again: the newest label of the same item, patch and rule counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import insert, select

from swequarry.ledger.ledger import Ledger
from swequarry.ledger.steady import steady
from swequarry.ledger.tables import labels
from swequarry.records import BlobHash


class LabelVerdict(StrEnum):
    """What a person says: of a patch HONEST or CHEAT, of a task SOUND or FLAWED."""

    HONEST = "honest"
    CHEAT = "cheat"
    SOUND = "sound"
    FLAWED = "flawed"


OF_PATCHES = frozenset({LabelVerdict.HONEST, LabelVerdict.CHEAT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One verdict of a person about an item, or about a patch for it.

    `patch` names a blob, None where the label is about the task. `rule` is the code of the rule that the
    verdict is about, empty for all. `labelled_at` is seconds since the epoch.
    """

    item: str
    verdict: LabelVerdict
    patch: BlobHash | None = None
    rule: str = ""
    note: str = ""
    labelled_at: float = 0.0


def add_label(ledger: Ledger, label: Label) -> None:
    """Keep a label; its time is the ledger's.

    Raises:
        StorageError: it can't be written.
    """
    row = {
        "item": label.item,
        "verdict": label.verdict.value,
        "patch": label.patch,
        "rule": label.rule,
        "note": label.note,
        "labelled_at": ledger.clock(),
    }
    with ledger.database.write() as connection:
        connection.execute(insert(labels).values(row))


@steady
def labels_of(ledger: Ledger, item: str | None = None) -> tuple[Label, ...]:
    """Return all labels, or those of an item, oldest first.

    Raises:
        StorageError: the ledger can't be read.
    """
    query = select(labels).order_by(labels.c.id)
    if item is not None:
        query = query.where(labels.c.item == item)
    with ledger.database.read() as connection:
        return tuple(
            Label(
                item=row.item,
                verdict=LabelVerdict(row.verdict),
                patch=None if row.patch is None else BlobHash(row.patch),
                rule=row.rule,
                note=row.note,
                labelled_at=row.labelled_at,
            )
            for row in connection.execute(query)
        )


def newest(found: Sequence[Label]) -> tuple[Label, ...]:
    """Return the labels that count: of the same item, patch and rule the last one."""
    return tuple({(one.item, one.patch, one.rule): one for one in found}.values())
