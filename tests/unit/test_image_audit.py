"""Layers of an image: none is passed over because it can't be read."""

import gzip
import io
import tarfile
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from swequarry.errors import SandboxError
from swequarry.sandbox.image_audit import layer_files


def packed(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def found(members: dict[str, bytes]) -> list[tuple[str, bytes | None]]:
    saved = packed(members)

    def get_image(_image: str, chunk_size: int) -> Iterator[bytes]:
        return (saved[start : start + 1000] for start in range(0, len(saved), chunk_size and 1000))

    engine = SimpleNamespace(api=SimpleNamespace(get_image=get_image))
    return [(file.path, file.data) for file in layer_files(engine, "image", 4000)]


def test_plain_packed_and_empty_layers_are_read_and_json_is_no_layer():
    members = {
        "blobs/sha256/a": packed({"x": b"1" * 3000, "large": b"2" * 5000}),
        "blobs/sha256/b": gzip.compress(packed({"./y": b"3"})),
        "blobs/sha256/c": packed({}),
        "blobs/sha256/d": b'{"config": {}}',
        "manifest.json": b"[]",
    }
    assert found(members) == [("/x", b"1" * 3000), ("/large", None), ("/y", b"3")]


def test_layer_that_cannot_be_read_is_trouble_and_not_an_empty_one():
    with pytest.raises(SandboxError, match="can't be read"):
        found({"blobs/sha256/a": b"\x28\xb5\x2f\xfd" + b"z" * 2000})
