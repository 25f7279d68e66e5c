"""Mines one repository over and over in a process of its own: what tests kill.

    python github_miner.py API FOLDER BATCH

Prints the hash of the candidate table when it has come to its end. Time is real, but sleeping is short.
"""

import hashlib
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from miner import mine
from miner.sources import github
from swequarry.config import Settings, SourceSettings
from swequarry.git.mirrors import MirrorLocator
from swequarry.outcome import Accepted
from swequarry.records import BlobHash, canonical_json


class HastyClock:
    """Sleeps a hundredth of a second, and says that it was as long as asked for."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def sleep(self, seconds: float) -> None:
        self.ahead += timedelta(seconds=seconds)
        time.sleep(0.01)


def table(api: str, folder: Path, batch: int) -> str:
    """Return the hash of how every pull request of `acme/widgets` ended, patches included."""
    clock, opened = HastyClock(), github.open_client
    mine.open_client = lambda settings, cache: opened(settings, cache, clock)  # type: ignore[assignment]
    settings = Settings(
        source=SourceSettings(
            kind="github", repositories=("acme/widgets",), github={"api": api, "tries": 30, "batch": batch}
        )
    )
    locator = MirrorLocator(template=f"{folder}/{{owner}}+{{name}}.git", url="", cache=folder / "c" / "m")
    (unit,) = mine.mine_units(settings)
    digest = hashlib.sha256(mine.unit_fingerprint(unit, settings, locator).encode())

    def put(data: bytes) -> BlobHash:
        return BlobHash(hashlib.sha256(data).hexdigest())

    for item in mine.mine_unit(unit, settings, locator, put):
        ended = item.outcome.value.to_json() if isinstance(item.outcome, Accepted) else repr(item.outcome)
        digest.update(canonical_json([item.item, ended]))
    return digest.hexdigest()


if __name__ == "__main__":
    sys.stdout.write(table(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])) + "\n")
