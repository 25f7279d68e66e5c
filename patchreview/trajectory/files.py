"""Finds and reads trajectory files; what isn't one is named, never skipped in silence."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from patchreview.trajectory.form import Trajectory
from patchreview.trajectory.readers import all_readers
from swequarry.errors import InputError

LARGEST_BYTES = 256 << 20
_ENDINGS = (".traj", ".json", ".jsonl")
_FORMATS = ", ".join(reader.name for reader in all_readers())


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The trajectories of a file or folder, and the files that hold none with the reason."""

    trajectories: tuple[Trajectory, ...]
    others: tuple[tuple[str, str], ...] = ()


def read_trajectories(path: Path) -> Found:
    """Read a file, or every `.traj`, `.json` and `.jsonl` file below a folder, by the names of the paths.

    Raises:
        InputError: nothing there is a trajectory, or the file can't be read.
    """
    files = sorted(_below(path)) if path.is_dir() else [path]
    found: list[Trajectory] = []
    others: list[tuple[str, str]] = []
    for file in files:
        name = str(file.relative_to(path)) if path.is_dir() else file.name
        try:
            found += read_trajectory(file, name)
        except InputError as error:
            if not path.is_dir():
                raise
            others.append((name, str(error)))
    if not found:
        raise InputError(f"{path} holds no trajectory; read are files of {_FORMATS}")
    return Found(trajectories=tuple(found), others=tuple(others))


def read_trajectory(file: Path, name: str) -> list[Trajectory]:
    """Read one file: one trajectory, or several as JSON lines.

    Raises:
        InputError: it can't be read, or no reader knows it.
    """
    try:
        if file.stat().st_size > LARGEST_BYTES:
            raise InputError(f"{name} has more than {LARGEST_BYTES} bytes; nobody looked into it")
        data = file.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"{name} can't be read: {error.strerror}; name a trajectory") from error
    documents = list(_documents(data, name))
    whole = _read(documents[0] if len(documents) == 1 else documents, name)
    if whole is not None:
        return [_identified(whole, file)]
    several = [_read(one, f"{name}:{number}") for number, one in enumerate(documents, start=1)]
    known = [_identified(one, file) for one in several if one is not None]
    if not known:
        raise InputError(f"{name} is no trajectory of {_FORMATS}")
    return known


def _documents(data: str, name: str) -> Iterator[Any]:
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        lines = [line for line in data.split("\n") if line.strip()]
    else:
        yield whole
        return
    for number, line in enumerate(lines, start=1):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{name} is no JSON: line {number}: {error}") from error
    if not lines:
        raise InputError(f"{name} is empty")


def _read(data: Any, name: str) -> Trajectory | None:
    reader = next((reader for reader in all_readers() if reader.knows(data)), None)
    return None if reader is None else reader.read(data, name)


def _identified(found: Trajectory, file: Path) -> Trajectory:
    """Return a trajectory with its instance id: agents name the file or its folder by it."""
    if found.instance_id:
        return found
    for name in (file.name.removesuffix(".json").removesuffix(".traj"), file.parent.name):
        named = replace(found, instance_id=name)
        if named.project:
            return named
    return found


def _below(folder: Path) -> Iterator[Path]:
    ours = ".passed.json"
    return (
        path
        for path in folder.rglob("*")
        if path.name.endswith(_ENDINGS) and not path.name.endswith(ours) and path.is_file()
    )
