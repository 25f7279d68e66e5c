"""What the index proxy keeps on the host: files by SHA-256, for good; pages and dates, for a while.

Many processes share one cache. Everything is written whole or not at all (temp file, fsync, rename), and
a file is checked against its hash when it is written and when it is first used again.
"""

import contextlib
import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from swequarry.errors import IndexUnavailableError, StorageError
from swequarry.records import sha256_hex

_CHUNK = 1 << 20


class DamagedFileError(IndexUnavailableError):
    """A file of the index isn't what the index says it is (cut off, or replaced)."""


class IndexCache:
    """A folder of downloaded files, wheel metadata and index pages."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._checked: set[str] = set()
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def lock(self, key: str) -> threading.Lock:
        """Return the lock that keeps the threads of this process from fetching the same thing twice."""
        with self._guard:
            return self._locks.setdefault(key, threading.Lock())

    def file(self, sha256: str) -> Path | None:
        """Return the cached file of that hash, or None; a damaged one is removed."""
        path = self._path("files", sha256)
        if sha256 in self._checked and path.exists():
            return path
        try:
            with path.open("rb") as stream:
                actual = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError:
            return None
        if actual != sha256:
            path.unlink(missing_ok=True)
            return None
        self._checked.add(sha256)
        return path

    def add_file(self, sha256: str, chunks: Iterable[bytes]) -> Path:
        """Store a file under the hash that it must have.

        Raises:
            DamagedFileError: the bytes have another hash; nothing is kept.
            StorageError: the cache can't be written.
        """
        path = self._path("files", sha256)
        with self._writing(path) as stream:
            digest = hashlib.sha256()
            for chunk in chunks:
                digest.update(chunk)
                stream.write(chunk)
            if digest.hexdigest() != sha256:
                raise DamagedFileError(
                    f"the index served bytes with sha256 {digest.hexdigest()} for a file listed as {sha256}"
                )
        self._checked.add(sha256)
        return path

    def metadata(self, sha256: str) -> bytes | None:
        """Return the cached METADATA of the wheel with that hash."""
        with contextlib.suppress(OSError):
            return self._path("metadata", sha256).read_bytes()
        return None

    def add_metadata(self, sha256: str, content: bytes) -> None:
        """Store the METADATA of a wheel."""
        with self._writing(self._path("metadata", sha256)) as stream:
            stream.write(content)

    def page(self, url: str, *, now: float, max_age_s: float) -> tuple[str, bytes] | None:
        """Return (content type, body) of a page that was stored less than `max_age_s` ago.

        An absent project is stored as an empty content type.
        """
        path = self._path("pages", sha256_hex(url.encode()))
        try:
            head, _, body = path.read_bytes().partition(b"\n")
            stored = json.loads(head)
            fresh = 0 <= now - float(stored["at"]) < max_age_s
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return (str(stored["type"]), body) if fresh and stored.get("url") == url else None

    def add_page(self, url: str, content_type: str, body: bytes, *, now: float) -> None:
        """Store a page (or, with an empty content type, that there is none)."""
        head = json.dumps({"url": url, "type": content_type, "at": now}).encode("ascii")
        with self._writing(self._path("pages", sha256_hex(url.encode()))) as stream:
            stream.write(head + b"\n" + body)

    def _path(self, kind: str, key: str) -> Path:
        return self._root / kind / key[:2] / key

    @contextlib.contextmanager
    def _writing(self, path: Path) -> Iterator[IO[bytes]]:
        temporary = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(prefix=".part-", dir=path.parent)
            temporary = Path(name)
            with os.fdopen(descriptor, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            temporary.rename(path)
        except OSError as error:
            raise StorageError(f"the index cache {self._root} can't be written: {error}") from error
        finally:
            if temporary is not None:
                temporary.unlink(missing_ok=True)
