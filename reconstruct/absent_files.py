"""Brings back files that a partial mirror lacks, from the project's own releases.

A release holds most files of the tree that it was made from. A member of an archive whose git hash is that of
an absent file *is* that file: nothing else of a release is ever used, so nothing of a later tree comes in.
"""

import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)

from swequarry.git.store import blob_id
from swequarry.sandbox.index_pages import IndexFile, normalise
from swequarry.sandbox.index_proxy import IndexSource

MAX_ARCHIVE_BYTES: Final = 200 * 1024**2
MAX_MEMBER_BYTES: Final = 512 * 1024**2
RELEASES: Final = 6
"""How many releases are looked into, those nearest to the day."""
_FAR: Final = timedelta.max


def recover(
    absent: Mapping[str, str],
    distribution: str,
    day: datetime,
    index: IndexSource,
    add: Callable[[bytes], object],
) -> frozenset[str]:
    """Look for absent files in the releases nearest to a day; hand the bytes of each to `add`.

    `absent` maps git ids to paths of which the last part is looked for. Returns the ids that were found.

    Raises:
        IndexUnavailableError: the index can't be reached.
    """
    left = dict(absent)
    with index.releases() as shelf:
        for file in nearest(shelf.files(normalise(distribution)), day):
            archive = shelf.download(file) if left else None
            if archive is None:
                continue
            names = {path.rpartition("/")[2] for path in left.values()}
            for data in _members(archive, file.filename, names):
                if left.pop(blob_id(data), None) is not None:
                    add(data)
    return frozenset(absent.keys() - left.keys())


def nearest(files: Iterable[IndexFile], day: datetime) -> tuple[IndexFile, ...]:
    """Return the archives worth a look: of the releases nearest to a day a wheel and a source archive each.

    Wheels come first: looking into one costs no unpacking.
    """
    releases: dict[str, dict[bool, IndexFile]] = {}
    for file in files:
        version = _version(file.filename)
        small = file.sha256 is not None and (file.size_bytes or 0) <= MAX_ARCHIVE_BYTES
        if version is not None and small:
            releases.setdefault(version, {}).setdefault(file.is_wheel, file)

    def distance(kinds: Mapping[bool, IndexFile]) -> timedelta:
        times = [file.uploaded for file in kinds.values() if file.uploaded is not None]
        return min((abs(time - day) for time in times), default=_FAR)

    close = sorted(releases.values(), key=distance)[:RELEASES]
    return tuple(kinds[wheel] for wheel in (True, False) for kinds in close if wheel in kinds)


def _version(filename: str) -> str | None:
    try:
        if filename.endswith(".whl"):
            return str(parse_wheel_filename(filename)[1])
        return str(parse_sdist_filename(filename)[1])
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def _members(archive: Path, filename: str, names: set[str]) -> Iterator[bytes]:
    """Yield the bytes of members with such a last part of their name; a broken archive has no more."""
    try:
        if filename.endswith((".whl", ".zip")):
            yield from _zip_members(archive, names)
        else:
            yield from _tar_members(archive, names)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, OSError, EOFError, NotImplementedError):
        return


def _zip_members(archive: Path, names: set[str]) -> Iterator[bytes]:
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            if member.filename.rpartition("/")[2] in names and member.file_size <= MAX_MEMBER_BYTES:
                with opened.open(member) as stream:
                    yield stream.read(MAX_MEMBER_BYTES)


def _tar_members(archive: Path, names: set[str]) -> Iterator[bytes]:
    with tarfile.open(archive) as opened:
        for member in opened:
            wanted = member.isreg() and member.name.rpartition("/")[2] in names
            stream = opened.extractfile(member) if wanted and member.size <= MAX_MEMBER_BYTES else None
            if stream is not None:
                yield stream.read(MAX_MEMBER_BYTES)
