"""Lines, hunks and readable patches of one changed file: what wrong fixes are cut from and shown as."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from swequarry.git.patches import FilePatch, Hunk
from swequarry.git.paths import quote_path

_NO_END = b"\n\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A file that the gold patch changes: its bytes before and after (None: absent), and its hunks.

    `path` is where it lies after the fix, or lay where that removes it.
    """

    path: bytes
    old: bytes | None
    new: bytes | None
    mode: int = 0o100644
    hunks: tuple[Hunk, ...] = ()
    old_path: bytes | None = None
    old_mode: int = 0o100644

    @property
    def is_python(self) -> bool:
        """Whether mutants can be made of it."""
        return self.path.endswith(b".py") and self.new is not None

    def changed_lines(self) -> tuple[tuple[int, ...], ...]:
        """Return, for each hunk, the numbers of the lines of `new` that gold wrote."""
        return tuple(tuple(_written(hunk)) for hunk in self.hunks)

    def without(self, number: int) -> bytes | None:
        """Return the file as the fix without one hunk leaves it; None where hunk and file don't agree."""
        if self.new is None:
            return None
        hunk = self.hunks[number]
        lines = split_lines(self.new)
        start = hunk.new_start - (1 if hunk.new_count else 0)
        old, new = _side(hunk, b"-"), _side(hunk, b"+")
        if lines[start : start + hunk.new_count] != new:
            return None
        return b"".join([*lines[:start], *old, *lines[start + hunk.new_count :]])


def split_lines(data: bytes) -> list[bytes]:
    """Return lines with their ends; only LF ends a line."""
    lines = data.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def readable_patch(path: bytes, old: bytes | None, new: bytes | None) -> bytes:
    """Return a patch that `git apply` takes, from some bytes (None: no file) to others.

    Binary files are only named.
    """
    named = [quoted(side + path) for side in (b"a/", b"b/")]
    header = b"diff --git %s %s\n" % (named[0], named[1])
    if old is None:
        header += b"new file mode 100644\n"
    elif new is None:
        header += b"deleted file mode 100644\n"
    sides = [b"/dev/null" if side is None else name for side, name in zip((old, new), named, strict=True)]
    if b"\0" in (old or b"") + (new or b""):
        return header + b"Binary files %s and %s differ\n" % (sides[0], sides[1])
    lines = difflib.diff_bytes(
        difflib.unified_diff, split_lines(old or b""), split_lines(new or b""), sides[0], sides[1]
    )
    return header + b"".join(line if line.endswith(b"\n") else line + _NO_END for line in lines)


def quoted(path: bytes) -> bytes:
    """Return a path as it stands in the headers of a patch."""
    plain = quote_path(path)
    return path if plain == b'"' + path + b'"' and b" " not in path else plain


def _written(hunk: Hunk) -> Iterator[int]:
    line = hunk.new_start
    for text in hunk.lines:
        if text.startswith(b"+"):
            yield line
        if text[:1] in {b"+", b" ", b"\n"}:
            line += 1


def _side(hunk: Hunk, mark: bytes) -> list[bytes]:
    """Return the lines that a hunk has on one side, the last one without its end where a note says so."""
    found: list[bytes] = []
    previous_taken = False
    for line in hunk.lines:
        if line.startswith(b"\\"):
            if previous_taken:
                found[-1] = found[-1].removesuffix(b"\n")
            continue
        previous_taken = line[:1] in {mark, b" ", b"\n"}
        if previous_taken:
            found.append(line[1:] if line != b"\n" else line)
    return found


def hunks_of(patch: FilePatch) -> tuple[Hunk, ...]:
    """Return the hunks of a file's patch; none for one without text."""
    return patch.hunks if patch.binary_data is None else ()
