"""How stores write their worlds down: `worlds/<sha256 of the key>.json`, each file linked into place whole.

What else a world's file says is its backend's own; key and interpreter are the same in all of them.
"""

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Generic, TypeVar

from swequarry.errors import SandboxError
from swequarry.sandbox.contract import Interpreter, World

W = TypeVar("W")
FOLDER = "worlds"
_DAMAGE = (ValueError, KeyError, TypeError)
"""What reading a file raises that isn't a world's."""


def name_of(key: str) -> str:
    """Return the name that stands for a key in files and tags."""
    return hashlib.sha256(key.encode()).hexdigest()


def world_text(key: str, interpreter: Interpreter | None, own: Mapping[str, object]) -> bytes:
    """Return the JSON text of a world's file; `own` is what only its backend knows of it."""
    data: dict[str, object] = {"format": 1, "key": key, **own}
    if interpreter is not None:
        data["interpreter"] = asdict(interpreter)
    return json.dumps(data, indent=1, sort_keys=True).encode("ascii")


def interpreter_in(data: Mapping[str, Any]) -> Interpreter | None:
    """Return the interpreter that a world's file names."""
    told = data.get("interpreter")
    return Interpreter(**told) if told else None


def write_once(target: Path, content: bytes) -> None:
    """Write a file whole unless it is there."""
    claim = target.with_name(f"{target.name}.{secrets.token_hex(6)}")
    try:
        with claim.open("wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(claim, target)
    finally:
        claim.unlink(missing_ok=True)


class WorldFiles(Generic[W]):
    """The world files of one store; `read` makes a world of the text of one."""

    def __init__(self, store: Path, read: Callable[[bytes], W]) -> None:
        self.folder = store / FOLDER
        self._read = read

    def file(self, key: str) -> Path:
        """Return the place of a world's file."""
        return self.folder / f"{name_of(key)}.json"

    def find(self, key: str) -> W | None:
        """Return what is written under a key, None where nothing is.

        Raises:
            SandboxError: the file is damaged.
        """
        file = self.file(key)
        try:
            return self._read(file.read_bytes())
        except FileNotFoundError:
            return None
        except _DAMAGE as error:
            raise SandboxError(
                f"the world file of {key!r} is damaged ({error}): delete {file} and run again"
            ) from error

    def add(self, key: str, text: bytes) -> None:
        """Write a world down unless one is there."""
        write_once(self.file(key), text)

    def remove(self, key: str) -> None:
        """Forget a world; one that isn't there is fine."""
        self.file(key).unlink(missing_ok=True)

    def whole(self) -> list[W]:
        """Return all worlds but those whose file is damaged."""
        found = []
        for file in self.folder.glob("*.json"):
            with contextlib.suppress(FileNotFoundError, *_DAMAGE):
                found.append(self._read(file.read_bytes()))
        return found


def stored_keys(store: Path) -> Iterator[tuple[str, float]]:
    """Yield key and time of writing of the worlds in a store, whichever backend's it is."""
    for file in sorted((store / FOLDER).glob("*.json")):
        with contextlib.suppress(OSError, *_DAMAGE):
            yield json.loads(file.read_bytes())["key"], file.stat().st_mtime


def stored_world(world: World, backend: str, find: Callable[[str], W | None], store: Path) -> W:
    """Return what a backend has stored for a world.

    Raises:
        SandboxError: it is another backend's, or isn't stored.
    """
    if world.backend != backend:
        raise SandboxError(f"world {world.key!r} belongs to the backend {world.backend}, not to {backend}")
    found = find(world.key)
    if found is None:
        raise SandboxError(f"no world {world.key!r} is stored in {store}; build it again")
    return found
