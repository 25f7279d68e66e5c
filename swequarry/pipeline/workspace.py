"""The folder of a run and the cache that runs share.

<workspace>/ledger.sqlite   what was decided, where no setting names a database for it
<workspace>/elsewhere.json  the names of what the settings keep elsewhere
<workspace>/blobs/          patches, locks, logs, matrices, by hash
<workspace>/logs/           one log per item
<workspace>/dataset/        the exported tasks
<workspace>/spending/       what each run spent on language models
<workspace>/report.html     the report

<cache>/mirrors/            clones that we made
<cache>/supplements/        objects that partial mirrors lack
<cache>/index/              files of the package index, by hash
<cache>/blobs/              copies of blobs that are kept elsewhere
<cache>/worlds/             what sandboxes start from
<cache>/leaks/              indexes of installed packages for the leak audit
<cache>/answers/            what language models said, by the hash of the question
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from swequarry.config import Settings
from swequarry.errors import InputError, StorageError
from swequarry.ledger.blob_cache import BlobCache
from swequarry.ledger.blobs import Blobs, BlobStore
from swequarry.ledger.ledger import Ledger
from swequarry.records import sha256_hex
from swequarry.write_whole import write_whole

LEDGER_NAME = "ledger.sqlite"
ELSEWHERE = "elsewhere.json"


def default_cache() -> Path:
    """Return `$SWEQUARRY_CACHE`, else `swequarry` in the user's cache folder."""
    named = os.environ.get("SWEQUARRY_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "swequarry"


def _blobs(url: str, cache: Path, settings: Settings) -> Blobs:
    from swequarry.ledger.remote_blobs import open_blobs  # noqa: PLC0415 - most runs keep their blobs at home

    # A copy says that the blob is in its store, so that each store has copies of its own.
    folder = cache / "blobs" / sha256_hex(url.encode())[:16]
    return open_blobs(url, BlobCache(BlobStore(folder), int(settings.blob_cache_gb * 1024**3)))


def _cache_of_newest_run(ledger: Ledger) -> Path | None:
    runs = ledger.runs()
    named = runs[-1].settings.get("cache") if runs else None
    return Path(named) if named else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What isn't in the workspace itself: the URLs of the ledger and of the blobs."""

    ledger: str | None = None
    blobs: str | None = None

    @classmethod
    def of(cls, settings: Settings, root: Path) -> Self:
        """Return what the settings name, else what the newest run of a workspace wrote down.

        Raises:
            StorageError: it can't be read.
        """
        try:
            known = json.loads((root / ELSEWHERE).read_bytes())
        except FileNotFoundError:
            known = {}
        except (OSError, ValueError) as error:
            raise StorageError(f"can't read {root / ELSEWHERE}: {error}") from error
        return cls(ledger=settings.ledger or known.get("ledger"), blobs=settings.blobs or known.get("blobs"))

    def write(self, root: Path) -> None:
        """Write it down, so that commands that are given a workspace find the rest."""
        named = {name: value for name, value in asdict(self).items() if value is not None}
        if named:
            data = json.dumps(named, indent=2).encode()
            if not (root / ELSEWHERE).is_file() or (root / ELSEWHERE).read_bytes() != data:
                write_whole(root / ELSEWHERE, data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Where one run keeps what it decides, and where it shares what can be made again."""

    root: Path
    cache: Path
    ledger: Ledger
    blobs: Blobs

    @classmethod
    def open(cls, settings: Settings, *, create: bool = True) -> Self:
        """Open the workspace that the settings name.

        Who opens what is there, and names no cache, means the one that its newest run worked with.

        Raises:
            InputError: it isn't there and `create` is off.
            StorageError: it can't be made or read.
        """
        root = settings.workspace.absolute()
        places = Places.of(settings, root)
        if not create and not (places.ledger or (root / LEDGER_NAME).is_file()):
            raise InputError(
                f"{root} is no workspace yet; `swequarry run` makes one, or name another with -w"
            )
        try:
            root.mkdir(parents=True, exist_ok=True)
            if create:
                places.write(root)
        except OSError as error:
            raise StorageError(f"can't make the workspace {root}: {error.strerror}") from error
        ledger = Ledger.open(places.ledger or root / LEDGER_NAME, create=create)
        known = None if create else _cache_of_newest_run(ledger)
        cache = (settings.cache or known or default_cache()).absolute()
        blobs = _blobs(places.blobs, cache, settings) if places.blobs else BlobStore(root / "blobs")
        return cls(root=root, cache=cache, ledger=ledger, blobs=blobs)

    @property
    def logs(self) -> Path:
        """The folder of the per-item logs."""
        return self.root / "logs"

    @property
    def dataset(self) -> Path:
        """The folder of the exported tasks."""
        return self.root / "dataset"

    @property
    def report(self) -> Path:
        """The report page."""
        return self.root / "report.html"

    @property
    def mirrors(self) -> Path:
        """The folder of the clones that we made."""
        return self.cache / "mirrors"

    @property
    def supplements(self) -> Path:
        """The folder of objects that mirrors lack."""
        return self.cache / "supplements"

    @property
    def index(self) -> Path:
        """The folder of files from the package index."""
        return self.cache / "index"

    @property
    def leaks(self) -> Path:
        """The folder of the leak audit's indexes."""
        return self.cache / "leaks"

    @property
    def answers(self) -> Path:
        """The folder of what language models said."""
        return self.cache / "answers"

    @property
    def worlds(self) -> Path:
        """The store of the sandbox backends."""
        return self.cache / "worlds"
