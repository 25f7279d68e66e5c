"""A workspace is looked at where its runs worked."""

from pathlib import Path

import pytest
from postgres_server import PostgresServer

from swequarry.config import Settings, parse_settings
from swequarry.errors import ConfigError
from swequarry.pipeline.known_item import house_of_last_run
from swequarry.pipeline.workspace import Workspace


@pytest.fixture
def default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SWEQUARRY_CACHE", str(tmp_path / "default"))
    return tmp_path / "default"


def saved(root: Path, cache: Path | None) -> Settings:
    settings = Settings(workspace=root, cache=cache)
    Workspace.open(settings).ledger.save_run(settings.model_dump(mode="json"))
    return settings


def test_worlds_are_not_built_again_in_a_cache_that_the_run_did_not_use(
    tmp_path: Path, default: Path
) -> None:
    saved(tmp_path / "quarry", tmp_path / "own")
    opened = Workspace.open(Settings(workspace=tmp_path / "quarry"), create=False)
    assert opened.cache == tmp_path / "own"
    assert house_of_last_run(opened).workspace.worlds == tmp_path / "own" / "worlds"


def test_named_cache_counts_more_than_that_of_the_newest_run(tmp_path: Path, default: Path) -> None:
    saved(tmp_path / "quarry", tmp_path / "own")
    other = Settings(workspace=tmp_path / "quarry", cache=tmp_path / "other")
    assert Workspace.open(other, create=False).cache == tmp_path / "other"


def test_new_run_works_where_its_own_settings_say(tmp_path: Path, default: Path) -> None:
    saved(tmp_path / "quarry", tmp_path / "own")
    assert Workspace.open(Settings(workspace=tmp_path / "quarry")).cache == default


def test_run_without_a_cache_of_its_own_used_the_default_one(tmp_path: Path, default: Path) -> None:
    saved(tmp_path / "quarry", None)
    assert Workspace.open(Settings(workspace=tmp_path / "quarry"), create=False).cache == default


@pytest.mark.postgres
def test_command_that_is_given_the_workspace_finds_the_ledger_that_is_elsewhere(
    tmp_path: Path, default: Path, postgres: PostgresServer
) -> None:
    settings = Settings(workspace=tmp_path / "quarry", ledger=postgres.database())
    run = Workspace.open(settings).ledger.save_run(settings.model_dump(mode="json"))
    opened = Workspace.open(Settings(workspace=tmp_path / "quarry"), create=False)
    assert [one.number for one in opened.ledger.runs()] == [run]
    assert not (tmp_path / "quarry" / "ledger.sqlite").exists()


def test_password_is_refused_where_it_would_be_saved_with_the_run() -> None:
    with pytest.raises(ConfigError, match="PGPASSWORD") as caught:
        parse_settings({"ledger": "postgresql://me:secret@host/x"})
    assert "secret" not in str(caught.value)


def test_ledger_is_named_by_a_url_of_postgres_alone() -> None:
    for wrong in ("mysql://host/x", "ledger.sqlite"):
        with pytest.raises(ConfigError, match="ledger"):
            parse_settings({"ledger": wrong})
