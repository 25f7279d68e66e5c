"""Locks on folders, which end with their process: how leftovers are told from what is in use."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from swequarry.errors import SandboxError

SHARED, ALONE = fcntl.LOCK_SH, fcntl.LOCK_EX


def try_lock(folder: Path, mode: int) -> int | None:
    """Open and lock a folder; None when it is gone or is held otherwise. Closing the descriptor unlocks."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


@contextlib.contextmanager
def locked(file: Path, mode: int) -> Iterator[None]:
    """Hold a lock on a file, waiting for it."""
    with file.open("rb") as handle:
        fcntl.flock(handle, mode)
        yield


@contextlib.contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Keep a folder from being swept while the block runs.

    Raises:
        SandboxError: it is gone.
    """
    lock = try_lock(folder, SHARED)
    if lock is None:
        raise SandboxError(f"{folder} is gone; build the world again")
    try:
        yield
    finally:
        os.close(lock)
