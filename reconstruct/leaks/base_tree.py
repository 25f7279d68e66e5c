"""What of a task's answer its base tree holds before anybody has solved it.

The tree is the solver's to read, so nothing here is a leak of ours; but a task whose base names its fix is
another task than it seems. What is found are places with evidence to read, and no verdict.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from swequarry.errors import ObjectMissingError
from swequarry.git.fixlines import FixLines, LineFinder, is_long, squeezed
from swequarry.git.patches import FilePatch, parse_patch
from swequarry.git.paths import path_text
from swequarry.git.store import ObjectReader, TreeEntry
from swequarry.git.testpaths import PathRole, classify_path, is_python
from swequarry.records import AnswerKind, AnswerPlace

FEWEST_LINES = 2
"""One line alone is mostly an idiom of the project."""
_LARGEST = 4 << 20
_SHOWN = 160
_NUMBER = re.compile(
    rb"(?i)(?:#|\bgh[- ]?|\bissues?[ /#-]*|\bpulls?/|\bbugs?[ /#-]*|\bpr[ #-]*|\btickets?[ #-]*|:[a-z-]+:`#?)"
    rb"(\d{1,7})\b"
)
_NEWS_FILE = re.compile(rb"(?:changes|changelog|history|news|releases?|release[-_]notes|whats?[-_]?new)\b.*")
_NEWS_FOLDER = re.compile(
    rb"(?:changes|changelogs?|news|changelog\.d|changes\.d|news\.d|newsfragments|release[-_]?notes|whatsnew)"
)
_FRAGMENT = re.compile(rb"(?:gh-|issue-?)?(\d{1,7})\.[^/]*")
_MARK = re.compile(
    rb"\bxfail\b|\bexpectedFailure\b|\bmark\.skip(?:if)?\b|\b(?:pytest|unittest)\.skip|\.skipTest\("
)
_BODY = re.compile(rb"\s*(?:async\s+def|def|class)\b")
_MARK_LINES = 6
"""How far below its first line a mark's reason is looked for; a function's own line ends it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What is looked for: lines of fix, tests and changelog, numbers of the issues and the pull request.

    Of no kind are there lines that the files of the patch have at the base: it moves or repeats them.
    """

    gold: FixLines
    tests: FixLines
    entries: frozenset[bytes]
    numbers: frozenset[int]

    @property
    def wanted(self) -> frozenset[bytes]:
        """Return all lines, squeezed."""
        return self.gold.lines | self.tests.lines | self.entries


def changelog_files(gold_patch: bytes) -> list[FilePatch]:
    """Return what a fix does to changelogs.

    Raises:
        PatchError: it can't be parsed.
    """
    return [file for file in parse_patch(gold_patch) if file.hunks and any(map(is_changelog, file.paths))]


def added_lines(files: Sequence[FilePatch]) -> frozenset[bytes]:
    """Return the lines that a patch adds to files and that say enough to be known again, squeezed."""
    stripped = (line.strip() for file in files for hunk in file.hunks for line in hunk.added)
    return frozenset(squeezed(line) for line in stripped if is_long(line))


def is_changelog(path: bytes) -> bool:
    """Whether a path is a project's list of changes, or a fragment of one."""
    *folders, name = path.lower().split(b"/")
    if is_python(path):
        return False
    return bool(_NEWS_FILE.fullmatch(name)) or any(_NEWS_FOLDER.fullmatch(folder) for folder in folders)


@dataclass(frozen=True, slots=True)
class _Mention:
    """A line that names numbers of issues."""

    line: int
    text: str
    numbers: frozenset[int]


class BaseReader:
    """Reads base trees of one repository; what a blob says is kept, since most bases share most blobs.

    `wanted` are the lines of all answers that will be asked for.
    """

    def __init__(self, reader: ObjectReader, wanted: frozenset[bytes]) -> None:
        self._reader = reader
        self.lines = LineFinder(reader, wanted)
        self._mentions: dict[tuple[str, bool], tuple[_Mention, ...]] = {}

    def places(self, entries: Sequence[TreeEntry], sought: Sought) -> tuple[AnswerPlace, ...]:
        """Return where a base tree has something of an answer, by kind, path and line.

        Raises:
            GitError: git died.
        """
        found = [place for entry in entries if _is_file(entry) for place in self._of_file(entry, sought)]
        return tuple(sorted(found, key=lambda place: (place.kind, place.path, place.line)))

    def _of_file(self, entry: TreeEntry, sought: Sought) -> Iterator[AnswerPlace]:
        role, path = classify_path(entry.path), path_text(entry.path)
        if is_changelog(entry.path):
            yield from self._changelog(entry, path, sought)
        elif role is not PathRole.DOCS:
            there = self.lines.of(entry.sha)
            if entry.path not in sought.gold.paths:
                yield from _most(AnswerKind.GOLD_LINES, path, sought.gold, there)
            if entry.path not in sought.tests.paths:
                yield from _most(AnswerKind.VISIBLE_TEST, path, sought.tests, there)
        if role is PathRole.TEST and is_python(entry.path):
            for mention in self._said(entry, marks=True):
                if sought.numbers & mention.numbers:
                    yield _place(AnswerKind.XFAIL_MARK, path, mention)

    def _changelog(self, entry: TreeEntry, path: str, sought: Sought) -> Iterator[AnswerPlace]:
        fragment = _FRAGMENT.fullmatch(entry.path.rpartition(b"/")[2])
        if fragment and int(fragment[1]) in sought.numbers:
            yield AnswerPlace(
                kind=AnswerKind.CHANGELOG,
                path=path,
                evidence="it is named after the issue or the pull request",
            )
        for mention in self._said(entry, marks=False):
            if sought.numbers & mention.numbers:
                yield _place(AnswerKind.CHANGELOG, path, mention)
        written = sought.entries & self.lines.of(entry.sha)
        if 2 * len(written) > len(sought.entries):
            said = f"{len(written)} of {len(sought.entries)} lines that the fix writes to changelogs"
            yield AnswerPlace(kind=AnswerKind.CHANGELOG, path=path, evidence=said)

    def _said(self, entry: TreeEntry, *, marks: bool) -> tuple[_Mention, ...]:
        key = (entry.sha, marks)
        if key not in self._mentions:
            self._mentions[key] = tuple((_marks if marks else _mentions)(self._read(entry.sha)))
        return self._mentions[key]

    def _read(self, sha: str) -> bytes:
        try:
            _, data = self._reader.read(sha)
        except ObjectMissingError:
            self.lines.unread.add(sha)
            return b""
        return data if len(data) <= _LARGEST and b"\0" not in data[:8192] else b""


def _is_file(entry: TreeEntry) -> bool:
    return entry.kind == "blob" and entry.mode in (0o100644, 0o100755)


def _most(kind: AnswerKind, path: str, lines: FixLines, there: frozenset[bytes]) -> Iterator[AnswerPlace]:
    """Yield a file that has more than half of some lines."""
    found = lines.lines & there
    if lines.long and len(found) >= FEWEST_LINES and 2 * len(found) > len(lines.lines):
        what = "the fix" if kind is AnswerKind.GOLD_LINES else "the hidden tests"
        evidence = f"{len(found)} of {len(lines.lines)} distinctive lines of {what}"
        yield AnswerPlace(kind=kind, path=path, evidence=evidence)


def _place(kind: AnswerKind, path: str, mention: _Mention) -> AnswerPlace:
    return AnswerPlace(kind=kind, path=path, line=mention.line, evidence=mention.text)


def _numbers(text: bytes) -> frozenset[int]:
    return frozenset(int(number) for number in _NUMBER.findall(text))


def _text(line: bytes) -> str:
    return line.strip().decode("utf-8", "replace")[:_SHOWN]


def _mentions(data: bytes) -> Iterator[_Mention]:
    for number, line in enumerate(data.split(b"\n"), start=1):
        named = _numbers(line)
        if named:
            yield _Mention(number, _text(line), named)


def _marks(data: bytes) -> Iterator[_Mention]:
    """Yield marks of skipped and failing tests with the numbers in them, or in a comment right above."""
    if not _MARK.search(data):
        return
    lines = data.split(b"\n")
    for at, line in enumerate(lines):
        if not _MARK.search(line):
            continue
        above = lines[at - 1] if at and lines[at - 1].lstrip().startswith(b"#") else b""
        said = [above, line]
        for below in lines[at + 1 : at + _MARK_LINES]:
            if _BODY.match(below) or _MARK.search(below):
                break
            said.append(below)
        named = _numbers(b"\n".join(said))
        if named:
            yield _Mention(at + 1, _text(b" ".join(part.strip() for part in said)), named)
