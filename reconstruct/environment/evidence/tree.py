"""Reading a foreign source tree without trusting it.

Nothing outside the root is ever opened: paths with `..`, absolute paths and links are resolved first and
refused where they leave the root. Only regular files are read, only up to a size, and the walk is bounded
in entries and depth, breadth first, so that what is cut off is what lies deepest.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import normpath
from typing import Final

from swequarry.records import Evidence

MAX_FILE_BYTES: Final = 250_000
MAX_LONG_FILE_BYTES: Final = 1_000_000
"""For requirement files with hashes, and for sources that are only searched by pattern."""
MAX_ENTRIES: Final = 60_000
MAX_DEPTH: Final = 24
MAX_VALUE_CHARS: Final = 300
MAX_NOTES: Final = 2_000
SKIPPED_FOLDERS: Final = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".tox", ".venv"})


def clean(text: str) -> str:
    """Return text that any store can hold: no lone surrogates, no control characters, bounded length."""
    printable = "".join(c if c.isprintable() else " " for c in text[: MAX_VALUE_CHARS * 2])
    return printable.encode("utf-8", "replace").decode("utf-8").strip()[:MAX_VALUE_CHARS]


class Notebook:
    """Collects evidence in the order in which it is found."""

    def __init__(self) -> None:
        self._entries: dict[Evidence, None] = {}

    def note(self, key: str, value: str, path: str, line: int = 0) -> None:
        """Write down one finding; `line` counts from 1, 0 where it isn't known.

        After `MAX_NOTES` findings only one more is kept, which says so.
        """
        if len(self._entries) >= MAX_NOTES:
            key, value, path, line = "truncated", f"more than {MAX_NOTES} findings", ".", 0
        self._entries[Evidence(key=key, value=clean(value), path=clean(path), line=line)] = None

    @property
    def is_full(self) -> bool:
        """Whether nothing more is written down, so that looking for a place isn't worth it."""
        return len(self._entries) > MAX_NOTES

    def broken(self, path: str, why: str, line: int = 0) -> None:
        """Write down that a file, or a part of it, can't be used."""
        self.note("broken", why, path, line)

    def entries(self) -> tuple[Evidence, ...]:
        """Return the findings, each once."""
        return tuple(self._entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTree:
    """The files of a tree by relative path with `/`; names that aren't UTF-8 are left out.

    `files` are regular files and links to regular files inside the tree, sorted. Make one with `open`.
    """

    root: Path
    files: tuple[str, ...]
    truncated: bool = False
    _known: frozenset[str] = field(repr=False)

    @classmethod
    def open(cls, root: Path) -> "SourceTree":
        """List a tree.

        Raises:
            FileNotFoundError: there is no folder at `root`; everything below it is taken as it comes.
        """
        real = Path(os.path.realpath(root))
        if not real.is_dir():
            raise FileNotFoundError(f"no source tree at {root}")
        found, truncated = _walk(real)
        files = tuple(sorted(found))
        return cls(root=real, files=files, truncated=truncated, _known=frozenset(files))

    def has(self, path: str) -> bool:
        """Whether a file of this relative path is in the tree."""
        return path in self._known

    def read(self, path: str, notes: Notebook, limit: int = MAX_FILE_BYTES) -> str | None:
        """Return the text of a file; None (with a note, if it should be there) where it can't be had."""
        if not self.has(path):
            return None
        try:
            data = _read_regular(self.root, path, limit)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            notes.broken(path, f"not read: {reason}")
            return None
        if b"\0" in data:
            notes.broken(path, "not read: binary content")
            return None
        return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def inside(base: str, path: str) -> str | None:
    """Return `path`, named in folder `base`, relative to the root; None where it leaves the tree."""
    if path.startswith("/") or "\0" in path or "\\" in path:
        return None
    joined = normpath(f"{base}/{path}" if base else path)
    return None if joined == ".." or joined.startswith("../") else joined


def _read_regular(root: Path, path: str, limit: int) -> bytes:
    target = os.path.realpath(root / path)
    if not _is_below(root, target):
        raise ValueError("the link leaves the tree")
    handle = os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a regular file")
        if status.st_size > limit:
            raise ValueError(f"larger than {limit} bytes")
        return stream.read(limit + 1)[:limit]


def _is_below(root: Path, target: str) -> bool:
    return target.startswith(f"{str(root).rstrip('/')}/")


def _walk(root: Path) -> tuple[set[str], bool]:
    found: set[str] = set()
    level, seen = [""], 0
    for _ in range(MAX_DEPTH):
        following: list[str] = []
        for folder in level:
            for name, is_folder in _entries(root, folder):
                seen += 1
                if seen > MAX_ENTRIES:
                    return found, True
                if is_folder:
                    following.append(name)
                else:
                    found.add(name)
        level = following
        if not level:
            return found, False
    return found, True


def _entries(root: Path, folder: str) -> Iterator[tuple[str, bool]]:
    try:
        with os.scandir(root / folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if not _is_text(entry.name):
            continue
        name = f"{folder}/{entry.name}" if folder else entry.name
        try:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in SKIPPED_FOLDERS:
                    yield name, True
            elif entry.is_file(follow_symlinks=False) or (
                entry.is_symlink() and entry.is_file() and _is_below(root, os.path.realpath(entry.path))
            ):
                yield name, False
        except OSError:
            continue


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
