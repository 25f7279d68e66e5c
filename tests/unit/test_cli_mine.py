"""`mine --dry-run` asks nothing, and counts what would be asked."""

import json

import pytest
from git_building import START, make_upstream
from typer.testing import CliRunner

from miner import mine as miner_mine
from miner.sources.githubapi.client import GithubClient
from swequarry.cli.app import app

BASE = {b"src/a.py": b"a = 0\n", b"tests/test_a.py": b"assert 0\n"}


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    for name in ("GITHUB_TOKENS", "GITHUB_TOKENS_FILE", "GH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GITHUB_TOKEN", "t")
    monkeypatch.setenv("SWEQUARRY_CACHE", str(tmp_path / "cache"))

    def never(*_args: object) -> None:
        raise AssertionError("a dry run asked GitHub")

    monkeypatch.setattr(GithubClient, "_send", never)
    upstream = make_upstream(tmp_path, "acme+widgets.git")
    files = dict(BASE)
    tip = upstream.commit(files, message="start")
    for number in range(1, 8):
        text = b"%d\n" % number
        files |= {b"docs/a.md": text} if number == 3 else {b"src/a.py": text, b"tests/test_a.py": text}
        tip = upstream.commit(
            files, parents=(tip,), at=START + number * 86_400, message=f"Mend {number} (#{number})"
        )
    return tmp_path


def plan(folder, *repositories: str, kind="github", **source):
    config = folder / "settings.yaml"
    names = repositories or ("acme/widgets",)
    data = {"kind": kind, "repositories": names, "mirror": f"{folder}/{{owner}}+{{name}}.git", **source}
    config.write_text(json.dumps({"workspace": str(folder / "quarry"), "source": data}))
    done = CliRunner().invoke(app, ["mine", str(config), "--dry-run", "--json"], standalone_mode=False)
    assert done.exception is None
    return json.loads(done.stdout)


def test_dry_run_counts_what_decides_and_asks_nothing(mirror):
    (found,) = plan(mirror, github={"batch": 5})
    assert (found["merged"], found["chosen"]) == (7, 7)
    assert found["passing"] == 6
    assert found["requests"] == 1 + 2 + 2  # the repository, pull requests, issues
    assert not (mirror / "quarry").exists()


def test_dry_run_of_a_repository_that_isnt_cloned_says_so(mirror):
    found = plan(mirror, "acme/widgets", "acme/other")
    assert {one["repo"]: one["merged"] for one in found} == {"acme/other": None, "acme/widgets": 7}


def test_dry_run_of_a_source_without_an_api_costs_nothing(mirror):
    (found,) = plan(mirror, kind="git")
    assert (found["requests"], found["points"]) == (0, 0)


def test_days_narrow_what_is_asked(mirror):
    (found,) = plan(mirror, since="2020-09-18")
    assert 0 < found["chosen"] < 7


def test_progress_says_what_all_wait_for_and_only_then(mirror, monkeypatch):
    from datetime import UTC, datetime, timedelta

    from miner.sources.github import memory_of
    from miner.sources.githubapi.memory import Pause
    from miner.sources.githubapi.tokens import token_id
    from swequarry.config import Settings, SourceSettings

    monkeypatch.setenv("GITHUB_TOKENS", "t u")
    settings = Settings(source=SourceSettings(kind="github"))
    ask = miner_mine.waits_of(settings, mirror / "cache")
    memory = memory_of(settings.source.github, mirror / "cache")
    later = datetime.now(UTC) + timedelta(hours=1)
    memory.pause(Pause(token=token_id("t"), resource="graphql", until=later, why="primary limit"))
    assert ask() is None
    memory.pause(Pause(token=token_id("u"), resource="all", until=later, why="secondary limit"))
    assert ask().startswith("waiting for GitHub until ")
