"""The embedded backend: bubblewrap over overlayfs, no root and no daemon needed."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from swequarry.delta import TreeDelta
from swequarry.errors import SandboxError
from swequarry.sandbox.bubblewrap_argv import Root
from swequarry.sandbox.bubblewrap_host import BubblewrapHost
from swequarry.sandbox.bubblewrap_store import ROOT_NAMES, StoredWorld, WorldStore
from swequarry.sandbox.contract import (
    ENVIRONMENT,
    TESTBED,
    Bind,
    Command,
    ExecResult,
    Interpreter,
    Limits,
    World,
)
from swequarry.sandbox.layers import LayerStack
from swequarry.sandbox.trees import copy_tree, remove_tree

NAME = "bubblewrap"
_TARGETS = {"testbed": TESTBED, "env": ENVIRONMENT}


class BubblewrapSandbox:
    """A world with a writable layer on disk."""

    def __init__(
        self,
        host: BubblewrapHost,
        world: StoredWorld,
        binds: tuple[Bind, ...],
        index_socket: Path | None,
    ) -> None:
        self._host = host
        self._store = host.store
        self._world = world
        self._binds = binds
        self._index_socket = index_socket
        self._held = contextlib.ExitStack()
        self._folder = self._held.enter_context(self._store.private_folder())
        self._held.enter_context(self._store.using(world.layers))
        self._renew()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._held.close()

    def _renew(self) -> None:
        """Make the empty folders of the writable layer."""
        for name in ("top", "work"):
            (self._folder / name).mkdir(mode=0o755)
            for root in ROOT_NAMES:
                (self._folder / name / root).mkdir(mode=0o755)
                self._store.give(self._folder / name / root)

    def _stack(self, name: str) -> LayerStack:
        return LayerStack(
            [*self._host.layer_folders(self._world, name), self._folder / "top" / name], self._store.owner
        )

    def put(self, delta: TreeDelta, root: str = TESTBED) -> None:
        """Write and remove files below one of the two roots; see the contract."""
        name = next((name for name, target in _TARGETS.items() if target == root), None)
        if name is None:
            raise SandboxError(f"{root} isn't one of the two roots {TESTBED} and {ENVIRONMENT}")
        self._stack(name).apply(delta)

    def run(self, command: Command, limits: Limits) -> ExecResult:
        """Run a command; see the contract."""
        roots = [
            Root(
                target=target,
                layers=self._host.layer_folders(self._world, name),
                upper=self._folder / "top" / name,
                work=self._folder / "work" / name,
            )
            for name, target in _TARGETS.items()
        ]
        plan = self._host.plan((roots[0], roots[1]), self._world, self._binds, self._index_socket)
        return self._host.execute(plan, command, limits, scratch_bytes=limits.tmp_bytes, disk=self._folder)

    def get(self, path: str) -> bytes:
        """Return the bytes of a regular file; see the contract."""
        for name, target in _TARGETS.items():
            if path.startswith(target + "/"):
                return self._stack(name).read(os.fsencode(path[len(target) + 1 :]))
        raise SandboxError(f"{path} isn't below {TESTBED} or {ENVIRONMENT}")

    def commit(self, key: str) -> World:
        """Store the copy as a new world; see the contract."""
        layer = self._store.add(key, self._world.layers, self._folder / "top", self._world.interpreter)
        remove_tree(self._folder / "work")
        self._world = StoredWorld(
            key=key, layers=(*self._world.layers, layer), interpreter=self._world.interpreter
        )
        self._held.enter_context(self._store.using((layer,)))
        self._renew()
        return World(backend=NAME, key=key)


class BubblewrapBackend:
    """Worlds as layers in a store folder, sandboxes as processes; implements `SandboxBackend`."""

    name = NAME

    def __init__(self, store: Path) -> None:
        self._host = BubblewrapHost(WorldStore(store))
        self._store = self._host.store

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What can't be enforced here."""
        return self._host.weaknesses()

    def probe(self) -> tuple[str, ...]:
        """Return what is missing, each with the command that mends it."""
        return self._host.probe()

    def interpreters(self) -> tuple[Interpreter, ...]:
        """Return the Pythons that run inside, newest first."""
        return self._host.interpreters()

    def has_world(self, key: str) -> bool:
        """Whether a whole world is stored under a key."""
        return self._store.find(key) is not None

    def import_tree(self, source: Path, key: str) -> World:
        """Store a copy of a host folder as the /testbed of a new world; see the contract."""
        if not self.has_world(key):
            owner = self._store.owner
            with self._store.private_folder() as folder:
                staged = folder / "layer"
                copy_tree(source, staged / "testbed", owner=(owner.uid, owner.gid) if owner.drop else None)
                self._store.add(key, (), staged, None)
        return World(backend=NAME, key=key)

    def _stored(self, world: World) -> StoredWorld:
        if world.backend != NAME:
            raise SandboxError(f"world {world.key!r} belongs to the backend {world.backend}, not to {NAME}")
        stored = self._store.find(world.key)
        if stored is None:
            raise SandboxError(f"no world {world.key!r} is stored in {self._store.path}; build it again")
        return stored

    def create(
        self,
        world: World,
        *,
        index_socket: Path | None = None,
        binds: Sequence[Bind] = (),
        interpreter: Interpreter | None = None,
    ) -> BubblewrapSandbox:
        """Make a copy of a world for several runs; see the contract."""
        stored = self._stored(world)
        if interpreter is not None:
            stored = StoredWorld(key=stored.key, layers=stored.layers, interpreter=interpreter)
        self._host.require()
        return BubblewrapSandbox(self._host, stored, tuple(binds), index_socket)

    def run_once(self, world: World, delta: TreeDelta, command: Command, limits: Limits) -> ExecResult:
        """Create, put, run, destroy, with what the run writes in memory; see the contract."""
        stored = self._stored(world)
        self._host.require()
        with self._delta_layer(stored, delta) as (folders, scratch):
            roots = [
                Root(
                    target=target,
                    layers=(*self._host.layer_folders(stored, name), *folders.get(name, ())),
                    upper=scratch / name,
                    work=scratch / f"{name}.work",
                )
                for name, target in _TARGETS.items()
            ]
            plan = self._host.plan((roots[0], roots[1]), stored, (), None)
            size = limits.tmp_bytes + limits.disk_bytes
            return self._host.execute(plan, command, limits, scratch_bytes=size, disk=None)

    @contextlib.contextmanager
    def _delta_layer(
        self, stored: StoredWorld, delta: TreeDelta
    ) -> Iterator[tuple[dict[str, tuple[Path, ...]], Path]]:
        """Yield the extra layers of a run, by root, and its scratch folder."""
        with self._store.using(stored.layers):
            if not delta.files and not delta.removed:
                yield {}, self._host.scratch
                return
            with self._store.private_folder() as folder:
                top = folder / "testbed"
                top.mkdir(mode=0o755)
                self._store.give(top)
                below = self._host.layer_folders(stored, "testbed")
                LayerStack([*below, top], self._store.owner).apply(delta)
                yield {"testbed": (top,)}, self._host.scratch

    def remove_world(self, key: str) -> None:
        """Delete a stored world; one that isn't there is fine."""
        self._store.remove(key)
        self._store.sweep()

    def sweep(self) -> int:
        """Remove what dead processes of ours left behind; return how many."""
        return self._store.sweep()
