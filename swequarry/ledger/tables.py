"""The tables of the ledger, in SQLAlchemy Core: what was decided, and beside it how that went.

`results` and `items` hold meaning only: two runs over the same input fill them with the same rows. Times,
hosts, processes and durations are in `attempts`, `leases` and `runs`. Times are seconds since the epoch.
A change here is a new migration in `migrations/versions` (a test compares the two).
"""

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)


class EscapedText(TypeDecorator[str]):
    """Text of any code points, kept as ASCII with Python's escapes.

    Ids and messages come from outside: NUL and lone surrogates, which no database takes as text, must
    neither stop a run nor change on the way. Reversible; plain ASCII without backslashes stays as it is.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        """Escape on the way in."""
        del dialect
        return None if value is None else value.encode("unicode_escape").decode("ascii")

    def process_result_value(self, value: str | None, dialect: Any) -> str | None:
        """Restore on the way out."""
        del dialect
        return None if value is None else value.encode("ascii").decode("unicode_escape")


HASH = String(64)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

results = Table(
    "results",
    metadata,
    Column("key", HASH, primary_key=True),
    Column("stage", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("input_hash", HASH, nullable=False),
    Column("settings_hash", HASH, nullable=False),
    Column("retryable", Boolean, nullable=False),
)
"""One row per StageKey, written last. `retryable`: ended by failures that a later command may try again."""

items = Table(
    "items",
    metadata,
    Column("key", HASH, ForeignKey("results.key", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("item", EscapedText, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("code", String(64), nullable=False),
    Column("outcome", Text, nullable=False),
    Index("ix_items_item", "item"),
)
"""The outcomes of a result, in the stage's order; `outcome` is canonical JSON."""

attempts = Table(
    "attempts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", HASH, nullable=False, index=True),
    Column("stage", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("input_hash", HASH, nullable=False),
    Column("settings_hash", HASH, nullable=False),
    Column("item", EscapedText, nullable=False),
    Column("status", String(16), nullable=False, index=True),
    Column("counted", Boolean, nullable=False),
    Column("started_at", Float, nullable=False),
    Column("ended_at", Float, index=True),
    Column("host", EscapedText, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("birth", Text, nullable=False),
    Column("boundary", String(16)),
    Column("message", EscapedText),
    Column("log", HASH),
    Column("observed", Text),
)
"""Every try of a stage; `counted` ones use up the bound on retries. `observed` is JSON."""

leases = Table(
    "leases",
    metadata,
    Column("scope", EscapedText, primary_key=True),
    Column("item", EscapedText, primary_key=True),
    Column("host", EscapedText),
    Column("pid", Integer),
    Column("birth", Text),
    Column("deadline", Float),
    Column("deaths", Integer, nullable=False),
)
"""Who works on an item until when. A row without `birth` is free and only remembers deaths."""

runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("settings", Text, nullable=False),
    Column("started_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("host", EscapedText, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("birth", Text, nullable=False),
)

selections = Table(
    "selections",
    metadata,
    Column("run", Integer, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("name", EscapedText, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("item", EscapedText, nullable=False),
    Index("uq_selections_item", "run", "name", "item", unique=True),
)
"""Named, ordered sets of item keys of a run."""

endings = Table(
    "endings",
    metadata,
    Column("run", Integer, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("item", EscapedText, primary_key=True),
    Column("stage", Text, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("code", String(64), nullable=False),
    Column("outcome", Text, nullable=False),
)
"""How an item of a run ended, and at which stage."""

labels = Table(
    "labels",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("item", EscapedText, nullable=False, index=True),
    Column("verdict", String(16), nullable=False),
    Column("patch", HASH),
    Column("rule", EscapedText, nullable=False),
    Column("note", EscapedText, nullable=False),
    Column("labelled_at", Float, nullable=False),
)
"""What people said of items and of patches for them (`swequarry label`); a row is never changed."""
