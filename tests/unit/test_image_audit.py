"""Layers of an image: none is passed over because it can't be read."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from swequarry.errors import SandboxError
from swequarry.sandbox.image_audit import NO_BASE, BaseLayers, LayerFile, layer_files


def packed(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def files_in(members: dict[str, bytes], base: BaseLayers = NO_BASE) -> list[LayerFile]:
    saved = packed(members)

    def get_image(_image: str, chunk_size: int) -> Iterator[bytes]:
        return (saved[start : start + 1000] for start in range(0, len(saved), chunk_size and 1000))

    engine = SimpleNamespace(api=SimpleNamespace(get_image=get_image))
    return list(layer_files(engine, "image", 4000, base))


def found(members: dict[str, bytes]) -> list[tuple[str, bytes | None]]:
    return [(file.path, file.data) for file in files_in(members)]


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


def test_base_layer_is_told_by_what_it_holds_and_nothing_above_it_is_passed_over():
    below, above = packed({"usr/a.py": b"1", "usr/b.py": b"2"}), packed({"usr/b.py": b"3", "c": b"4"})
    base = BaseLayers(
        ids=frozenset({f"sha256:{hashlib.sha256(below).hexdigest()}"}),
        wanted=lambda path: path.endswith("a.py"),
    )
    seen = files_in({"x/layer.tar": below, "y/layer.tar": above, "z/layer.tar": gzip.compress(below)}, base)
    assert [(file.path, file.data, file.of_base) for file in seen] == [
        ("/usr/a.py", b"1", True),
        ("/usr/b.py", None, True),
        ("/usr/b.py", b"3", False),
        ("/c", b"4", False),
        ("/usr/a.py", b"1", False),
        ("/usr/b.py", b"2", False),
    ]
