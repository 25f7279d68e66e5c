"""Blobs in an object store that speaks S3, through a proxy that can be told to fail."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import stamina
from faulty_proxy import Fault, FaultyProxy

from swequarry.config import Settings, parse_settings
from swequarry.errors import ConfigError, InputError, StorageError, StorageLostError
from swequarry.ledger.blob_cache import BlobCache
from swequarry.ledger.blobs import BlobStore
from swequarry.ledger.remote_blobs import RemoteBlobs, open_blobs
from swequarry.pipeline.workspace import Workspace
from swequarry.records import BlobHash, sha256_hex

moto_server = pytest.importorskip("moto.server")
s3fs = pytest.importorskip("s3fs")


@dataclass
class Bucket:
    url: str
    proxy: FaultyProxy
    files: Any

    def open(self, folder: Path, budget_bytes: int = 1 << 20) -> RemoteBlobs:
        """Open it as another machine would, with a cache of its own."""
        return RemoteBlobs(self.url, BlobCache(BlobStore(folder), budget_bytes))

    def objects(self) -> list[str]:
        self.files.invalidate_cache()
        return self.files.find(self.url)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    server = moto_server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    proxy = FaultyProxy(host, port)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{proxy.port}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "tests")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)  # the client's own patience comes before ours
    s3fs.S3FileSystem.clear_instance_cache()
    files = s3fs.S3FileSystem()
    name = f"bucket-{os.urandom(4).hex()}"
    files.mkdir(name)
    yield Bucket(f"s3://{name}/blobs", proxy, files)
    s3fs.S3FileSystem.clear_instance_cache()
    proxy.close()
    server.stop()


def test_bytes_that_one_machine_puts_another_gets(bucket: Bucket, tmp_path: Path):
    here, there = bucket.open(tmp_path / "here"), bucket.open(tmp_path / "there")
    for data in (b"", b"x", os.urandom(70_000)):
        name = here.put(data)
        assert name == sha256_hex(data)
        assert (there.has(name), there.get(name)) == (True, data)
    assert len(bucket.objects()) == 3
    assert all(path.split("/", 1)[1].count("/") == 2 for path in bucket.objects())


def test_blob_is_written_once_and_read_once_a_machine(bucket: Bucket, tmp_path: Path):
    here, there = bucket.open(tmp_path / "here"), bucket.open(tmp_path / "there")
    name = here.put(b"once")
    first = bucket.files.info(bucket.objects()[0])["LastModified"]
    assert there.put(b"once") == name
    assert bucket.files.info(bucket.objects()[0])["LastModified"] == first
    bucket.proxy.fault = Fault.REFUSE
    assert (here.get(name), there.get(name)) == (b"once", b"once")


def test_copy_is_no_proof_that_the_store_has_a_blob(bucket: Bucket, tmp_path: Path):
    here, there = bucket.open(tmp_path / "here"), bucket.open(tmp_path / "there")
    name = here.put(b"kept")
    bucket.files.rm(bucket.objects()[0])  # by the store's own rules of expiry, or by a person
    assert not here.has(name)
    assert here.put(b"kept") == name
    assert there.get(name) == b"kept"


def test_damaged_object_is_never_returned_and_a_damaged_copy_is_fetched_again(bucket: Bucket, tmp_path: Path):
    here = bucket.open(tmp_path / "here")
    name = here.put(b"right")
    here.cache.store.path_of(name).write_bytes(b"wrong")
    assert here.get(name) == b"right"
    bucket.files.pipe_file(bucket.objects()[0], b"wrong")
    assert here.get(name) == b"right"  # the copy was verified before it was kept
    with pytest.raises(StorageError, match="damaged"):
        bucket.open(tmp_path / "there").get(name)


def test_missing_blob_and_what_is_no_hash_are_said(bucket: Bucket, tmp_path: Path):
    blobs = bucket.open(tmp_path / "here")
    assert not blobs.has(BlobHash("f" * 64))
    with pytest.raises(StorageError, match=f"{'f' * 64} isn't at s3://"):
        blobs.get(BlobHash("f" * 64))
    for action in (blobs.get, blobs.has):
        with pytest.raises(StorageError, match="isn't the hash"):
            action(BlobHash("../../etc/passwd"))


def test_store_that_refuses_costs_time_and_no_blob(bucket: Bucket, tmp_path: Path):
    blobs = bucket.open(tmp_path / "here")
    bucket.proxy.fault = Fault.REFUSE
    with stamina.set_testing(True, attempts=1), pytest.raises(StorageLostError, match="can't store a blob"):
        blobs.put(b"kept")
    bucket.proxy.fault = Fault.SLOW
    name = blobs.put(b"kept")
    assert bucket.open(tmp_path / "there").get(name) == b"kept"


def test_bucket_that_is_not_there_is_an_error_at_once(bucket: Bucket, tmp_path: Path):
    blobs = RemoteBlobs("s3://nowhere-at-all/x", BlobCache(BlobStore(tmp_path), 1000))
    with pytest.raises(StorageError) as caught:
        blobs.put(b"x")
    assert not isinstance(caught.value, StorageLostError)


def test_workspace_keeps_copies_of_each_store_apart(bucket: Bucket, tmp_path: Path):
    first, second = (
        Workspace.open(
            Settings(workspace=tmp_path / name, cache=tmp_path / "cache", blobs=f"{bucket.url}/{name}")
        )
        for name in ("one", "two")
    )
    name = first.blobs.put(b"x")
    assert second.blobs.put(b"x") == name
    assert len(bucket.objects()) == 2  # the copy of the first store was no reason to leave it out
    again = Workspace.open(Settings(workspace=tmp_path / "one"), create=False)
    assert again.blobs.get(name) == b"x"


def test_folder_that_all_machines_see_is_a_store_too(tmp_path: Path):
    blobs = open_blobs(f"file://{tmp_path}/a%20b", BlobCache(BlobStore(tmp_path / "cache"), 1000))
    name = blobs.put(b"x")
    assert BlobStore(tmp_path / "a b").get(name) == b"x"


def test_store_that_nothing_here_can_open_is_said(tmp_path: Path):
    with pytest.raises(InputError, match="nothing://"):
        open_blobs("nothing://x", BlobCache(BlobStore(tmp_path), 1000))
    with pytest.raises(ConfigError, match="blobs"):
        parse_settings({"blobs": "a/folder"})
