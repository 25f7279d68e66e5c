"""The docker backend: worlds are images, a sandbox is a container, a run is one start of it."""

import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from swequarry.delta import TreeDelta
from swequarry.errors import SandboxError, SandboxUnavailableError
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
from swequarry.sandbox.docker_engine import (
    LABEL_KEY,
    LABEL_STORE,
    DockerEngine,
    Recipe,
    chore_answer,
    interpret,
    settled_tar,
)
from swequarry.sandbox.docker_images import LABEL_PYTHONS, BaseImages
from swequarry.sandbox.docker_store import DockerStore, DockerWorld
from swequarry.sandbox.docker_talk import request, request_file
from swequarry.sandbox.world_files import name_of, stored_world

NAME = "docker"
_ROOTS = (TESTBED, ENVIRONMENT)
_CHORE_LIMITS = Limits(wall_s=120, processes=64)


class DockerSandbox:
    """A container that is started anew for each run, so that nothing but files lives on between them."""

    def __init__(
        self,
        backend: "DockerBackend",
        world: DockerWorld,
        binds: Sequence[Bind] = (),
        index_socket: Path | None = None,
    ) -> None:
        self._backend = backend
        self._engine = backend.engine
        self._world = world
        self._held = contextlib.ExitStack()
        self._container: str | None = None
        self._fitted: Limits | None = None
        run = self._held.enter_context(backend.store.claim_run())
        image, boot = world.image, world.boot
        if image is None or boot is None:
            image, boot = backend.bases.image_for(world.interpreter)
        self._boot = boot
        self._recipe = Recipe(
            image=image,
            boot=boot,
            run=run,
            store=backend.store.id,
            binds=tuple(binds),
            index_socket=index_socket,
            runtime=backend.runtime,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        with self._held:
            if self._container is not None:
                self._engine.remove(self._container)

    def _fit(self, limits: Limits) -> str:
        """Return the container, made when it is first needed, with these limits."""
        if self._container is None:
            self._container = self._engine.create(self._recipe, limits)
            if self._world.tree is not None:
                self._engine.unpack(self._container, settled_tar())
                self._engine.unpack(self._container, self._backend.store.tree(self._world.tree))
        elif self._fitted != limits:
            self._engine.fit(self._container, limits)
        self._fitted = limits
        return self._container

    def put(self, delta: TreeDelta, root: str = TESTBED) -> None:
        """Write and remove files below one of the two roots; see the contract."""
        if root not in _ROOTS:
            raise SandboxError(f"{root} isn't one of the two roots {TESTBED} and {ENVIRONMENT}")
        asked, _ = request(delta, root=root)
        self._chore(asked)

    def _chore(self, asked: bytes) -> bytes:
        """Let the first process do something itself; return the rest of its answer.

        Raises:
            FileNotFoundError: it says that nothing is there.
            SandboxError: it says why it can't.
        """
        limits = self._fitted or _CHORE_LIMITS
        heard, state = self._engine.exchange(self._fit(limits), asked, limits)
        return chore_answer(heard, state)

    def run(self, command: Command, limits: Limits) -> ExecResult:
        """Run a command; see the contract."""
        return self.put_and_run(TreeDelta(), command, limits)

    def put_and_run(self, delta: TreeDelta, command: Command, limits: Limits) -> ExecResult:
        """Put a delta in place and run a command, in one start."""
        command.check()
        asked, nonce = request(delta, command=command, limits=limits)
        container = self._fit(limits)
        began = time.monotonic()
        heard, state = self._engine.exchange(container, asked, limits)
        return interpret(heard, state, nonce, limits, time.monotonic() - began)

    def get(self, path: str) -> bytes:
        """Return the bytes of a regular file; see the contract."""
        for root in _ROOTS:
            if path.startswith(root + "/"):
                return self._chore(request_file(root, os.fsencode(path[len(root) + 1 :])))
        raise SandboxError(f"{path} isn't below {TESTBED} or {ENVIRONMENT}")

    def commit(self, key: str) -> World:
        """Store the copy as a new world; see the contract."""
        store = self._backend.store
        if not self._backend.has_world(key):
            labels = {LABEL_STORE: store.id, LABEL_KEY: name_of(key), LABEL_PYTHONS: ""}
            container = self._fit(self._fitted or _CHORE_LIMITS)
            python = self._world.interpreter
            with store.changing():
                name = f"swequarry/world-{store.id}:{name_of(key)}"
                self._engine.commit(container, name, labels)
                store.forget(key)
                store.add(DockerWorld(key=key, image=name, boot=self._boot, interpreter=python))
        return World(backend=NAME, key=key)


class DockerBackend:
    """Worlds as images of one engine; implements `SandboxBackend`."""

    name = NAME

    def __init__(self, store: Path, base_image: str, runtime: str | None = None) -> None:
        self.store = DockerStore(store)
        self.engine = DockerEngine()
        self.runtime = runtime
        self.bases = BaseImages(self.engine, base_image, self.store.path / "interpreters.json")

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What can't be enforced here."""
        return (
            "what is written to the two roots is bounded per file only: the engine sets no quota",
            "what is written to temporary folders counts against the memory limit",
        )

    def probe(self) -> tuple[str, ...]:
        """Return what is missing, each with the command that mends it."""
        try:
            self.engine.api.ping()
            return (*self.engine.missing_runtime(self.runtime), *self.bases.missing())
        except SandboxError as error:
            return (str(error),)

    def interpreters(self) -> tuple[Interpreter, ...]:
        """Return the Pythons of the base images, newest first."""
        return tuple(python for python, _ in self.bases.found())

    def has_world(self, key: str) -> bool:
        """Whether a whole world is stored under a key."""
        return self._find(key) is not None

    def _find(self, key: str) -> DockerWorld | None:
        world = self.store.find(key)
        if world is None or world.image is None or self.engine.image(world.image) is not None:
            return world
        return None

    def import_tree(self, source: Path, key: str) -> World:
        """Store a copy of a host folder as the /testbed of a new world; see the contract."""
        if not self.has_world(key):
            self.store.forget(key)
            self.store.add_tree(source, key)
        return World(backend=NAME, key=key)

    def _stored(self, world: World) -> DockerWorld:
        return stored_world(world, NAME, self._find, self.store.path)

    def create(
        self,
        world: World,
        *,
        index_socket: Path | None = None,
        binds: Sequence[Bind] = (),
        interpreter: Interpreter | None = None,
    ) -> DockerSandbox:
        """Make a copy of a world for several runs; see the contract."""
        stored = self._stored(world)
        missing = [b.source for b in binds if not b.source.exists()]
        if missing:
            raise SandboxError(f"{missing[0]} doesn't exist; it was to be shown in a sandbox")
        if stored.image is None and self.bases.missing():
            raise SandboxUnavailableError(
                "docker can't run sandboxes here: " + "; ".join(self.bases.missing())
            )
        if index_socket is not None:
            with contextlib.suppress(OSError):
                index_socket.chmod(0o666)  # connecting needs the permission to write
        if interpreter is not None:
            stored = replace(stored, interpreter=interpreter)
        return DockerSandbox(self, stored, binds, index_socket)

    def run_once(self, world: World, delta: TreeDelta, command: Command, limits: Limits) -> ExecResult:
        """Create, put, run, destroy in one container; see the contract."""
        with DockerSandbox(self, self._stored(world)) as sandbox:
            return sandbox.put_and_run(delta, command, limits)

    def remove_world(self, key: str) -> None:
        """Delete a stored world; see the contract."""
        stored = self.store.find(key)
        if stored is not None and stored.image is not None:
            self.engine.remove_image(stored.image)
        self.store.forget(key)

    def sweep(self) -> int:
        """Remove containers of dead processes and images that no world names; return how many."""
        removed = 0
        for container, run in self.engine.labelled_containers(self.store.id):
            if self.store.is_abandoned(run):
                self.engine.remove(container)
                removed += 1
        with self.store.sweeping() as worlds:
            kept = {name_of(world.key) for world in worlds}
            for image, name in self.engine.labelled_images(self.store.id):
                if name not in kept:
                    self.engine.remove_image(image)
                    removed += 1
            return removed + self.store.sweep(worlds)
