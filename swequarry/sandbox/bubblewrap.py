"""The embedded backend: bubblewrap over overlayfs, no root and no daemon needed."""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from swequarry.delta import TreeDelta
from swequarry.errors import SandboxError
from swequarry.sandbox.bubblewrap_host import BubblewrapHost
from swequarry.sandbox.bubblewrap_launch import execute
from swequarry.sandbox.bubblewrap_store import ROOTS, StoredWorld, WorldStore, make_top
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
from swequarry.sandbox.orphans import end_orphans
from swequarry.sandbox.trees import copy_tree, remove_tree
from swequarry.sandbox.world_files import stored_world

NAME = "bubblewrap"


class BubblewrapSandbox:
    """A world with a writable layer on disk."""

    def __init__(
        self,
        host: BubblewrapHost,
        world: StoredWorld,
        binds: Sequence[Bind],
        index_socket: Path | None,
    ) -> None:
        self._host = host
        self._store = host.store
        self._world = world
        with contextlib.ExitStack() as held:
            self._folder = held.enter_context(self._store.private_folder())
            held.enter_context(self._store.using(world.layers))
            self._binds, self._unreachable = host.reach(binds, index_socket, self._folder)
            self._make_top()
            self._held = held.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._held.close()

    @property
    def _top(self) -> Path:
        return self._folder / "top"

    def _make_top(self) -> None:
        """Make the empty folders of the writable layer."""
        make_top(self._store, self._top)

    def _stack(self, name: str) -> LayerStack:
        layers = self._host.layer_folders(self._world, name)
        return LayerStack([*layers, self._top / name], self._store.owner)

    def put(self, delta: TreeDelta, root: str = TESTBED) -> None:
        """Write and remove files below one of the two roots; see the contract."""
        name = next((name for name, target in ROOTS.items() if target == root), None)
        if name is None:
            raise SandboxError(f"{root} isn't one of the two roots {TESTBED} and {ENVIRONMENT}")
        self._stack(name).apply(delta)

    def run(self, command: Command, limits: Limits) -> ExecResult:
        """Run a command; see the contract."""
        roots = self._host.roots(self._world, self._top)
        plan = self._host.plan(roots, self._world.interpreter, self._binds, self._unreachable)
        size = limits.tmp_bytes
        return execute(self._host.starter, plan, command, limits, scratch_bytes=size, disk=self._top)

    def get(self, path: str) -> bytes:
        """Return the bytes of a regular file; see the contract."""
        for name, target in ROOTS.items():
            if path.startswith(target + "/"):
                return self._stack(name).read(os.fsencode(path[len(target) + 1 :]))
        raise SandboxError(f"{path} isn't below {TESTBED} or {ENVIRONMENT}")

    def commit(self, key: str) -> World:
        """Store the copy as a new world; see the contract."""
        for name in ROOTS:
            remove_tree(self._top / f"{name}.work")
        layer = self._store.add(key, self._world.layers, self._top, self._world.interpreter)
        self._held.enter_context(self._store.using((layer,)))
        self._world = replace(self._world, layers=(*self._world.layers, layer))
        self._make_top()
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
        return self._host.interpreters

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
        return stored_world(world, NAME, self._store.find, self._store.path)

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
        self._host.require()
        if interpreter is not None:
            stored = replace(stored, interpreter=interpreter)
        return BubblewrapSandbox(self._host, stored, binds, index_socket)

    def run_once(self, world: World, delta: TreeDelta, command: Command, limits: Limits) -> ExecResult:
        """Create, put, run, destroy; what the run writes is kept in memory where that works."""
        stored = self._stored(world)
        self._host.require()
        with self._store.using(stored.layers), contextlib.ExitStack() as held:
            added, top = None, self._host.scratch
            if delta.files or delta.removed or not self._host.memory_uppers:
                folder = held.enter_context(self._store.private_folder())
                added = self._delta_layer(stored, delta, folder)
                if not self._host.memory_uppers:
                    top = folder / "top"
                    make_top(self._store, top)
            plan = self._host.plan(self._host.roots(stored, top, added), stored.interpreter)
            size = limits.tmp_bytes + limits.disk_bytes
            disk = None if self._host.memory_uppers else top
            return execute(self._host.starter, plan, command, limits, scratch_bytes=size, disk=disk)

    def _delta_layer(self, stored: StoredWorld, delta: TreeDelta, folder: Path) -> Path:
        layer = folder / "delta"
        layer.mkdir(mode=0o755)
        self._store.give(layer)
        below = self._host.layer_folders(stored, "testbed")
        LayerStack([*below, layer], self._store.owner).apply(delta)
        return layer

    def remove_world(self, key: str) -> None:
        """Delete a stored world; see the contract."""
        self._store.remove(key)

    def sweep(self) -> int:
        """Remove what dead processes of ours left behind; return how many."""
        return end_orphans(self._store.owner.uid, self._host.starter.bubblewrap) + self._store.sweep()
