"""The store of the bubblewrap backend: worlds as stacks of read-only layers in one folder.

    worlds/<name>.json     a world: its key, its layers from bottom to top, its interpreter; written last
    layers/<id>/           `testbed` and `env`: what this layer adds, in the form that overlayfs reads
    files/                 one copy of every file that environments have in common (see file_pool)
    sandboxes/<id>/        what one living sandbox writes, and the delta of one run
    etc-<n>/, empty/, scratch/  fixed files and mount points
    interpreters/, tools/  copies of what the sandbox's uid can't reach at its own place

A layer is complete before its name appears in `layers`, a world's file is linked into place whole. Who uses
a layer or owns a sandbox folder holds a lock on that folder, which the kernel drops when the process dies:
that is how `sweep` tells leftovers from what is in use.
"""

import contextlib
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from swequarry.errors import SandboxError
from swequarry.sandbox.contract import ENVIRONMENT, TESTBED, Interpreter
from swequarry.sandbox.file_pool import FilePool
from swequarry.sandbox.host import HostIdentity, unused_uid
from swequarry.sandbox.locks import ALONE, SHARED, in_use, locked, try_lock
from swequarry.sandbox.trees import remove_tree
from swequarry.sandbox.world_files import WorldFiles, interpreter_in, world_text

_FOLDERS = ("worlds", "layers", "files", "sandboxes", "empty", "scratch", "interpreters", "tools")
ROOTS = {"testbed": TESTBED, "env": ENVIRONMENT}
"""The two persistent roots: their names in layers and sandboxes, and their places inside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredWorld:
    """A world as it is stored: layer ids from bottom to top, and the interpreter it was built with."""

    key: str
    layers: tuple[str, ...]
    interpreter: Interpreter | None = None

    def to_bytes(self) -> bytes:
        """Return the JSON text of the world's file."""
        return world_text(self.key, self.interpreter, {"layers": list(self.layers)})

    @classmethod
    def from_bytes(cls, text: bytes) -> "StoredWorld":
        """Read what `to_bytes` wrote."""
        data = json.loads(text)
        return cls(key=data["key"], layers=tuple(data["layers"]), interpreter=interpreter_in(data))


def _owner_of(path: Path) -> HostIdentity:
    """Return who owns the store, deciding it once where nobody does yet."""
    am_root = os.geteuid() == 0
    uid = unused_uid() if am_root else os.geteuid()
    gid = uid if am_root else os.getegid()
    claim = path / f"owner.{secrets.token_hex(8)}"
    claim.write_text(f"{uid} {gid}\n", encoding="ascii")
    with contextlib.suppress(FileExistsError):
        os.link(claim, path / "owner")
    claim.unlink()
    uid, gid = map(int, (path / "owner").read_text(encoding="ascii").split())
    if not am_root and uid != os.geteuid():
        raise SandboxError(
            f"the sandbox store {path} belongs to uid {uid}, and you are uid {os.geteuid()}: "
            "run as the user who made it, or choose another workspace"
        )
    return HostIdentity(uid=uid, gid=gid, drop=am_root)


class WorldStore:
    """Reads and writes one store folder; safe for several threads and processes at once."""

    def __init__(self, path: Path) -> None:
        """Open or make the store.

        Raises:
            SandboxError: the folder can't be written or belongs to another user.
        """
        self.path = path.absolute()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.owner = _owner_of(self.path)
            for name in _FOLDERS:
                (self.path / name).mkdir(exist_ok=True, mode=0o755)
            self._pool = FilePool(self.path / "files")
            self._worlds = WorldFiles(self.path, StoredWorld.from_bytes)
            self._close_to_others()
        except OSError as error:
            raise SandboxError(
                f"can't use {self.path} as sandbox store: {error.strerror}; choose a workspace you can write"
            ) from error

    def _close_to_others(self) -> None:
        """Shut the store to other users: a set-uid file that hostile code left must not be run by them."""
        if self.owner.drop:
            os.chown(self.path, 0, self.owner.gid)
            self.path.chmod(0o750)
            for name in _FOLDERS:
                (self.path / name).chmod(0o755)
        else:
            self.path.chmod(0o700)

    # --- folders ---------------------------------------------------------------------------------

    def give(self, path: Path) -> None:
        """Make the sandbox's uid the owner of one file or folder."""
        if self.owner.drop:
            os.chown(path, self.owner.uid, self.owner.gid, follow_symlinks=False)

    @contextlib.contextmanager
    def private_folder(self) -> Iterator[Path]:
        """Yield a new folder below `sandboxes` that is ours until the block ends, then is gone."""
        folder = self.path / "sandboxes" / secrets.token_hex(12)
        with self._locked(SHARED):
            folder.mkdir(mode=0o755)
            lock = try_lock(folder, ALONE)
        try:
            self.give(folder)
            yield folder
        finally:
            remove_tree(folder)
            if lock is not None:
                os.close(lock)

    def layer(self, layer: str) -> Path:
        """Return the folder of a layer."""
        return self.path / "layers" / layer

    @contextlib.contextmanager
    def using(self, layers: Sequence[str]) -> Iterator[None]:
        """Keep layers from being deleted while the block runs.

        Raises:
            SandboxError: one of them isn't there any more.
        """
        with contextlib.ExitStack() as held:
            for layer in layers:
                held.enter_context(in_use(self.layer(layer)))
            yield

    # --- worlds ----------------------------------------------------------------------------------

    def find(self, key: str) -> StoredWorld | None:
        """Return the world under a key, None where there is none or it has lost a layer."""
        world = self._worlds.find(key)
        whole = world is not None and all(self.layer(layer).is_dir() for layer in world.layers)
        return world if whole else None

    def _locked(self, mode: int) -> contextlib.AbstractContextManager[None]:
        return locked(self.path / "owner", mode)

    def add(self, key: str, below: Sequence[str], staged: Path, interpreter: Interpreter | None) -> str:
        """Store a staged layer folder on top of others as the world of a key; return the layer's id.

        A world that is already there stays; the staged layer is then kept beside it only while in use.
        """
        layer = secrets.token_hex(12)
        world = StoredWorld(key=key, layers=(*below, layer), interpreter=interpreter)
        with self._locked(SHARED):
            self._pool.share(staged / "env")
            staged.rename(self.layer(layer))
            if self._worlds.file(key).exists() and self.find(key) is None:
                self._worlds.remove(key)
            self._worlds.add(key, world.to_bytes())
        return layer

    def remove(self, key: str) -> None:
        """Forget a world; its layers go with the next `sweep` unless another world has them."""
        self._worlds.remove(key)

    def sweep(self) -> int:
        """Remove sandbox folders of dead processes and layers that nothing needs; return how many."""
        removed = 0
        with self._locked(ALONE):
            for file in self._worlds.folder.iterdir():
                if file.suffix != ".json":
                    file.unlink(missing_ok=True)
                    removed += 1
            needed = {layer for world in self._worlds.whole() for layer in world.layers}
            unneeded = [p for p in (self.path / "layers").iterdir() if p.name not in needed]
            for folder in (*(self.path / "sandboxes").iterdir(), *unneeded):
                removed += self._remove_if_unused(folder)
            self._pool.sweep()
        return removed

    @staticmethod
    def _remove_if_unused(folder: Path) -> int:
        lock = try_lock(folder, ALONE)
        if lock is None:
            return 0
        try:
            remove_tree(folder)
        finally:
            os.close(lock)
        return 1


def make_top(store: WorldStore, top: Path) -> None:
    """Make the empty folders that overlayfs writes to."""
    top.mkdir(mode=0o755)
    for name in ROOTS:
        for folder in (top / name, top / f"{name}.work"):
            folder.mkdir(mode=0o755)
            store.give(folder)
