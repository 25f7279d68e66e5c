"""The lines by which a fix is known again: what it adds to code that its files don't have at the base.

A line is distinctive if it has 20 characters or more and a word; shorter ones count where the fix has none of
these. White space is ignored. Documentation and binary files have no such lines.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from swequarry.errors import ObjectMissingError
from swequarry.git.patches import FilePatch, parse_patch
from swequarry.git.run import Place
from swequarry.git.store import ObjectReader, list_files
from swequarry.git.testpaths import PathRole, classify_path

_MIN_CHARACTERS = 20
_WORD = re.compile(rb"[A-Za-z\x80-\xff]{3}")
_LETTER = re.compile(rb"[A-Za-z0-9\x80-\xff]")
_SPACE = b" \t\r\f\v"


@dataclass(frozen=True, slots=True, kw_only=True)
class FixLines:
    """The distinctive lines of a patch, squeezed, and the paths that it touches.

    `long` is off where only short lines were there: those say something in the same files alone.
    """

    lines: frozenset[bytes]
    paths: frozenset[bytes]
    long: bool = True


def is_code(path: bytes) -> bool:
    """Whether lines of a file can be part of a fix: all but documentation."""
    return classify_path(path) is not PathRole.DOCS


def code_files(patch: bytes) -> list[FilePatch]:
    """Return the files of a patch that it changes as text and that aren't documentation.

    Raises:
        PatchError: it can't be parsed.
    """
    return [file for file in parse_patch(patch) if file.hunks and any(map(is_code, file.paths))]


def squeezed(text: bytes) -> bytes:
    """Return text without blanks; its line ends stay."""
    return text.translate(None, _SPACE)


def is_long(line: bytes) -> bool:
    """Whether a stripped line says enough to be known again wherever it stands."""
    return len(line) >= _MIN_CHARACTERS and _WORD.search(line) is not None


def distinctive_lines(files: Sequence[FilePatch], known: frozenset[bytes]) -> list[frozenset[bytes]]:
    """Return the distinctive lines that a patch adds to each file, squeezed, less those that are known."""
    added = [[line.strip() for hunk in file.hunks for line in hunk.added] for file in files]
    long = [frozenset(squeezed(line) for line in part if is_long(line)) - known for part in added]
    if any(long):
        return long
    return [frozenset(squeezed(line) for line in part if _LETTER.search(line)) - known for part in added]


def base_lines(reader: ObjectReader, place: Place, base: str, files: Sequence[FilePatch]) -> frozenset[bytes]:
    """Return the squeezed lines that the files of a patch have at a commit or in a tree.

    Raises:
        ObjectMissingError: the tree isn't in the store.
    """
    known: set[bytes] = set()
    for entry in list_files(place, base, sorted({path for file in files for path in file.paths})):
        try:
            known.update(squeezed(reader.read(entry.sha)[1]).split(b"\n"))
        except ObjectMissingError:
            continue  # a partial mirror: then more of the fix's lines count, and more is searched for
    return frozenset(known)


def read_fix_lines(reader: ObjectReader, place: Place, base: str, patch: bytes) -> FixLines:
    """Return the lines by which a patch to a commit or tree is known again.

    Raises:
        PatchError: it can't be parsed.
        ObjectMissingError: the tree isn't in the store.
    """
    files = code_files(patch)
    if not files:
        return FixLines(lines=frozenset(), paths=frozenset())
    lines = distinctive_lines(files, base_lines(reader, place, base, files))
    stripped = [line.strip() for file in files for hunk in file.hunks for line in hunk.added]
    long = {squeezed(line) for line in stripped if is_long(line)}
    found = frozenset().union(*lines)
    return FixLines(
        lines=found,
        paths=frozenset(path for file in files for path in file.paths),
        long=bool(found & long),
    )


class LineFinder:
    """Says which of some wanted lines stand in blobs; each blob is read once, however many trees name it."""

    def __init__(self, reader: ObjectReader, wanted: frozenset[bytes]) -> None:
        self._reader = reader
        self._wanted = wanted
        self._found: dict[str, frozenset[bytes]] = {}
        self.unread: set[str] = set()

    def of(self, sha: str) -> frozenset[bytes]:
        """Return the wanted lines of a blob, squeezed; none of one that isn't in the store (see `unread`).

        Raises:
            GitError: git died.
        """
        if sha not in self._found:
            self._found[sha] = self._search(sha)
        return self._found[sha]

    def _search(self, sha: str) -> frozenset[bytes]:
        try:
            _, data = self._reader.read(sha)
        except ObjectMissingError:
            self.unread.add(sha)
            return frozenset()
        if b"\0" in data[:8192]:
            return frozenset()
        return self._wanted.intersection(squeezed(data).split(b"\n"))
