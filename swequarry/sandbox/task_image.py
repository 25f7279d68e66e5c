"""The image of a task: an environment image that tasks of one lock share, and one thin layer on it.

The world that was verified is one image with everything in one layer. Here its two roots are put into layers
of their own: /opt/swequarry on the base image, then /testbed with what of the environment is this task's
alone (the project's own metadata). The result is compared with the world, file by file, before it is tagged.
"""

import contextlib
import hashlib
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from swequarry.errors import SandboxError
from swequarry.sandbox.contract import ENVIRONMENT, TESTBED
from swequarry.sandbox.docker_backend import DockerBackend
from swequarry.sandbox.docker_engine import DockerEngine, engine_trouble, settled_tar
from swequarry.sandbox.docker_images import LABEL_PYTHONS
from swequarry.sandbox.docker_store import DockerWorld
from swequarry.sandbox.settled import BASE_ENVIRONMENT

LABEL_WORLD, LABEL_BASE = "swequarry.made-from", "swequarry.base"
LABEL_ENVIRONMENT, LABEL_LOCK = "swequarry.environment", "swequarry.lock"
_ENVIRONMENTS = "swequarry/environment"
_VARIABLES = ("PATH", "LANG", "LC_ALL", "PYTHONDONTWRITEBYTECODE")
_GIT_MAY_READ = {"COUNT": "1", "KEY_0": "safe.directory", "VALUE_0": TESTBED}
"""Harnesses work as root, whom git refuses the checkout of another user (git-config, safe.directory)."""
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to build: from the world of a key, whose environment has this lock and Python, under this name."""

    world: str
    lock: str
    python: str
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskImage:
    """An image that was built, or found as it was built before. `layer_bytes` is its own thin layer."""

    tag: str
    image: str
    environment_image: str
    layer_bytes: int


@dataclass(frozen=True, slots=True)
class _File:
    """What two trees are compared by; times aren't part of it."""

    kind: bytes
    mode: int
    owner: tuple[int, int]
    link: str
    content: str


def build_task_image(backend: DockerBackend, wanted: Wanted) -> TaskImage:
    """Build the image of a task from its world; one that is there already is left alone.

    Raises:
        SandboxError: the world isn't stored, the engine refuses, or the image would differ from the world.
    """
    world = backend.store.find(wanted.world)
    if world is None or world.image is None:
        raise SandboxError(f"no world {wanted.world!r} is stored in docker; run the same command again")
    known = backend.engine.image(wanted.tag)
    if known is not None and _labels(known).get(LABEL_WORLD) == wanted.world:
        return _described(backend.engine, wanted.tag, _labels(known)[LABEL_ENVIRONMENT])
    return _Builder(backend, world, wanted).build()


def base_of(engine: DockerEngine, tag: str) -> str | None:
    """Return the base image that the image of a task was made from; None where its label doesn't say.

    Raises:
        SandboxError: the engine doesn't answer.
    """
    return _labels(engine.image(tag) or {}).get(LABEL_BASE)


def _labels(image: Mapping[str, object]) -> dict[str, str]:
    config = image.get("Config")
    labels = config.get("Labels") if isinstance(config, dict) else None
    return labels if isinstance(labels, dict) else {}


def _described(engine: DockerEngine, tag: str, below: str) -> TaskImage:
    made, lower = engine.image(tag), engine.image(below)
    if made is None:
        raise SandboxError(f"image {tag} vanished while it was made; try again")
    return TaskImage(
        tag=tag,
        image=made["Id"],
        environment_image=below,
        layer_bytes=made["Size"] - (lower["Size"] if lower else 0),
    )


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class _Builder:
    def __init__(self, backend: DockerBackend, world: DockerWorld, wanted: Wanted) -> None:
        self._backend = backend
        self._engine = backend.engine
        self._world = world
        self._wanted = wanted
        self._base = backend.bases.image_for(world.interpreter)[0]

    def build(self) -> TaskImage:
        with tempfile.TemporaryDirectory(prefix="swequarry-image-", dir="/var/tmp") as name:
            packed = {TESTBED: Path(name) / "testbed.tar", ENVIRONMENT: Path(name) / "environment.tar"}
            with self._container(str(self._world.image)) as source:
                for root, place in packed.items():
                    self._fetch(source, root, place)
            below = self._environment_image(packed[ENVIRONMENT])
            thin = Path(name) / "thin.tar"
            if not self._pack_difference(below, packed[ENVIRONMENT], thin):
                own = f"{below}-{_short(self._wanted.world)}"
                below = self._make_environment(own, packed[ENVIRONMENT])
                self._pack_difference(below, packed[ENVIRONMENT], thin)
            self._assemble(below, packed, thin)
            return _described(self._engine, self._wanted.tag, below)

    def _environment_image(self, packed: Path) -> str:
        """Return the image of this environment on this base, made where it isn't there."""
        base, whole = self._engine.image(self._base), self._engine.image(str(self._world.image))
        if base is None or whole is None:
            raise SandboxError(f"the base image {self._base} isn't here any more; pull or make it again")
        layers = base["RootFS"]["Layers"]
        if whole["RootFS"]["Layers"][: len(layers)] != layers:
            raise SandboxError(
                f"the base image {self._base} isn't the one that the world was verified on: "
                "bring that one back, or verify the task again on this one"
            )
        name = f"{_ENVIRONMENTS}:{self._wanted.lock[:24]}-{_short(self._wanted.python + base['Id'])}"
        if self._engine.image(name) is None:
            self._make_environment(name, packed)
        return name

    def _make_environment(self, name: str, packed: Path) -> str:
        with self._container(self._base) as container:
            self._engine.unpack(container, settled_tar())
            self._put(container, ENVIRONMENT, packed)
            self._commit(container, name, {LABEL_LOCK: self._wanted.lock})
        return name

    def _pack_difference(self, below: str, packed: Path, thin: Path) -> bool:
        """Pack what the task's environment has otherwise; False where it lacks something of the image's."""
        with self._container(below) as container:
            self._fetch(container, ENVIRONMENT, thin)
        there = _manifest(thin)
        ours = _manifest(packed)
        if there.keys() - ours.keys():
            return False
        changed = {name for name, file in ours.items() if there.get(name) != file}
        with tarfile.open(packed) as source, tarfile.open(thin, "w", format=tarfile.PAX_FORMAT) as target:
            for member in source:
                if member.name in changed or _source_of(member.name) in changed:
                    target.addfile(member, source.extractfile(member) if member.isreg() else None)
        return True

    def _assemble(self, below: str, packed: Mapping[str, Path], thin: Path) -> None:
        labels = {LABEL_WORLD: self._wanted.world, LABEL_ENVIRONMENT: below}
        with self._container(below) as container:
            self._put(container, TESTBED, packed[TESTBED])
            self._put(container, ENVIRONMENT, thin)
            for root, place in packed.items():
                self._fetch(container, root, thin)
                if _manifest(thin) != _manifest(place):
                    raise SandboxError(
                        f"the image would differ from the verified world in {root}, so it isn't tagged; "
                        f"remove image {below} and build again"
                    )
            self._commit(container, self._wanted.tag, labels)

    # --- the engine --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _container(self, image: str) -> Iterator[str]:
        """Yield a container that is never started."""
        with engine_trouble(f"open image {image}"):
            made = self._engine.api.create_container(image, ["/bin/true"], network_disabled=True)
        try:
            yield str(made["Id"])
        finally:
            self._engine.remove(str(made["Id"]))

    def _fetch(self, container: str, root: str, place: Path) -> None:
        with engine_trouble(f"read {root} of an image"), place.open("wb") as handle:
            stream, _ = self._engine.api.get_archive(container, root, chunk_size=_CHUNK)
            for chunk in stream:
                handle.write(chunk)

    def _put(self, container: str, root: str, packed: Path) -> None:
        with engine_trouble(f"fill {root} of an image"), packed.open("rb") as handle:
            self._engine.api.put_archive(container, os.path.dirname(root), handle)  # noqa: PTH120

    def _commit(self, container: str, name: str, labels: Mapping[str, str]) -> None:
        repository, _, version = name.rpartition(":")
        changes = ['CMD ["/bin/sh"]', "ENTRYPOINT []", "USER root", f"WORKDIR {TESTBED}"]
        changes += [f"ENV {key}={BASE_ENVIRONMENT[key]}" for key in _VARIABLES]
        changes += [f"ENV GIT_CONFIG_{key}={value}" for key, value in _GIT_MAY_READ.items()]
        named = {**labels, LABEL_PYTHONS: "", LABEL_BASE: self._base}
        changes += [f'LABEL {key}="{value}"' for key, value in named.items()]
        with engine_trouble(f"commit {name}"):
            self._engine.api.commit(container, repository=repository, tag=version, changes=changes)


def _source_of(name: str) -> str:
    """Return the source that a file of byte code was made from, else the name itself."""
    folder, _, file = name.rpartition("/")
    if not folder.endswith("/__pycache__") or not file.endswith(".pyc"):
        return name
    return f"{folder.removesuffix('/__pycache__')}/{file.split('.')[0]}.py"


def _sha256(handle: IO[bytes]) -> str:
    found = hashlib.sha256()
    while chunk := handle.read(_CHUNK):
        found.update(chunk)
    return found.hexdigest()


def _manifest(packed: Path) -> dict[str, _File]:
    """Return what is in an archive by name.

    Byte code names the time of its source, so it differs between builds of the same source: it goes with its
    source and isn't looked at. Hard links count as the files that they are.
    """
    found: dict[str, _File] = {}
    with tarfile.open(packed) as archive:
        for member in archive:
            if _source_of(member.name) != member.name:
                continue
            if member.islnk() and member.linkname in found:
                found[member.name] = found[member.linkname]
                continue
            handle = archive.extractfile(member) if member.isreg() else None
            content = "" if handle is None else _sha256(handle)
            kind = b"dir" if member.isdir() else member.type
            found[member.name] = _File(
                kind, member.mode & 0o7777, (member.uid, member.gid), member.linkname, content
            )
    return found
