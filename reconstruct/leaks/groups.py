"""Groups of files that are indexed together, and the folder where their indexes are kept.

Environments of other days have nearly all packages in common, and one copy of their files. So the files of an
environment are cut into groups along its folders, and a group is known by the names and identities of all its
files: a package of one version is read once on a machine, and a group with one other file is another group,
so that an index never speaks for a file that it hasn't seen.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path

from reconstruct.leaks.index import MOST_FILES, FileIndex, build_index
from swequarry.errors import StorageError
from swequarry.sandbox.visible import VisibleFile

LARGEST = 4 << 20
"""Bytes of a folder that isn't cut. Where the n-grams of a group may be a block's, all its files are read."""
SMALLEST = 1 << 15
"""Bytes of a folder that is a group of its own; smaller ones go with the files beside them."""


@dataclass(frozen=True)
class FileGroup:
    """Files that lie together, in the order of their paths."""

    files: tuple[VisibleFile, ...]

    @cached_property
    def key(self) -> str:
        """What stands for the names and identities of the files."""
        digest = hashlib.sha256()
        for file in self.files:
            digest.update(repr((file.path, file.identity)).encode("utf-8", "surrogateescape"))
        return digest.hexdigest()


def grouped(files: Sequence[VisibleFile]) -> Iterator[FileGroup]:
    """Yield groups, each file in one: folders of some megabytes, and what larger ones have beside them."""
    in_parts = [(file.path.split("/"), file) for file in files]
    yield from _cut(sorted(in_parts, key=itemgetter(0)), 0)


def _cut(files: list[tuple[list[str], VisibleFile]], depth: int) -> Iterator[FileGroup]:
    """Cut files that have so many folders of their paths in common."""
    if _size(files) <= LARGEST:
        yield from _whole(files)
        return
    below: dict[str, list[tuple[list[str], VisibleFile]]] = {}
    rest = []
    for parts, file in files:
        if len(parts) > depth + 1:
            below.setdefault(parts[depth], []).append((parts, file))
        else:
            rest.append((parts, file))
    for folder in below.values():
        if _size(folder) < SMALLEST:
            rest += folder
        else:
            yield from _cut(folder, depth + 1)
    yield from _whole(rest)


def _size(files: list[tuple[list[str], VisibleFile]]) -> int:
    return sum(file.identity[2] for _, file in files)


def _whole(files: list[tuple[list[str], VisibleFile]]) -> Iterator[FileGroup]:
    for at in range(0, len(files), MOST_FILES):
        yield FileGroup(tuple(file for _, file in files[at : at + MOST_FILES]))


class IndexCache:
    """A folder with the indexes of groups; safe for several processes, since each file appears whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def index_of(self, group: FileGroup) -> tuple[FileIndex, bool]:
        """Return the index of a group, and whether it was known; makes and keeps it where it wasn't."""
        place = self._folder / group.key
        index = FileIndex.load(place)
        if index is not None:
            with contextlib.suppress(OSError):
                os.utime(place)
            return index, True
        index = build_index(group.files)
        if index.is_whole:
            index.save(place)
        return index, False


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedIndexes:
    """How many indexes were removed, and how many kept."""

    removed: int
    kept: int


def prune_indexes(folder: Path, unused_since: float, *, dry_run: bool = False) -> PrunedIndexes:
    """Remove what no audit has used since a time (Unix seconds), remains of dead processes among them.

    Raises:
        StorageError: the folder can't be read, or a file in it not removed.
    """
    try:
        used = {place: _used_at(place) for place in folder.iterdir()} if folder.is_dir() else {}
        old = [place for place, used_at in used.items() if used_at <= unused_since]
        for place in () if dry_run else old:
            place.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"can't clear {folder} of old indexes: {error}; delete the folder by hand"
        ) from error
    return PrunedIndexes(removed=len(old), kept=len(used) - len(old))


def _used_at(place: Path) -> float:
    try:
        return place.lstat().st_mtime
    except FileNotFoundError:
        return 0.0  # another one has removed it
