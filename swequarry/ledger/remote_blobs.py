"""Blobs in an object store, through fsspec: `s3://bucket/prefix`, `gs://bucket/prefix`.

Each is one object under its hash, written once, never changed, never listed. Reads are verified, and copies
are kept on this machine. Credentials and endpoints come from where the store's own client looks for them.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import fsspec

from swequarry.errors import InputError, StorageError, StorageLostError
from swequarry.ledger.blob_cache import BlobCache
from swequarry.ledger.blobs import Blobs, BlobStore, place_of
from swequarry.ledger.steady import steady
from swequarry.records import BlobHash, sha256_hex

_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs"}
_FINAL = ("NoCredentialsError", "NoSuchBucket", "ParamValidationError", "DefaultCredentialsError")
"""Errors of the clients that no patience helps against, by name: the clients are optional."""


@contextmanager
def _storage_errors(action: str, place: str) -> Iterator[None]:
    try:
        yield
    except (StorageError, FileNotFoundError, FileExistsError):
        raise
    except Exception as error:
        said = str(error) or type(error).__name__
        if isinstance(error, PermissionError) or type(error).__name__ in _FINAL:
            raise StorageError(
                f"can't {action} {place}: {said}; give credentials that may read and write there"
            ) from error
        raise StorageLostError(f"can't {action} {place} now: {said}") from error


@dataclass(frozen=True)
class RemoteBlobs:
    """An object store of blobs; see `Blobs`. Every process opens its own."""

    url: str
    cache: BlobCache

    @cached_property
    def files(self) -> tuple[Any, str]:
        """The file system of the URL, and the path of its root there.

        Raises:
            InputError: it can't be opened with what is installed.
        """
        scheme = self.url.partition("://")[0]
        try:
            # Its cache of listings could say that nothing is where somebody else has just written.
            return fsspec.core.url_to_fs(self.url, use_listings_cache=False)  # type: ignore[no-any-return]
        except ImportError as error:
            extra = _EXTRAS.get(scheme)
            hint = f"install swequarry[{extra}]" if extra else "install what it names"
            raise InputError(f"blobs at {scheme}:// need more than is installed ({error}); {hint}") from error
        except ValueError as error:
            raise InputError(f"can't keep blobs at {self.url}: {error}") from error

    @steady
    def put(self, data: bytes) -> BlobHash:
        """Store bytes unless they are there, and return their hash; see `Blobs`."""
        name = BlobHash(sha256_hex(data))
        if self.cache.has(name) and self.has(name):
            return name
        files, root = self.files
        place = f"{root}/{place_of(name)}"
        try:
            with _storage_errors("store a blob at", self.url):
                files.pipe_file(place, data, mode="create")
        except FileExistsError:  # the store itself refuses to write a second time
            pass
        except FileNotFoundError as error:
            raise StorageError(f"can't store a blob at {self.url}: {error}; make the bucket first") from error
        self.cache.keep(data)
        return name

    @steady
    def get(self, name: BlobHash) -> bytes:
        """Return the bytes of a blob, verified; see `Blobs`."""
        place = place_of(name)
        known = self.cache.get(name)
        if known is not None:
            return known
        files, root = self.files
        try:
            with _storage_errors("read a blob at", self.url):
                data: bytes = files.cat_file(f"{root}/{place}")
        except FileNotFoundError:
            raise StorageError(f"blob {name} isn't at {self.url}") from None
        if sha256_hex(data) != name:
            raise StorageError(
                f"blob {name} at {self.url} is damaged: its bytes don't have its hash; restore it from a copy"
            )
        self.cache.keep(data)
        return data

    @steady
    def has(self, name: BlobHash) -> bool:
        """Whether a blob is stored; see `Blobs`. A copy here is no proof: the store may have dropped it."""
        place = place_of(name)
        files, root = self.files
        with _storage_errors("look for a blob at", self.url), suppress(FileNotFoundError):
            return bool(files.info(f"{root}/{place}"))
        return False


def open_blobs(url: str, cache: BlobCache) -> Blobs:
    """Return the blobs at a URL; those at `file://` are a folder that all machines see.

    Raises:
        InputError: it can't be opened with what is installed.
    """
    if url.startswith("file://"):
        return BlobStore(Path(url2pathname(urlsplit(url).path)))
    blobs = RemoteBlobs(url.rstrip("/"), cache)
    _ = blobs.files  # a wrong setting is said before any work
    return blobs
