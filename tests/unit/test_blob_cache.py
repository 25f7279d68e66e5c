import errno
import os
from pathlib import Path

import pytest

from swequarry.ledger.blob_cache import BlobCache
from swequarry.ledger.blobs import BlobStore
from swequarry.records import BlobHash, sha256_hex


def filled(cache: BlobCache, number: int, size: int = 100) -> BlobHash:
    data = number.to_bytes(size, "big")
    cache.keep(data)
    name = BlobHash(sha256_hex(data))
    if cache.has(name):
        os.utime(cache.store.path_of(name), (number, number))
    return name


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path):
    cache = BlobCache(BlobStore(tmp_path), 1000)
    names = [filled(cache, number) for number in range(1, 10)]
    assert cache.get(names[0]) is not None  # used now
    filled(cache, 10)
    filled(cache, 11)
    assert cache.has(names[0])
    assert not cache.has(names[1])
    assert sum(blob.size_bytes for blob in cache.store.iterate()) <= 1000


def test_blob_larger_than_the_budget_drives_nothing_out(tmp_path: Path):
    cache = BlobCache(BlobStore(tmp_path), 1000)
    name = filled(cache, 1)
    filled(cache, 2, size=5000)
    assert [blob.name for blob in cache.store.iterate()] == [name]


def test_full_disk_empties_the_cache_and_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cache = BlobCache(BlobStore(tmp_path), 1000)
    name = filled(cache, 1)

    def fail(*_args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        cache.keep(b"no room")
    assert cache.get(name) is None


def test_copy_that_another_process_drives_out_is_just_not_there(tmp_path: Path):
    cache = BlobCache(BlobStore(tmp_path), 1000)
    assert cache.get(BlobHash("f" * 64)) is None
