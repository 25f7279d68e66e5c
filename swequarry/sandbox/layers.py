"""A stack of overlayfs layers as plain folders: look at the merged tree, change its top, read a file.

Works while nothing is mounted, so no foreign code can move things meanwhile; still, what it left is hostile,
and no link is ever followed. In a layer, a removed path is a whiteout (character device 0:0) and a folder
that hides the one below carries `user.overlay.opaque` (Documentation/filesystems/overlayfs.rst; the `user.`
form is that of mounts inside a user namespace).
"""

import contextlib
import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from swequarry.delta import FileContent, TreeDelta
from swequarry.errors import SandboxError
from swequarry.sandbox.contract import FETCH_LIMIT_BYTES
from swequarry.sandbox.host import HostIdentity
from swequarry.sandbox.trees import remove_tree

_OPAQUE = "user.overlay.opaque"
_LINK_MODE = 0o120000


def split_path(path: bytes) -> tuple[bytes, ...]:
    """Return the parts of a relative path.

    Raises:
        SandboxError: it is absolute or empty, or a part is empty, `.`, `..` or holds a NUL.
    """
    parts = tuple(path.split(b"/"))
    if any(part in (b"", b".", b"..") or b"\0" in part for part in parts):
        raise SandboxError(f"the path {path!r} leaves the root or isn't a plain relative path")
    return parts


def is_whiteout(status: os.stat_result) -> bool:
    """Whether an entry of a layer says that the path was removed."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def is_opaque(folder: bytes) -> bool:
    """Whether a folder of a layer hides the one below it."""
    try:
        return os.getxattr(folder, _OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


class LayerStack:
    """The merged view of layer folders, bottom to top; the last one is the one that changes."""

    def __init__(self, layers: Sequence[Path], owner: HostIdentity) -> None:
        self._layers = [os.fsencode(layer) for layer in layers]
        self._owner = owner

    # --- looking ---------------------------------------------------------------------------------

    def _visible(self, parts: Sequence[bytes]) -> list[tuple[bytes, os.stat_result]]:
        """Return (host path, status) of a path in each layer that shows it, top first.

        The first is what the merged tree has; more follow only where folders are merged.

        Raises:
            SandboxError: a parent is a link.
            NotADirectoryError: a parent is something else.
        """
        shown = [(layer, os.lstat(layer)) for layer in reversed(self._layers) if os.path.isdir(layer)]  # noqa: PTH112
        for depth, part in enumerate(parts):
            found: list[tuple[bytes, os.stat_result]] = []
            for folder, _ in shown:
                path = os.path.join(folder, part)  # noqa: PTH118 - bytes paths
                with contextlib.suppress(FileNotFoundError):
                    found.append((path, os.lstat(path)))
                    if not stat.S_ISDIR(found[-1][1].st_mode) or is_opaque(path):
                        break
            shown = self._merge(found)
            if depth < len(parts) - 1 and shown and not stat.S_ISDIR(shown[0][1].st_mode):
                if stat.S_ISLNK(shown[0][1].st_mode):
                    raise SandboxError(f"{b'/'.join(parts)!r} goes through a link; nothing was followed")
                raise NotADirectoryError(errno.ENOTDIR, "a parent is no folder", os.fsdecode(shown[0][0]))
        return shown

    @staticmethod
    def _merge(found: list[tuple[bytes, os.stat_result]]) -> list[tuple[bytes, os.stat_result]]:
        if not found or is_whiteout(found[0][1]):
            return []
        if not stat.S_ISDIR(found[0][1].st_mode):
            return found[:1]
        return [(path, status) for path, status in found if stat.S_ISDIR(status.st_mode)]

    def _entries(self, parts: Sequence[bytes]) -> set[bytes]:
        entries: set[bytes] = set()
        hidden: set[bytes] = set()
        for folder, _ in self._visible(parts):
            for name in os.listdir(folder):  # noqa: PTH208 - bytes paths
                if name in entries or name in hidden:
                    continue
                status = os.lstat(os.path.join(folder, name))  # noqa: PTH118
                (hidden if is_whiteout(status) else entries).add(name)
        return entries

    def read(self, path: bytes) -> bytes:
        """Return the bytes of a regular file of the merged tree.

        Raises:
            FileNotFoundError: nothing, or no regular file, is there.
            SandboxError: the path leaves the root or goes through a link, or the file is too large.
        """
        missing = FileNotFoundError(errno.ENOENT, "no regular file", os.fsdecode(path))
        try:
            shown = self._visible(split_path(path))
        except NotADirectoryError:
            raise missing from None
        if not shown or not stat.S_ISREG(shown[0][1].st_mode):
            raise missing
        if shown[0][1].st_size > FETCH_LIMIT_BYTES:
            raise SandboxError(f"{path!r} of the sandbox has {shown[0][1].st_size} bytes, too many to fetch")
        try:
            return self._read_regular(*shown[0])
        except OSError as error:
            raise SandboxError(f"can't read {path!r} of the sandbox: {error}") from error

    def _read_regular(self, path: bytes, status: os.stat_result) -> bytes:
        mode = stat.S_IMODE(status.st_mode)
        locked = not self._owner.drop and not mode & stat.S_IRUSR
        if locked:
            os.chmod(path, mode | stat.S_IRUSR)  # noqa: PTH101
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb") as handle:  # noqa: PTH123
                return handle.read(FETCH_LIMIT_BYTES)
        finally:
            if locked:
                os.chmod(path, mode)  # noqa: PTH101

    # --- changing the top ------------------------------------------------------------------------

    def apply(self, delta: TreeDelta) -> None:
        """Change the top layer so that the merged tree has a delta's files and lacks its removed paths.

        Folders that removals left empty go too, as git has no empty folders.

        Raises:
            SandboxError: a path leaves the root, goes through a link or a file, or can't be written.
        """
        try:
            for path in delta.removed:
                self._remove(split_path(path))
            for path, content in delta.files.items():
                self._write(split_path(path), content)
            for path in delta.removed:
                self._prune(split_path(path)[:-1])
        except OSError as error:
            raise SandboxError(f"can't change the sandbox's tree: {error}") from error

    def _top(self, parts: Sequence[bytes]) -> bytes:
        return os.path.join(self._layers[-1], *parts)  # noqa: PTH118

    def _clear(self, parts: Sequence[bytes]) -> None:
        """Delete what the top layer itself has at a path."""
        path = self._top(parts)
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR(os.lstat(path).st_mode):
                remove_tree(Path(os.fsdecode(path)))
            else:
                os.unlink(path)  # noqa: PTH108

    def _remove(self, parts: Sequence[bytes]) -> None:
        try:
            shown = self._visible(parts)
        except NotADirectoryError:
            return
        if not shown:
            return
        self._make_folders(parts[:-1])
        self._clear(parts)
        if self._visible(parts):
            os.mknod(self._top(parts), stat.S_IFCHR, 0)
            self._own(self._top(parts))

    def _prune(self, parts: Sequence[bytes]) -> None:
        while parts:
            try:
                shown = self._visible(parts)
            except NotADirectoryError:
                return
            if shown and (not stat.S_ISDIR(shown[0][1].st_mode) or self._entries(parts)):
                return
            self._remove(parts)
            parts = parts[:-1]

    def _write(self, parts: Sequence[bytes], content: FileContent) -> None:
        shown = self._visible(parts)
        if shown and stat.S_ISDIR(shown[0][1].st_mode):
            if self._entries(parts):
                raise SandboxError(f"{b'/'.join(parts)!r} is to be a file, but a folder is there")
            self._remove(parts)
        self._make_folders(parts[:-1])
        self._clear(parts)
        path = self._top(parts)
        if content.mode == _LINK_MODE:
            os.symlink(content.data, path)  # noqa: PTH211
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(path, flags, 0o600), "wb") as handle:  # noqa: PTH123
                handle.write(content.data)
                os.fchmod(handle.fileno(), 0o755 if content.mode & 0o100 else 0o644)
        self._own(path)

    def _make_folders(self, parts: Sequence[bytes]) -> None:
        """Give the top layer a folder at each step, opaque where a file or a whiteout was."""
        for depth in range(1, len(parts) + 1):
            here, path = parts[:depth], self._top(parts[:depth])
            shown = self._visible(here)
            if shown and not stat.S_ISDIR(shown[0][1].st_mode):
                raise SandboxError(f"{b'/'.join(here)!r} is a file or link where a folder is needed")
            if shown and shown[0][0] == path:
                continue
            hides = os.path.lexists(path)
            self._clear(here)
            os.mkdir(path)  # noqa: PTH102
            os.chmod(path, stat.S_IMODE(shown[0][1].st_mode) if shown else 0o755)  # noqa: PTH101
            if hides and not shown:
                os.setxattr(path, _OPAQUE, b"y")
            self._own(path)

    def _own(self, path: bytes) -> None:
        if self._owner.drop:
            os.chown(path, self._owner.uid, self._owner.gid, follow_symlinks=False)
