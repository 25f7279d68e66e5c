"""The METADATA of a wheel that lies on another machine, without fetching the whole wheel.

Not every index serves PEP 658 metadata. A wheel is a zip file, whose table of contents is at its end, so
three small range requests replace a download that may have hundreds of megabytes.
"""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from swequarry.errors import IndexUnavailableError

_TAIL = 96 * 1024
_BLOCK = 32 * 1024
_LIMIT = 8 * 1024**2


class RangeReader(io.RawIOBase):
    """A read-only file over `read_range(start, stop)`; keeps its tail and the last block read."""

    def __init__(self, size_bytes: int, read_range: Callable[[int, int], bytes]) -> None:
        super().__init__()
        self._size = size_bytes
        self._read_range = read_range
        self._position = 0
        self._blocks: list[tuple[int, bytes]] = []
        self._load(max(0, size_bytes - _TAIL), size_bytes)

    def _load(self, start: int, stop: int) -> None:
        data = self._read_range(start, stop)
        if len(data) != stop - start:
            raise IndexUnavailableError("the index cut a range request short")
        self._blocks.append((start, data))

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move; positions past the end read nothing."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes, all that are left where it is negative."""
        stop = self._size if size is None or size < 0 else min(self._size, self._position + size)
        start, self._position = self._position, max(self._position, stop)
        if stop <= start:
            return b""
        for base, data in self._blocks:
            if base <= start and stop <= base + len(data):
                return data[start - base : stop - base]
        self._load(start, min(self._size, max(stop, start + _BLOCK)))
        base, data = self._blocks[-1]
        return data[: stop - base]


def metadata_in(stream: IO[bytes] | io.RawIOBase | Path) -> bytes:
    """Return the METADATA of a wheel.

    Raises:
        ValueError: the file is no wheel, or its metadata is larger than 8 MiB.
    """
    try:
        with zipfile.ZipFile(stream) as archive:
            return _read_metadata(archive)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise ValueError(f"not a readable wheel: {error}") from error


def _read_metadata(archive: zipfile.ZipFile) -> bytes:
    for info in archive.infolist():
        folder, _, name = info.filename.partition("/")
        if name == "METADATA" and folder.endswith(".dist-info"):
            if info.file_size > _LIMIT:
                raise ValueError("the metadata of the wheel is larger than 8 MiB")
            return archive.read(info)
    raise ValueError("the wheel has no METADATA")
