"""What the docker backend keeps beside the engine: which worlds there are, and imported trees.

id                     names this store on labels, so that several stores can share an engine
worlds/<name>.json     a world: an image, or a tree that has no image yet; written last
trees/<name>.tar       an imported tree, owned by the sandbox user
runs/<id>/             exists and is locked while a container of that label may be in use
"""

import contextlib
import json
import os
import secrets
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from swequarry.errors import SandboxError
from swequarry.sandbox.contract import Interpreter
from swequarry.sandbox.locks import ALONE, SHARED, locked, try_lock
from swequarry.sandbox.trees import remove_tree
from swequarry.sandbox.world_files import WorldFiles, interpreter_in, world_text, write_once

SANDBOX_ID = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerWorld:
    """A stored world: an image of our own, or the file name of a tree still to be put on a base image.

    `boot` is the path of the Python that starts commands in the image.
    """

    key: str
    image: str | None = None
    tree: str | None = None
    boot: str | None = None
    interpreter: Interpreter | None = None

    def to_bytes(self) -> bytes:
        """Return the JSON text of the world's file."""
        own = {"image": self.image, "tree": self.tree, "boot": self.boot}
        return world_text(self.key, self.interpreter, own)

    @classmethod
    def from_bytes(cls, text: bytes) -> "DockerWorld":
        """Read what `to_bytes` wrote."""
        data = json.loads(text)
        return cls(
            key=data["key"],
            image=data["image"],
            tree=data["tree"],
            boot=data["boot"],
            interpreter=interpreter_in(data),
        )


def _as_sandbox_user(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Give a member to the sandbox user; leave out what is no file, folder or link."""
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        return None
    member.uid = member.gid = SANDBOX_ID
    member.uname = member.gname = ""
    return member


class DockerStore:
    """Reads and writes one store folder; safe for several threads and processes at once."""

    def __init__(self, path: Path) -> None:
        """Open or make the store.

        Raises:
            SandboxError: the folder can't be written.
        """
        self.path = path.absolute()
        try:
            for name in ("worlds", "trees", "runs"):
                (self.path / name).mkdir(parents=True, exist_ok=True)
            write_once(self.path / "id", secrets.token_hex(8).encode("ascii"))
            self.id = (self.path / "id").read_text(encoding="ascii")
            self._worlds = WorldFiles(self.path, DockerWorld.from_bytes)
        except OSError as error:
            raise SandboxError(
                f"can't use {self.path} as sandbox store: {error.strerror}; choose a workspace you can write"
            ) from error

    def find(self, key: str) -> DockerWorld | None:
        """Return the world under a key; whether its image is still in the engine isn't looked at."""
        world = self._worlds.find(key)
        lost = world is not None and world.tree is not None and not self.tree(world.tree).exists()
        return None if lost else world

    def changing(self) -> contextlib.AbstractContextManager[None]:
        """Keep `sweep` away while something is stored that no world's file names yet."""
        return locked(self.path / "id", SHARED)

    def add(self, world: DockerWorld) -> None:
        """Store a world unless one is there; call it while `changing`."""
        self._worlds.add(world.key, world.to_bytes())

    def forget(self, key: str) -> None:
        """Remove a world's file; its tree goes with the next `sweep`."""
        self._worlds.remove(key)

    # --- trees -----------------------------------------------------------------------------------

    def tree(self, name: str) -> Path:
        """Return the place of an imported tree."""
        return self.path / "trees" / name

    def add_tree(self, source: Path, key: str) -> None:
        """Pack a host folder as `testbed`, with modes, links and times, as the world of a key.

        Raises:
            SandboxError: it can't be read or there is no room.
        """
        name = f"{secrets.token_hex(12)}.tar"
        with self.claim_run() as run:
            packed = self.path / "runs" / run / name
            try:
                with tarfile.open(packed, "w", format=tarfile.PAX_FORMAT) as archive:
                    archive.add(source, "testbed", filter=_as_sandbox_user)
                with self.changing():
                    packed.rename(self.tree(name))
                    self.add(DockerWorld(key=key, tree=name))
            except (OSError, tarfile.TarError) as error:
                raise SandboxError(f"can't pack {source} for docker: {error}") from error

    # --- runs ------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def claim_run(self) -> Iterator[str]:
        """Yield an id for containers that are ours until the block ends."""
        run = secrets.token_hex(12)
        folder = self.path / "runs" / run
        with self.changing():
            folder.mkdir()
            lock = try_lock(folder, ALONE)
        try:
            yield run
        finally:
            remove_tree(folder)
            if lock is not None:
                os.close(lock)

    def is_abandoned(self, run: str) -> bool:
        """Whether nobody holds a run any more; removes its folder."""
        folder = self.path / "runs" / run
        lock = try_lock(folder, ALONE)
        if lock is None:
            return not folder.exists()
        remove_tree(folder)
        os.close(lock)
        return True

    @contextlib.contextmanager
    def sweeping(self) -> Iterator[list[DockerWorld]]:
        """Yield the worlds there are, with nobody storing another while the block runs."""
        with locked(self.path / "id", ALONE):
            yield self._worlds.whole()

    def sweep(self, worlds: Sequence[DockerWorld]) -> int:
        """Remove folders of dead runs and trees that no world has; return how many. While `sweeping`."""
        removed = 0
        kept = {world.tree for world in worlds}
        for file in (self.path / "trees").iterdir():
            if file.name not in kept:
                file.unlink(missing_ok=True)
                removed += 1
        for folder in (self.path / "runs").iterdir():
            removed += self.is_abandoned(folder.name)
        return removed
