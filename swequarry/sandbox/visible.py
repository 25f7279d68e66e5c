"""The files that are visible inside a stored world, read where the store keeps them; nothing runs.

Layers are looked through as overlayfs does: from the top, where a whiteout or an opaque folder hides what is
below it. Links aren't followed: their targets are visible by themselves, or aren't there.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from swequarry.errors import SandboxError
from swequarry.sandbox.bubblewrap_store import ROOTS, StoredWorld, WorldStore
from swequarry.sandbox.layers import is_opaque, is_whiteout


@dataclass(frozen=True, slots=True)
class VisibleFile:
    """A regular file: its path inside, where it lies on the host, and what tells it from any other.

    `identity` is (device, inode, size, mtime in ns): stored files are never changed in place.
    """

    path: str
    place: bytes
    identity: tuple[int, int, int, int]

    def read(self) -> bytes:
        """Return its bytes, without following a link.

        Raises:
            OSError: it can't be read.
        """
        descriptor = os.open(self.place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as handle:  # noqa: PTH123 - a descriptor
            return handle.read()


class VisibleWorld:
    """A world of the bubblewrap backend, whose layers stay for as long as the block runs."""

    def __init__(self, store: WorldStore, key: str) -> None:
        """Open a world for looking.

        Raises:
            SandboxError: it isn't stored.
        """
        world = store.find(key)
        if world is None:
            raise SandboxError(f"no world {key!r} is stored; run the same command again")
        self._store = store
        self._world: StoredWorld = world

    def files(self, root: str) -> Iterator[VisibleFile]:
        """Yield the files below one of the two roots (`TESTBED`, `ENVIRONMENT`), each once."""
        name = next(name for name, target in ROOTS.items() if target == root)
        with self._store.using(self._world.layers):
            layers = [self._store.layer(layer) / name for layer in reversed(self._world.layers)]
            yield from _merged([os.fsencode(layer) for layer in layers if layer.is_dir()], root)

    def host_files(self, wanted: frozenset[str]) -> Iterator[VisibleFile]:
        """Yield files of the host that are shown inside and have one of some names.

        The host's own folders are no work of a build, the same for every task and read-only: where Python
        code or local software lies in them, files are found by name. Packages that the host has installed
        aren't shown (see `bubblewrap_argv`).
        """
        shown = [str(path) for pattern in _HOST_FOLDERS for path in sorted(Path("/usr").glob(pattern))]
        if self._world.interpreter is not None and not self._world.interpreter.prefix.startswith("/usr"):
            shown.append(self._world.interpreter.prefix)
        for path in host_listing(tuple(shown)):
            if path.rpartition("/")[2] in wanted:
                found = _visible(os.fsencode(path), path)
                if found is not None:
                    yield found


_HOST_FOLDERS = ("lib/python3*", "local/*", "src")
_LISTINGS: dict[tuple[str, ...], tuple[str, ...]] = {}


def host_listing(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths of all files below some folders of the host; listed once in a process."""
    if folders not in _LISTINGS:
        found = []
        for top in folders:
            for folder, below, names in os.walk(top):
                below[:] = [name for name in below if not name.endswith("-packages")]
                found += [f"{folder}/{name}" for name in names]
        _LISTINGS[folders] = tuple(found)
    return _LISTINGS[folders]


def _visible(place: bytes, path: str) -> VisibleFile | None:
    try:
        status = os.lstat(place)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return VisibleFile(path, place, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))


def _merged(folders: Sequence[bytes], shown: str) -> Iterator[VisibleFile]:
    """Yield the files of one folder, given as what each layer has of it, the top layer first."""
    seen: dict[bytes, list[bytes]] = {}
    closed: set[bytes] = set()
    for folder in folders:
        for name in sorted(os.listdir(folder)):  # noqa: PTH208 - bytes paths
            if name in closed:
                continue
            place = os.path.join(folder, name)  # noqa: PTH118 - bytes paths
            status = os.lstat(place)
            if stat.S_ISDIR(status.st_mode):
                seen.setdefault(name, []).append(place)
                if is_opaque(place):
                    closed.add(name)
                continue
            closed.add(name)
            if name in seen or is_whiteout(status) or not stat.S_ISREG(status.st_mode):
                continue
            identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            yield VisibleFile(f"{shown}/{os.fsdecode(name)}", place, identity)
    for name, below in sorted(seen.items()):
        yield from _merged(below, f"{shown}/{os.fsdecode(name)}")
