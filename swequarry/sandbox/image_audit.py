"""What is in a docker image: every file of every layer, and what isn't a file (variables, labels, history).

Read from the stream of `docker save`, so that what a later layer hides is seen too. Layers of a base image
are no work of a task's and the same for all of them: of their files those alone are read that are asked for.
"""

import hashlib
import itertools
import json
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from swequarry.errors import SandboxError
from swequarry.sandbox.docker_engine import DockerEngine, engine_trouble

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class LayerFile:
    """A regular file of a layer: its path inside, its size.

    `data` is None where it is too large to keep, and where it is of a base layer and nobody asked for it.
    """

    path: str
    size_bytes: int
    data: bytes | None
    of_base: bool = False


class _Stream:
    """The chunks of an answer as a file that is read once."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._left = b""

    def read(self, size: int) -> bytes:
        parts, wanted = [], size
        while wanted > 0:
            if not self._left:
                self._left = next(self._chunks, b"")
                if not self._left:
                    break
            parts.append(self._left[:wanted])
            self._left = self._left[wanted:]
            wanted -= len(parts[-1])
        return b"".join(parts)


def layer_ids(engine: DockerEngine, image: str) -> frozenset[str]:
    """Return the ids of an image's layers (`sha256:` of each as a plain archive); none where it isn't here.

    Raises:
        SandboxError: the engine doesn't answer.
    """
    found = engine.image(image)
    return frozenset(found["RootFS"].get("Layers") or ()) if found is not None else frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseLayers:
    """The layers that an image has from its base, by id, and which of their files are to be read by path."""

    ids: frozenset[str] = frozenset()
    wanted: Callable[[str], bool] = lambda _: True


NO_BASE = BaseLayers()


def layer_files(
    engine: DockerEngine, image: str, largest: int, base: BaseLayers = NO_BASE
) -> Iterator[LayerFile]:
    """Yield the files of all layers, in the order of the stream; up to `largest` bytes are read of each.

    Raises:
        SandboxError: the engine doesn't give the image, or gives something else.
    """
    with engine_trouble(f"save image {image}"):
        stream: Any = _Stream(iter(engine.api.get_image(image, chunk_size=_CHUNK)))
        try:
            with tarfile.open(fileobj=stream, mode="r|") as saved:
                for member in saved:
                    content = saved.extractfile(member) if member.isreg() and member.size else None
                    if content is not None and not member.name.endswith((".json", "VERSION", "repositories")):
                        yield from _files_of(content, largest, base)
        except tarfile.TarError as error:
            raise SandboxError(f"image {image} can't be read as it was saved: {error}") from error


def _files_of(content: IO[bytes], largest: int, base: BaseLayers) -> Iterator[LayerFile]:
    """Yield the files of one member, where that is a layer; others are JSON about the image.

    Raises:
        tarfile.TarError: it is neither, or a layer in a compression that can't be read here.
    """
    head = content.read(1)
    if head == b"{":
        return
    chunks = itertools.chain([head], iter(lambda: content.read(_CHUNK), b""))
    if not base.ids:
        yield from _unpacked(_Stream(chunks), largest, None)
        return
    with tempfile.TemporaryFile(dir="/var/tmp") as kept:  # an id is known only when the whole was read
        digest = hashlib.sha256()
        for chunk in chunks:
            digest.update(chunk)
            kept.write(chunk)
        kept.seek(0)
        known = f"sha256:{digest.hexdigest()}" in base.ids
        yield from _unpacked(kept, largest, base.wanted if known else None)


def _unpacked(stream: Any, largest: int, wanted: Callable[[str], bool] | None) -> Iterator[LayerFile]:
    """Yield the files of a layer; `wanted` is given for a base's, and says which of them are to be read."""
    with tarfile.open(fileobj=stream, mode="r|*") as layer:
        for member in layer:
            file = layer.extractfile(member) if member.isreg() else None
            if file is None:
                continue
            path = "/" + member.name.removeprefix("./").lstrip("/")
            read = member.size <= largest and (wanted is None or wanted(path))
            yield LayerFile(path, member.size, file.read() if read else None, of_base=wanted is not None)


def image_values(engine: DockerEngine, image: str) -> dict[str, str]:
    """Return variables, labels, history and the other settings of an image, each by its place.

    Raises:
        SandboxError: the engine doesn't know the image.
    """
    found = engine.image(image)
    if found is None:
        raise SandboxError(f"image {image} isn't here any more; build it again")
    config = found.get("Config") or {}
    values = {}
    for variable in config.get("Env") or ():
        name, _, value = variable.partition("=")
        values[f"variable {name}"] = value
    for name, value in (config.get("Labels") or {}).items():
        values[f"label {name}"] = value
    for name in ("Cmd", "Entrypoint", "WorkingDir", "User", "Healthcheck", "OnBuild", "Volumes"):
        if config.get(name):
            values[f"setting {name}"] = json.dumps(config[name])
    values |= {f"setting {name}": found[name] for name in ("Comment", "Author") if found.get(name)}
    with engine_trouble(f"read the history of image {image}"):
        for number, step in enumerate(engine.api.history(image)):
            values[f"history {number}"] = f"{step.get('CreatedBy') or ''} {step.get('Comment') or ''}"
    return values
