"""Patches as bytes: read, split by path, put together again; the bytes in are the bytes out."""

import re
from collections.abc import Callable, Iterable

from swequarry.errors import PatchError
from swequarry.git.patchreader import FilePatch, Hunk, PatchReader
from swequarry.git.paths import path_text

__all__ = [
    "FilePatch",
    "Hunk",
    "end_last_line",
    "join",
    "parse_patch",
    "series",
    "split_patch",
    "without_binary_data",
]

_BINARY_NOTE = re.compile(rb"^(?:Binary f|F)iles .+ differ$", re.MULTILINE)
_FULL_INDEX = re.compile(rb"^index [0-9a-f]{40}\.\.[0-9a-f]{40}(?: [0-7]{6})?$", re.MULTILINE)
_MAIL = re.compile(rb"^From [0-9a-f]{40} Mon Sep 17 00:00:00 2001$", re.MULTILINE)


def parse_patch(patch: bytes) -> tuple[FilePatch, ...]:
    """Read a patch: `join` of the result is the same bytes. The empty patch has no files.

    Paths are those that `git apply -p1` uses. A last line without LF is taken as it is.

    Raises:
        PatchError: a hunk is cut short or too long, a file has no name, or nothing in the text is a patch;
            names the line.
    """
    return PatchReader(patch).files()


def join(files: Iterable[FilePatch]) -> bytes:
    """Return the text that `parse_patch` read."""
    return b"".join(file.preamble + file.raw + file.epilogue for file in files)


def split_patch(patch: bytes, is_test: Callable[[bytes], bool]) -> tuple[bytes, bytes]:
    """Return gold patch and test patch: each file goes whole to the side that its path is on.

    What belongs to no file (messages, mail headers) goes to neither.

    Raises:
        PatchError: as `parse_patch`; or a file moved between the sides, which only trees can split.
    """
    sides: dict[bool, list[bytes]] = {False: [], True: []}
    for file in parse_patch(patch):
        paths = file.paths[-1:] if file.status == "C" else file.paths
        roles = {is_test(path) for path in paths}
        if len(roles) > 1:
            names = " to ".join(path_text(path) for path in file.paths)
            raise PatchError(f"a file moves between source and tests: {names}; split it from git trees")
        sides[roles.pop()].append(end_last_line(file.raw))
    return b"".join(sides[False]), b"".join(sides[True])


def without_binary_data(patch: bytes) -> tuple[str, ...]:
    """Return what a patch says of binary changes that git couldn't make from it: paths, or whole notes.

    `git apply` passes over some of them without a word: those without full ids, and those that stand alone,
    as plain `diff -r` writes them.

    Raises:
        PatchError: as `parse_patch`.
    """
    found: list[str] = []
    for file in parse_patch(patch) if _BINARY_NOTE.search(patch) else ():
        notes = _BINARY_NOTE.findall(file.preamble) + _BINARY_NOTE.findall(file.epilogue)
        found += [note.decode("utf-8", "backslashreplace") for note in notes]
        if file.binary_data is False and not _FULL_INDEX.search(file.raw):
            found.append(path_text(file.paths[-1]))
    return tuple(found)


def series(patch: bytes) -> tuple[bytes, ...]:
    """Return the patches of a mail series (`git format-patch`), one per mail and without its message.

    Each is relative to the one before, unlike the files of one patch, which are all relative to one tree.
    A text that is no series is returned as it is.

    Raises:
        PatchError: as `parse_patch`.
    """
    if not _MAIL.search(patch):
        return (patch,)
    mails: list[list[bytes]] = []
    for file in parse_patch(patch):
        if not mails or _MAIL.search(file.preamble):
            mails.append([])
        mails[-1].append(end_last_line(file.raw))
    return tuple(b"".join(mail) for mail in mails)


def end_last_line(patch: bytes) -> bytes:
    """Return a patch whose last line ends, as published datasets often cut the end of the text.

    Adds one LF where the last byte is none, and the empty line that must close binary data at the end.
    Nothing else is mended.
    """
    if patch and not patch.endswith(b"\n"):
        patch += b"\n"
    start = max(patch.rfind(b"\nliteral "), patch.rfind(b"\ndelta "))
    if start >= 0 and re.fullmatch(rb"\n\w+ \d+\n(?:[A-Za-z][!-~]+\n)+", patch[start:]):
        patch += b"\n"
    return patch
