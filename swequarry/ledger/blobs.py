"""Bytes by their hash, in plain files: `root/ab/cdef...`, written whole or not at all."""

import errno
import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from swequarry.errors import DiskFullError, StorageError
from swequarry.records import BlobHash, sha256_hex


class Blobs(Protocol):
    """Bytes by their hash, wherever they lie. Safe for several threads, processes and machines at once."""

    def put(self, data: bytes) -> BlobHash:
        """Store bytes, once, and return their hash.

        Raises:
            DiskFullError: no space is left.
            StorageError: they can't be stored.
        """

    def get(self, name: BlobHash) -> bytes:
        """Return the bytes of a blob, verified.

        Raises:
            StorageError: the blob is missing, unreadable, or its bytes don't have its hash.
        """

    def has(self, name: BlobHash) -> bool:
        """Whether a blob is stored (its bytes aren't verified)."""


_NAME = re.compile(r"[0-9a-f]{64}")
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


def is_disk_full(error: BaseException | None) -> bool:
    """Whether an error, or one that it was raised from, says that there is no space left."""
    while error is not None:
        if isinstance(error, DiskFullError) or (isinstance(error, OSError) and error.errno in _NO_SPACE):
            return True
        error = error.__cause__
    return False


@contextmanager
def _storage_errors(action: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if is_disk_full(error):
            raise DiskFullError(
                f"can't {action} {path}: no space left; free some or move the workspace, then run again"
            ) from error
        raise StorageError(f"can't {action} {path}: {error.strerror or error}") from error


def place_of(name: BlobHash) -> str:
    """Return the relative path of a blob in any store, `ab/cdef...`; refuses what isn't a hash."""
    if not _NAME.fullmatch(name):
        raise StorageError(f"{name!r} isn't the hash of a blob (64 lower-case hex digits)")
    return f"{name[:2]}/{name[2:]}"


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBlob:
    """A file of the store as `iterate` finds it; `touched_at` is when it was last put, epoch seconds."""

    name: BlobHash
    size_bytes: int
    touched_at: float


def _look_at(name: str, path: Path) -> StoredBlob | None:
    try:
        stat = path.stat()
    except FileNotFoundError:  # another gc was faster
        return None
    if not _NAME.fullmatch(name):
        return None
    return StoredBlob(name=BlobHash(name), size_bytes=stat.st_size, touched_at=stat.st_mtime)


@dataclass(frozen=True, slots=True)
class BlobStore:
    """A folder of blobs. Safe for several threads, processes and drivers at once."""

    root: Path

    def put(self, data: bytes) -> BlobHash:
        """Store bytes durably and return their hash; those already there are touched, damaged ones mended.

        Raises:
            DiskFullError: no space is left; nothing half-written stays.
            StorageError: the store can't be written.
        """
        name = BlobHash(sha256_hex(data))
        path = self.path_of(name)
        with _storage_errors("store a blob in", self.root), self._lock(fcntl.LOCK_SH):
            # The touch tells a concurrent gc that somebody is about to refer to this blob again.
            if path.is_file() and path.read_bytes() == data:
                os.utime(path)
            else:
                self._write(path, data)
        return name

    def get(self, name: BlobHash) -> bytes:
        """Return the bytes of a blob, verified.

        Raises:
            StorageError: the blob is missing, unreadable, or its bytes don't have its hash.
        """
        path = self.path_of(name)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise StorageError(f"blob {name} isn't in {self.root}") from None
        except OSError as error:
            raise StorageError(f"can't read blob {path}: {error.strerror}") from error
        if sha256_hex(data) != name:
            raise StorageError(
                f"blob {path} is damaged: its bytes don't have its hash; restore it from a copy"
            )
        return data

    def has(self, name: BlobHash) -> bool:
        """Whether a blob is stored (its bytes aren't verified)."""
        return self.path_of(name).is_file()

    def iterate(self) -> Iterator[StoredBlob]:
        """Yield what is stored, in the order of the hashes."""
        with _storage_errors("list", self.root):
            for folder in sorted(self.root.glob("[0-9a-f][0-9a-f]")):
                for path in sorted(folder.iterdir()):
                    blob = _look_at(folder.name + path.name, path)
                    if blob is not None:
                        yield blob

    def delete(self, name: BlobHash, *, untouched_since: float | None = None) -> bool:
        """Delete a blob; with `untouched_since` only if it wasn't put since then. True if it went."""
        path = self.path_of(name)
        with _storage_errors("delete", path), self._lock(fcntl.LOCK_EX):
            try:
                if untouched_since is not None and path.stat().st_mtime > untouched_since:
                    return False
                path.unlink()
            except FileNotFoundError:
                return False
        return True

    def sweep(self, *, untouched_since: float) -> int:
        """Delete temporary files that dead writers left; return how many."""
        swept = 0
        with _storage_errors("sweep", self.root), self._lock(fcntl.LOCK_EX):
            for path in (self.root / "tmp").glob("*"):
                # A living writer waits for this lock or finished with it, but keep what is fresh anyway.
                if path.stat().st_mtime <= untouched_since:
                    path.unlink()
                    swept += 1
        return swept

    def path_of(self, name: BlobHash) -> Path:
        """Return where a blob lies; refuses what isn't a hash, so that no name leaves the root."""
        return self.root / place_of(name)

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.root / "tmp" / f"{os.getpid()}-{secrets.token_hex(8)}"
        temporary.parent.mkdir(exist_ok=True)
        try:
            with temporary.open("xb") as handle:
                handle.write(data)
                handle.flush()
                os.fsync(handle.fileno())
            temporary.rename(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)

    @contextmanager
    def _lock(self, kind: int) -> Iterator[None]:
        self.root.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, kind)
            yield
        finally:
            os.close(handle)
