"""A folder written whole or not at all.

Files are written into a hidden folder beside the destination; then the two names are exchanged in one step
(renameat2 with RENAME_EXCHANGE, Linux 3.15 and newer), so that a reader sees the old dataset or the new one
and a kill at any moment leaves one of them. File systems without that call get two renames.
"""

import contextlib
import ctypes
import errno
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from swequarry.errors import InputError, StorageError

MARK = "manifest.json"
"""The file that tells a dataset of ours from somebody's folder."""

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def _exchange(left: Path, right: Path) -> bool:
    """Swap two existing paths in one step; False where the file system can't."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        return False
    status = libc.renameat2(
        _AT_FDCWD, os.fsencode(left), _AT_FDCWD, os.fsencode(right), ctypes.c_uint(_RENAME_EXCHANGE)
    )
    if status == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(right))


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _flush(folder: Path) -> None:
    for root, _, names in os.walk(folder):
        for name in names:
            _fsync(Path(root, name))
        _fsync(Path(root))


def _owner_is_dead(name: str) -> bool:
    host, _, pid = name.removesuffix(".tmp").rpartition(".")
    if not pid.isdigit() or not host.endswith(f".{socket.gethostname()}"):
        return False
    return not Path("/proc", pid).exists()


def _sweep(destination: Path) -> None:
    """Remove what killed writers of this destination left; never that of a live one."""
    for entry in destination.parent.glob(f".{_glob_safe(destination.name)}.*.tmp"):
        if _owner_is_dead(entry.name):
            shutil.rmtree(entry, ignore_errors=True)


def _glob_safe(name: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)


def _check_replaceable(destination: Path) -> None:
    if not destination.exists() and not destination.is_symlink():
        return
    if destination.is_symlink() or not destination.is_dir():
        raise InputError(f"{destination} is there and isn't a folder; name another one")
    if not (destination / MARK).is_file() and any(destination.iterdir()):
        raise InputError(f"{destination} holds something that isn't a dataset; name an empty or a new folder")


@contextmanager
def replaced_folder(destination: Path) -> Iterator[Path]:
    """Give an empty folder to write into; on leaving without an error it becomes `destination`.

    Raises:
        InputError: `destination` holds something else than a dataset.
        StorageError: it can't be written; what was there stays as it was.
    """
    _check_replaceable(destination)
    work = destination.parent / f".{destination.name}.{socket.gethostname()}.{os.getpid()}.tmp"
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        _sweep(destination)
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        yield work
        _flush(work)
        _put_in_place(work, destination)
        _fsync(destination.parent)
    except OSError as error:
        raise StorageError(f"can't write {destination}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _put_in_place(work: Path, destination: Path) -> None:
    if not destination.exists():
        work.rename(destination)
    elif not _exchange(work, destination):
        aside = work.with_name(f"{work.name.removesuffix('.tmp')}.old.tmp")
        destination.rename(aside)
        try:
            work.rename(destination)
        except OSError:
            with contextlib.suppress(OSError):
                aside.rename(destination)
            raise
        shutil.rmtree(aside, ignore_errors=True)
