import os
import shutil
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from swequarry.errors import StorageError
from swequarry.ledger import migrate
from swequarry.ledger.database import Database
from swequarry.ledger.keys import StageKey, StoredOutcome
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.tables import metadata
from swequarry.outcome import Accepted
from swequarry.records import ContentHash

KEY = StageKey(stage="s", version=1, input_hash=ContentHash("a" * 64), settings_hash=ContentHash("b" * 64))
DONE = StoredOutcome(item="x", outcome=Accepted(value={"n": 1}))
NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "next"
down_revision = "{head}"


def upgrade():
    op.create_table("extra", sa.Column("id", sa.Integer(), primary_key=True))
    with op.batch_alter_table("runs") as batch:
        batch.add_column(sa.Column("note", sa.Text(), nullable=False, server_default="old"))
    {then}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def tomorrow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, then: str = "pass") -> None:
    """Make this program one revision newer than it is."""
    folder = tmp_path / "100% new migrations"
    shutil.copytree(migrate.FOLDER, folder)
    text = NEXT.format(head=migrate.REVISIONS[-1], then=then)
    (folder / "versions" / "r_next.py").write_text(text)
    monkeypatch.setattr(migrate, "FOLDER", folder)
    monkeypatch.setattr(migrate, "REVISIONS", (*migrate.REVISIONS, "next"))


def tables_in(path: Path) -> set[str]:
    with sqlite3.connect(path) as connection:
        return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def test_migrations_make_exactly_the_tables_that_the_code_uses(ledger_place: str) -> None:
    ledger = Ledger.open(ledger_place)
    with ledger.database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_list_of_revisions_is_the_chain_on_disk() -> None:
    script = ScriptDirectory(str(migrate.FOLDER))
    assert tuple(r.revision for r in reversed(list(script.walk_revisions()))) == migrate.REVISIONS


def test_older_ledger_keeps_its_results_when_migrated(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = Ledger.open(path)
    old.record(KEY, [DONE])
    old.save_run({}, ["x"])
    tomorrow(monkeypatch, tmp_path)
    ledger = Ledger.open(path)
    assert ledger.result(KEY) == (DONE,)
    assert ledger.selection(1) == ("x",)
    with ledger.database.read() as connection:
        assert connection.exec_driver_sql("SELECT note FROM runs").scalar() == "old"
    assert "extra" in tables_in(path)


def test_migration_that_breaks_halfway_changes_nothing(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Ledger.open(path).record(KEY, [DONE])
    with monkeypatch.context() as patch:
        tomorrow(patch, tmp_path, "raise KeyboardInterrupt")
        with pytest.raises(KeyboardInterrupt):
            Ledger.open(path)
    assert "extra" not in tables_in(path)
    assert Ledger.open(path).result(KEY) == (DONE,)


def test_newer_ledger_is_refused_and_left_as_it_is(path: Path) -> None:
    Ledger.open(path).record(KEY, [DONE])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StorageError, match=r"9999.*newer swequarry"):
        Ledger.open(path)
    assert "results" in tables_in(path)


def test_database_of_somebody_else_is_refused_and_left_as_it_is(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE bookmarks (id INTEGER)")
    with pytest.raises(StorageError, match="not a ledger"):
        Ledger.open(path)
    assert tables_in(path) == {"bookmarks"}


@pytest.mark.parametrize(
    "content", [b"this is no database, whatever its name says", b"SQLite format 3\0" * 64]
)
def test_file_that_is_no_database_is_a_clear_error(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StorageError, match=r"ledger\.sqlite"):
        Ledger.open(path)
    assert path.read_bytes() == content


def test_empty_file_left_by_a_kill_at_creation_becomes_a_ledger(path: Path) -> None:
    path.write_bytes(b"")
    assert Ledger.open(path).result(KEY) is None


@pytest.mark.parametrize("name", [b"a b?mode=ro#x%20", b"new\nline", b"\xff\xfe", b"file:odd", b"'quo\"te"])
def test_odd_paths_hold_ledgers_that_other_processes_can_open(tmp_path: Path, name: bytes) -> None:
    path = tmp_path / os.fsdecode(name) / os.fsdecode(name)
    Ledger.open(path).record(KEY, [DONE])
    assert path.is_file()
    assert Ledger.open(Ledger.open(path).location).result(KEY) == (DONE,)


def test_ledger_survives_power_cuts_and_waits_for_its_turn(path: Path) -> None:
    with Ledger.open(path).database.read() as connection:
        pragma = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragma == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 60000}


def test_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="can't make the folder"):
        Ledger.open(tmp_path / "file" / "ledger.sqlite")


def test_place_that_cannot_hold_a_ledger_is_a_clear_error(path: Path) -> None:
    path.mkdir()
    with pytest.raises(StorageError, match=r"ledger\.sqlite"):
        Ledger.open(path)


def test_password_of_a_database_url_is_never_shown() -> None:
    engine = SimpleNamespace(url=sqlalchemy.make_url("postgresql://user:secret@host/x"))
    assert Database(engine, "").label == "postgresql://user:***@host/x"


def test_schema_is_portable_to_postgres() -> None:
    dialect = postgresql.dialect()
    for table in metadata.sorted_tables:
        assert "CREATE TABLE" in str(CreateTable(table).compile(dialect=dialect))
        for index in table.indexes:
            assert "INDEX" in str(CreateIndex(index).compile(dialect=dialect))
