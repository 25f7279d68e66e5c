"""What is in a docker image: every file of every layer, and what isn't a file (variables, labels, history).

Read from the stream of `docker save`, so that what a later layer hides is seen too.
"""

import itertools
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from swequarry.errors import SandboxError
from swequarry.sandbox.docker_engine import DockerEngine, engine_trouble

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class LayerFile:
    """A regular file of a layer: its path inside, its size; `data` is None where it is too large to keep."""

    path: str
    size_bytes: int
    data: bytes | None


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


def layer_files(engine: DockerEngine, image: str, largest: int) -> Iterator[LayerFile]:
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
                        yield from _files_of(content, largest)
        except tarfile.TarError as error:
            raise SandboxError(f"image {image} can't be read as it was saved: {error}") from error


def _files_of(content: IO[bytes], largest: int) -> Iterator[LayerFile]:
    """Yield the files of one member, where that is a layer; others are JSON about the image.

    Raises:
        tarfile.TarError: it is neither, or a layer in a compression that can't be read here.
    """
    head = content.read(1)
    if head == b"{":
        return
    stream: Any = _Stream(itertools.chain([head], iter(lambda: content.read(_CHUNK), b"")))
    with tarfile.open(fileobj=stream, mode="r|*") as layer:
        for member in layer:
            file = layer.extractfile(member) if member.isreg() else None
            if file is not None:
                data = file.read() if member.size <= largest else None
                yield LayerFile("/" + member.name.removeprefix("./").lstrip("/"), member.size, data)


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
