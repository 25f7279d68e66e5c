"""One copy of every file that layers have in common: equal files become hard links to it.

    <pool>/<2 hex digits>/<62 hex digits>   a file, named by the hash of its bytes, mode, owner and time
    <pool>/new-<random>                     a link on its way into a layer

Environments of one repository differ in a few megabytes and repeat hundreds. Layers are only ever read
through overlayfs, which copies a file up before it is written, so a shared file can't be changed through
one of its names. Equal bytes are the whole proof: who made a file first doesn't matter.
"""

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

_CHUNK = 1 << 20


class FilePool:
    """A folder on the file system of the layers; callers keep `share` and `sweep` apart by a lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def share(self, tree: Path) -> int:
        """Replace the files of a tree by links to equal files of the pool; return the bytes saved.

        What can't be read, linked or moved stays as it is, whatever the reason (a file system without
        hard links, a closed folder, a full disk): sharing is thrift, not meaning.
        """
        saved = 0
        for path, status in _plain_files(os.fsencode(tree)):
            with contextlib.suppress(OSError):
                saved += self._share_file(path, status)
        return saved

    def _share_file(self, path: bytes, status: os.stat_result) -> int:
        pooled = self._folder / _name(path, status)
        claim = self._folder / f"new-{secrets.token_hex(12)}"
        try:
            os.link(pooled, claim)
        except FileNotFoundError:
            pooled.parent.mkdir(exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.link(path, pooled)
            return 0
        except OSError as error:
            if error.errno != errno.EMLINK:
                raise
            os.link(path, claim)  # the file has all the links it can have: this copy takes its place
            claim.replace(pooled)
            return 0
        try:
            os.replace(claim, path)  # noqa: PTH105 - a bytes path
        finally:
            claim.unlink(missing_ok=True)
        return status.st_size

    def sweep(self) -> int:
        """Delete what no layer links to any more; return how many files."""
        removed = 0
        for folder, _, files in os.walk(self._folder):
            for name in files:
                path = Path(folder, name)
                if path.lstat().st_nlink == 1 or name.startswith("new-"):
                    path.unlink()
                    removed += 1
        return removed


def _plain_files(tree: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
    """Yield the regular files of a tree that have one name, no extended attributes and no set-id bits."""
    for folder, _, files in os.walk(tree):
        for name in files:
            path = os.path.join(folder, name)  # noqa: PTH118 - bytes paths
            status = os.lstat(path)
            special = status.st_mode & (stat.S_ISUID | stat.S_ISGID)
            if (
                stat.S_ISREG(status.st_mode)
                and status.st_nlink == 1
                and not special
                and not _attributes(path)
            ):
                yield path, status


def _attributes(path: bytes) -> list[str]:
    try:
        return os.listxattr(path, follow_symlinks=False)
    except OSError:
        return []


def _name(path: bytes, status: os.stat_result) -> str:
    meta = (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, status.st_mtime_ns)
    digest = hashlib.sha256(repr(meta).encode("ascii"))
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as handle:  # noqa: PTH123
        while data := handle.read(_CHUNK):
            digest.update(data)
    text = digest.hexdigest()
    return f"{text[:2]}/{text[2:]}"
