import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swequarry.errors import DiskFullError, StorageError
from swequarry.ledger.blobs import BlobStore
from swequarry.records import BlobHash, sha256_hex


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


@settings(max_examples=30, deadline=None)
@given(data=st.binary(max_size=3000))
def test_bytes_come_back_as_they_were(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    blobs = BlobStore(tmp_path_factory.mktemp("store") / "a b")
    name = blobs.put(data)
    assert name == sha256_hex(data)
    assert blobs.put(data) == name
    assert blobs.get(name) == data
    assert [(blob.name, blob.size_bytes) for blob in blobs.iterate()] == [(name, len(data))]


@pytest.mark.parametrize(
    "folder", [b"sp ace", b"new\nline", b"quo\"te'", b"not-utf8-\xff\xfe", "ünïcode".encode()]
)
def test_odd_folder_names_hold_blobs(tmp_path: Path, folder: bytes) -> None:
    blobs = BlobStore(tmp_path / os.fsdecode(folder))
    assert blobs.get(blobs.put(b"x")) == b"x"


def test_damaged_blob_is_never_returned(blobs: BlobStore) -> None:
    name = blobs.put(b"right")
    blobs.path_of(name).write_bytes(b"wrong")
    with pytest.raises(StorageError, match="damaged"):
        blobs.get(name)
    blobs.put(b"right")
    assert blobs.get(name) == b"right"


def test_missing_blob_is_a_storage_error_that_names_it(blobs: BlobStore) -> None:
    with pytest.raises(StorageError, match="f" * 64):
        blobs.get(BlobHash("f" * 64))


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "a" * 63, "A" * 64, "a" * 64 + "\n", "g" * 64])
def test_name_that_is_no_hash_never_leaves_the_store(blobs: BlobStore, name: str) -> None:
    for action in (blobs.get, blobs.has, blobs.delete):
        with pytest.raises(StorageError):
            action(BlobHash(name))


@pytest.mark.parametrize("call", ["fsync", "rename"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_leaves_no_half_blob(
    blobs: BlobStore, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    blobs.put(b"before")

    def fail(*_args: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os if call == "fsync" else Path, call, fail)
        with pytest.raises(DiskFullError, match="no space left"):
            blobs.put(b"after")
    name = BlobHash(sha256_hex(b"after"))
    assert not blobs.has(name)
    assert not list((blobs.root / "tmp").iterdir())
    assert blobs.put(b"after") == name


def test_other_write_errors_are_not_called_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError) as caught:
        BlobStore(tmp_path / "file").put(b"x")
    assert not isinstance(caught.value, DiskFullError)


def test_stray_files_are_not_taken_for_blobs(blobs: BlobStore) -> None:
    name = blobs.put(b"x")
    (blobs.path_of(name).parent / "notes.txt").write_text("")
    (blobs.root / "README").write_text("")
    assert [blob.name for blob in blobs.iterate()] == [name]


def test_sweep_takes_only_old_leftovers(blobs: BlobStore) -> None:
    name = blobs.put(b"x")
    old, young = blobs.root / "tmp" / "1-old", blobs.root / "tmp" / "2-young"
    old.write_bytes(b"")
    young.write_bytes(b"")
    os.utime(old, (100, 100))
    assert blobs.sweep(untouched_since=200) == 1
    assert (young.exists(), old.exists(), blobs.has(name)) == (True, False, True)
