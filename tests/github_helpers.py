"""What tests of the source `github` share: a clock that doesn't wait, a client for a test server, its mining."""

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "fixtures"))

from github_server.model import World
from github_server.server import GitHubServer, serving

from miner.sources.githubapi.client import GithubClient, Patience
from miner.sources.githubapi.memory import Memory
from swequarry.records import BlobHash


@dataclass
class QuickClock:
    """Real time, but that sleeping is only noted, and time goes on by as much."""

    slept: list[float] = field(default_factory=list)
    ahead: timedelta = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.ahead += timedelta(seconds=seconds)


def make_client(
    server: GitHubServer, folder: Path, tokens=("t1",), ca_bundle: Path | None = None, **patience
) -> GithubClient:
    return GithubClient(
        ca_bundle=ca_bundle,
        api=server.api,
        tokens=tokens,
        memory=Memory(folder / "memory.sqlite"),
        clock=QuickClock(),
        patience=Patience(**{"timeout_s": 60, **patience}),
    )


@dataclass
class Blobs:
    kept: dict[BlobHash, bytes] = field(default_factory=dict)

    def put(self, data: bytes) -> BlobHash:
        name = BlobHash(hashlib.sha256(data).hexdigest())
        self.kept[name] = data
        return name


@contextmanager
def served(world: World, **options) -> Iterator[GitHubServer]:
    """Serve a world; what the server couldn't answer fails the test."""
    with serving(world, **options) as server:
        yield server
        assert server.problems == []


def needs_schema() -> None:
    """Skip where GitHub's official schema isn't here and can't be brought."""
    from github_server.schema import SchemaAbsentError, schema_file

    try:
        schema_file()
    except SchemaAbsentError as error:
        pytest.skip(str(error))
