"""Writes a file whole or not at all: temporary file, fsync, rename."""

import os
import secrets
from pathlib import Path

from swequarry.errors import StorageError


def write_whole(path: Path, data: bytes) -> None:
    """Give a file these bytes; its folder is made where it's missing.

    Raises:
        StorageError: it can't be written; what was there stays.
    """
    work = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with work.open("xb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            work.replace(path)
        finally:
            work.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"can't write {path}: {error.strerror or error}") from error
