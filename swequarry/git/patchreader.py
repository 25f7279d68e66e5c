r"""Reads the text of patches; `patches` has what callers use.

Lines end at LF and nowhere else (a file may hold form feeds, lone CRs, U+2028), and whether a line is a
header or content is decided by the counts of its hunk, never by its look (a removed SQL comment reads
`--- a/note`). Written by hand: the parsers at hand decode text, split lines at Unicode breaks or guess at
headers (unidiff issues 24, 77, 104, 113, 120), and none gives the bytes back. Format: `git help diff`,
"Generating patch text with -p", and what `git apply` accepts of plain unified diffs.
"""

import re
from dataclasses import dataclass, replace

from swequarry.errors import PatchError
from swequarry.git.patchnames import header_names, plain_name, strip_first

_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_MODE = re.compile(rb"(old mode|new mode|new file mode|deleted file mode) ([0-7]{6})$")
_INDEX = re.compile(rb"index [0-9a-f]+(?:,[0-9a-f]+)*\.\.[0-9a-f]+(?: ([0-7]{6}))?$")
_SIMILARITY = re.compile(rb"(?:dis)?similarity index (\d{1,3})%$")
_NAME = re.compile(rb"(rename|copy) (from|to|old|new) ")
_BINARY_BLOCK = re.compile(rb"(?:literal|delta) \d+$")
_GIT_HEADER = b"diff --git "


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One hunk; `lines` are its lines below the `@@` line, each with its mark and its LF."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[bytes, ...]

    @property
    def added(self) -> tuple[bytes, ...]:
        """The added lines, without their mark, with their LF."""
        return tuple(line[1:] for line in self.lines if line.startswith(b"+"))

    @property
    def removed(self) -> tuple[bytes, ...]:
        """The removed lines, without their mark, with their LF."""
        return tuple(line[1:] for line in self.lines if line.startswith(b"-"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePatch:
    """What a patch does to one file.

    `raw` is its text, from its first header line to its last hunk line; `preamble` the text before that
    belongs to no file (mail headers, messages), `epilogue` the text after the last file. `status` is git's
    letter: A, D, M, R, C. `binary_data` is None for text, else whether the patch carries the content.
    """

    raw: bytes
    status: str
    old_path: bytes | None
    new_path: bytes | None
    old_mode: int | None = None
    new_mode: int | None = None
    similarity: int | None = None
    binary_data: bool | None = None
    hunks: tuple[Hunk, ...] = ()
    preamble: bytes = b""
    epilogue: bytes = b""

    @property
    def paths(self) -> tuple[bytes, ...]:
        """The paths that it touches: one, or two for a rename or copy, the old one first."""
        named = [path for path in (self.old_path, self.new_path) if path is not None]
        return tuple(dict.fromkeys(named))


class _Header:
    """What the header lines of one file said so far."""

    def __init__(self) -> None:
        self.names: tuple[bytes | None, bytes | None] = (None, None)
        self.old: bytes | None = None
        self.new: bytes | None = None
        self.modes: dict[bytes, int] = {}
        self.created = self.deleted = False
        self.kind = b""
        self.similarity: int | None = None

    def takes(self, line: bytes) -> bool:
        """Read one extended header line; False where the line is none."""
        if match := _MODE.match(line):
            self.modes[match[1].split()[0]] = int(match[2], 8)
            self.created |= match[1] == b"new file mode"
            self.deleted |= match[1] == b"deleted file mode"
        elif match := _INDEX.match(line):
            if match[1]:
                self.modes |= {b"old": int(match[1], 8), b"new": int(match[1], 8)}
        elif match := _SIMILARITY.match(line):
            self.similarity = int(match[1])
        elif match := _NAME.match(line):
            self.kind = match[1]
            name = plain_name(line[match.end() :], ends_at_tab=False)
            if match[2] in {b"from", b"old"}:
                self.old = name
            else:
                self.new = name
        else:
            return False
        return True

    def status(self) -> str:
        """Return git's letter for what the header describes."""
        if self.kind:
            return "R" if self.kind == b"rename" else "C"
        if self.created:
            return "A"
        return "D" if self.deleted else "M"


class PatchReader:
    """Reads the lines of one patch from first to last."""

    def __init__(self, patch: bytes) -> None:
        pieces = patch.split(b"\n")
        self._lines = [piece + b"\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])
        self._at = 0

    def files(self) -> tuple[FilePatch, ...]:
        """Return the files of the patch, which hold every byte of it between them.

        Raises:
            PatchError: as `patches.parse_patch`.
        """
        found: list[FilePatch] = []
        junk = 0
        while self._at < len(self._lines):
            if not self._file_starts():
                self._at += 1
                continue
            preamble = b"".join(self._lines[junk : self._at])
            found.append(self._file(preamble))
            junk = self._at
        rest = b"".join(self._lines[junk:])
        if rest and not found:
            raise PatchError("no file is changed by this text; a patch has `diff --git` or `---` lines")
        if rest:
            found[-1] = replace(found[-1], epilogue=rest)
        return tuple(found)

    def _line(self, ahead: int = 0) -> bytes:
        at = self._at + ahead
        return self._lines[at] if at < len(self._lines) else b""

    def _error(self, said: str) -> PatchError:
        return PatchError(f"line {self._at + 1} of the patch: {said}")

    def _plain_header(self) -> bool:
        return self._line().startswith(b"--- ") and self._line(1).startswith(b"+++ ")

    def _file_starts(self) -> bool:
        if self._line().startswith(_GIT_HEADER):
            return True
        return self._plain_header() and _HUNK.match(self._line(2)) is not None

    def _file(self, preamble: bytes) -> FilePatch:
        start = self._at
        header = _Header()
        if self._line().startswith(_GIT_HEADER):
            header.names = header_names(self._line()[len(_GIT_HEADER) :].rstrip(b"\n"))
            self._at += 1
            while header.takes(self._line().rstrip(b"\n")):
                self._at += 1
        hunks: tuple[Hunk, ...] = ()
        data = None
        if self._plain_header():
            self._read_names(header)
            hunks = self._hunks()
        else:
            data = self._binary()
        old, new = self._paths(header, start)
        return FilePatch(
            raw=b"".join(self._lines[start : self._at]),
            status=header.status(),
            old_path=old,
            new_path=new,
            old_mode=header.modes.get(b"deleted", header.modes.get(b"old")),
            new_mode=header.modes.get(b"new"),
            similarity=header.similarity,
            binary_data=data,
            hunks=hunks,
            preamble=preamble,
        )

    def _read_names(self, header: _Header) -> None:
        old, new = (plain_name(self._line(n)[4:].rstrip(b"\n"), ends_at_tab=True) for n in (0, 1))
        self._at += 2
        header.created |= old == b"/dev/null"
        header.deleted |= new == b"/dev/null"
        if not header.kind:
            header.old = None if header.created else strip_first(old)
            header.new = None if header.deleted else strip_first(new)

    def _paths(self, header: _Header, start: int) -> tuple[bytes | None, bytes | None]:
        status = header.status()
        old = None if status == "A" else header.old or header.names[0]
        new = None if status == "D" else header.new or header.names[1]
        if (old is None and status != "A") or (new is None and status != "D"):
            self._at = start
            raise self._error("the header doesn't tell which file it is about")
        return old, new

    def _hunks(self) -> tuple[Hunk, ...]:
        hunks = []
        while match := _HUNK.match(self._line()):
            self._at += 1
            old_count, new_count = (int(match[2] or 1), int(match[4] or 1))
            lines = self._hunk_lines(old_count, new_count)
            hunks.append(
                Hunk(
                    old_start=int(match[1]),
                    old_count=old_count,
                    new_start=int(match[3]),
                    new_count=new_count,
                    lines=lines,
                )
            )
        if not hunks:
            raise self._error("a hunk must follow the `---` and `+++` lines")
        return tuple(hunks)

    def _hunk_lines(self, old_left: int, new_left: int) -> tuple[bytes, ...]:
        start = self._at
        while old_left or new_left:
            mark = self._line()[:1]
            if mark in {b" ", b"\n", b"-"}:
                old_left -= 1
            if mark in {b" ", b"\n", b"+"}:
                new_left -= 1
            if not mark:
                raise self._error("the text ends inside a hunk")
            if mark not in {b" ", b"\n", b"-", b"+", b"\\"} or old_left < 0 or new_left < 0:
                raise self._error("the hunk doesn't hold as many lines as its header says")
            self._at += 1
        if self._line().startswith(b"\\ "):
            self._at += 1
        return tuple(self._lines[start : self._at])

    def _binary(self) -> bool | None:
        if self._line().startswith((b"Binary files ", b"Files ")):
            self._at += 1
            return False
        if self._line().rstrip(b"\n") != b"GIT binary patch":
            return None
        self._at += 1
        blocks = 0
        while _BINARY_BLOCK.match(self._line().rstrip(b"\n")):
            while self._line() not in {b"", b"\n"}:
                self._at += 1
            self._at += self._line() == b"\n"
            blocks += 1
        if not blocks:
            raise self._error("no data follows `GIT binary patch`")
        return True
