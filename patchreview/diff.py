"""A patch, read once for all rules."""

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain

from patchreview.clock import Clock
from patchreview.pieces import CodeLine, Piece, language_of
from swequarry.git.patches import FilePatch, parse_patch
from swequarry.git.paths import path_text
from swequarry.git.testpaths import PathRole, classify_path

MAX_BYTES = 32 << 20
MAX_FILES = 3000
"""So many files are looked into; the names of all are."""

ReadFile = Callable[[bytes], bytes | None]
"""Returns the content of a path on one side, None where it isn't at hand."""

_LINK, _SUBMODULE = 0o120000, 0o160000


class FileDiff:
    """What a patch does to one file, with both sides in pieces."""

    def __init__(self, patch: FilePatch, old: ReadFile | None, new: ReadFile | None) -> None:
        self.patch = patch
        self.path: bytes = patch.paths[-1]
        self.name = path_text(self.path)
        self.role = classify_path(self.path)
        self.language = language_of(self.path)
        self._old, self._new = old, new

    @property
    def base_name(self) -> bytes:
        """The last part of the path, in lower case."""
        return self.path.rpartition(b"/")[2].lower()

    @property
    def created(self) -> bool:
        """Whether the patch makes the file."""
        return self.patch.status in "AC"

    @property
    def deleted(self) -> bool:
        """Whether the patch removes the file."""
        return self.patch.status == "D"

    @property
    def is_test(self) -> bool:
        """Whether the path is one of tests."""
        return self.role is PathRole.TEST

    @property
    def is_source(self) -> bool:
        """Whether the path is code of the project itself."""
        return self.role is PathRole.SOURCE

    @property
    def is_link(self) -> bool:
        """Whether the file becomes a symbolic link."""
        return self.patch.new_mode == _LINK

    @property
    def is_submodule(self) -> bool:
        """Whether the file is a commit of another repository."""
        return _SUBMODULE in (self.patch.new_mode, self.patch.old_mode)

    @cached_property
    def added_count(self) -> int:
        """How many lines are added."""
        return sum(line.startswith(b"+") for hunk in self.patch.hunks for line in hunk.lines)

    @cached_property
    def removed_count(self) -> int:
        """How many lines are removed."""
        return sum(line.startswith(b"-") for hunk in self.patch.hunks for line in hunk.lines)

    @cached_property
    def new(self) -> tuple[Piece, ...]:
        """The side after the patch; touched lines are the added ones."""
        return tuple(self._pieces(b"+", b"-", self._new, self.patch.new_path))

    @cached_property
    def old(self) -> tuple[Piece, ...]:
        """The side before the patch; touched lines are the removed ones."""
        return tuple(self._pieces(b"-", b"+", self._old, self.patch.old_path))

    @property
    def added(self) -> Iterator[CodeLine]:
        """The added lines."""
        return chain.from_iterable(piece.changed for piece in self.new)

    @property
    def removed(self) -> Iterator[CodeLine]:
        """The removed lines."""
        return chain.from_iterable(piece.changed for piece in self.old)

    def _pieces(
        self, ours: bytes, theirs: bytes, read: ReadFile | None, path: bytes | None
    ) -> Iterator[Piece]:
        hunks = [self._hunk(number, ours, theirs) for number in range(len(self.patch.hunks))]
        data = read(path) if read is not None and path is not None and hunks else None
        if data is None:
            yield from (Piece(lines, first, rows, self.language) for first, lines, rows in hunks)
            return
        whole = data.split(b"\n")
        touched = [first - 1 + row for first, _, rows in hunks for row in rows]
        yield Piece(whole, 1, [row for row in touched if row < len(whole)], self.language)

    def _hunk(self, number: int, ours: bytes, theirs: bytes) -> tuple[int, list[bytes], list[int]]:
        hunk = self.patch.hunks[number]
        lines: list[bytes] = []
        touched = []
        for line in hunk.lines:
            mark = line[:1]
            if mark in {theirs, b"\\"}:
                continue
            if mark == ours:
                touched.append(len(lines))
            lines.append(line[1:].rstrip(b"\r\n"))
        return max(1, hunk.new_start if ours == b"+" else hunk.old_start), lines, touched


class Diff:
    """A patch as files; `clock` ends a review that takes too long."""

    def __init__(self, files: tuple[FileDiff, ...], clock: Clock) -> None:
        self.every = files
        self._clock = clock

    @property
    def files(self) -> Iterator[FileDiff]:
        """The files to look into, at most `MAX_FILES`.

        Raises:
            OutOfTimeError: while they are looked into.
        """
        for file in self.every[:MAX_FILES]:
            self._clock.check()
            yield file

    @property
    def python(self) -> Iterator[FileDiff]:
        """The Python files to look into."""
        return (file for file in self.files if file.language == "python")

    @cached_property
    def size(self) -> int:
        """How many lines are added and removed."""
        return sum(file.added_count + file.removed_count for file in self.every)


def read_diff(
    patch: bytes, clock: Clock | None = None, *, old: ReadFile | None = None, new: ReadFile | None = None
) -> Diff:
    """Read a patch; `old` and `new` give the whole files of its sides where they are at hand.

    Without a clock it may be looked into for as long as it's held: tasks' own patches are.

    Raises:
        PatchError: the text isn't a patch.
    """
    files = tuple(FileDiff(file, old, new) for file in parse_patch(patch))
    return Diff(files, clock or Clock(math.inf))
