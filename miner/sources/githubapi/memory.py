"""What was asked and answered, on disk: it survives restarts, and several processes share it.

One SQLite file: answers of REST by address with their ETag, facts of pull requests and issues one by one (so
that it doesn't matter in which batches they were asked for), and until when each token must rest. A row is
committed before anyone uses it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import SQLAlchemyError

from swequarry.errors import StorageError

SCHEMA_VERSION = 1
_CHUNK = 500
_METADATA = sa.MetaData()

_NODES = sa.Table(
    "nodes",
    _METADATA,
    sa.Column("scope", sa.String, primary_key=True),
    sa.Column("kind", sa.String, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("data", sa.Text),
    sa.Column("asked_at", sa.Float, nullable=False),
)
_PAGES = sa.Table(
    "pages",
    _METADATA,
    sa.Column("address", sa.String, primary_key=True),
    sa.Column("etag", sa.String),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("link", sa.Text),
    sa.Column("asked_at", sa.Float, nullable=False),
)
_PAUSES = sa.Table(
    "pauses",
    _METADATA,
    sa.Column("token", sa.String, primary_key=True),
    sa.Column("resource", sa.String, primary_key=True),
    sa.Column("until", sa.Float, nullable=False),
    sa.Column("why", sa.String, nullable=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """An answer of REST as it was kept."""

    body: str
    etag: str | None
    link: str | None
    asked_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A token rests until then, for all resources or one (`core`, `graphql`, `search`)."""

    token: str
    resource: str
    until: datetime
    why: str


def _aware(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


class Memory:
    """The file of one API; safe for several processes."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"can't make {path.parent}: {error.strerror}") from error
        self.path = path
        self._engine = sa.create_engine(f"sqlite:///{path}", connect_args={"timeout": 60})
        sa.event.listen(self._engine, "connect", _settle)
        with self._begin() as connection:
            version = connection.execute(sa.text("PRAGMA user_version")).scalar_one()
            if version not in {0, SCHEMA_VERSION}:
                raise StorageError(f"{path} is of another version ({version}); remove it, it is only a cache")
            _METADATA.create_all(connection)
            connection.execute(sa.text(f"PRAGMA user_version = {SCHEMA_VERSION}"))

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()

    @contextmanager
    def _begin(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise StorageError(
                f"{self.path} can't be used: {error}; remove it, it is only a cache"
            ) from error

    # --- facts -------------------------------------------------------------------------------------

    def nodes(self, scope: str, kind: str, numbers: Sequence[int]) -> dict[int, Any]:
        """Return what is known of some numbers: JSON, or None for what isn't there; others are left out."""
        found: dict[int, Any] = {}
        with self._begin() as connection:
            for start in range(0, len(numbers), _CHUNK):
                query = sa.select(_NODES.c.number, _NODES.c.data).where(
                    _NODES.c.scope == scope,
                    _NODES.c.kind == kind,
                    _NODES.c.number.in_(numbers[start : start + _CHUNK]),
                )
                found |= {number: data and json.loads(data) for number, data in connection.execute(query)}
        return found

    def keep_nodes(self, scope: str, kind: str, found: Mapping[int, Any], now: datetime) -> None:
        """Keep what was answered about some numbers, all or none."""
        rows = [
            {
                "scope": scope,
                "kind": kind,
                "number": number,
                "data": None if data is None else json.dumps(data, ensure_ascii=True, sort_keys=True),
                "asked_at": now.timestamp(),
            }
            for number, data in found.items()
        ]
        if rows:
            self._upsert(_NODES, rows, ("scope", "kind", "number"))

    def forget_nodes(self, scope: str, numbers: Sequence[int]) -> None:
        """Drop everything known of some numbers: they changed."""
        with self._begin() as connection:
            for start in range(0, len(numbers), _CHUNK):
                chosen = _NODES.c.number.in_(numbers[start : start + _CHUNK])
                connection.execute(sa.delete(_NODES).where(_NODES.c.scope == scope, chosen))

    # --- pages -------------------------------------------------------------------------------------

    def page(self, address: str) -> Page | None:
        """Return the kept answer of an address."""
        with self._begin() as connection:
            row = connection.execute(sa.select(_PAGES).where(_PAGES.c.address == address)).one_or_none()
        if row is None:
            return None
        return Page(body=row.body, etag=row.etag, link=row.link, asked_at=_aware(row.asked_at))

    def keep_page(self, address: str, page: Page) -> None:
        """Keep an answer, in place of an older one."""
        row = {"address": address, "etag": page.etag, "body": page.body, "link": page.link}
        self._upsert(_PAGES, [row | {"asked_at": page.asked_at.timestamp()}], ("address",))

    def forget_pages(self, scope: str) -> None:
        """Drop the kept answers below a scope."""
        with self._begin() as connection:
            connection.execute(
                sa.delete(_PAGES).where(_PAGES.c.address.startswith(f"{scope} ", autoescape=True))
            )

    # --- pauses ------------------------------------------------------------------------------------

    def pauses(self, now: datetime) -> tuple[Pause, ...]:
        """Return the pauses that aren't over, the first to end first."""
        query = sa.select(_PAUSES).where(_PAUSES.c.until > now.timestamp()).order_by(_PAUSES.c.until)
        with self._begin() as connection:
            rows = connection.execute(query).all()
        return tuple(
            Pause(token=row.token, resource=row.resource, until=_aware(row.until), why=row.why)
            for row in rows
        )

    def pause(self, pause: Pause) -> None:
        """Let a token rest."""
        row = {"token": pause.token, "resource": pause.resource, "why": pause.why}
        self._upsert(_PAUSES, [row | {"until": pause.until.timestamp()}], ("token", "resource"))

    def _upsert(self, table: sa.Table, rows: list[dict[str, Any]], key: tuple[str, ...]) -> None:
        statement = insert(table)
        rest = {c.name: statement.excluded[c.name] for c in table.columns if c.name not in key}
        with self._begin() as connection:
            connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=rest), rows)


def _settle(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()
