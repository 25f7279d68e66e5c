"""Requirement files with what they include, and the choice of files by name."""

import re
from collections.abc import Iterable
from posixpath import basename, dirname
from typing import Final

from reconstruct.environment.evidence.model import Requested, RequirementFile
from reconstruct.environment.evidence.requirement_lines import (
    Kind,
    RequirementLine,
    parse_requirement_text,
)
from reconstruct.environment.evidence.tree import MAX_LONG_FILE_BYTES, Notebook, SourceTree, inside

MAX_INCLUDE_DEPTH: Final = 12
OPTIONAL_RANK: Final = 3
_CANDIDATE: Final = re.compile(
    r"(?:.*[-_.])?(?:requirements?|reqs?|deps)(?:[-_.].*)?\.(?:txt|in|pip)", re.IGNORECASE
)
_FOLDER: Final = re.compile(r"(?:.*/)?(?:requirements?|reqs?|requires)(?:/[\w.-]+)?", re.IGNORECASE)
_UNSUITABLE: Final = re.compile(
    r"(?<![a-z])(?:min|minver|mins|minimum|minimal|oldest|pinned|docs?|documentation|lint\w*|flake8|typing|mypy|types|build|publish"
    r"|examples?|release|deploy|constraints?|upstream|nightly|bench\w*|py2\w*|windows|rtd|readthedocs|style|format"
    r"|lock)(?![a-z])",
    re.IGNORECASE,
)
_TESTING: Final = re.compile(r"(?<![a-z])(?:tests?|testing|ci)(?![a-z])", re.IGNORECASE)
_OPTIONAL: Final = re.compile(r"(?<![a-z])(?:optional|extras?)(?![a-z])", re.IGNORECASE)
_DEVELOPING: Final = re.compile(
    r"(?<![a-z])(?:dev|devel|develop|development|local|all|contrib\w*)(?![a-z])", re.IGNORECASE
)


def resolve(
    lines: Iterable[RequirementLine], folder: str, tree: SourceTree, notes: Notebook, *, origin: str = ""
) -> Requested:
    """Return what lines ask for; files that they include are relative to `folder`, loops are cut."""
    return _Resolver(tree, notes).lines(lines, folder, origin, 0)


def read_requirement_file(path: str, tree: SourceTree, notes: Notebook) -> Requested:
    """Return what a file and everything that it includes ask for; empty where it can't be read."""
    return _Resolver(tree, notes).file(path, 0)


class _Resolver:
    """Follows includes; remembers the files that it has read, so that each counts once."""

    def __init__(self, tree: SourceTree, notes: Notebook) -> None:
        self._tree = tree
        self._notes = notes
        self._read: set[str] = set()

    def file(self, path: str, depth: int) -> Requested:
        if path in self._read:
            return Requested()
        self._read.add(path)
        if depth > MAX_INCLUDE_DEPTH:
            self._notes.broken(path, "requirement files nested too deeply")
            return Requested()
        text = self._tree.read(path, self._notes, MAX_LONG_FILE_BYTES)
        if text is None:
            return Requested()
        return self.lines(parse_requirement_text(text), dirname(path), path, depth)

    def lines(self, lines: Iterable[RequirementLine], folder: str, origin: str, depth: int) -> Requested:
        return Requested.together(self._one(line, folder, origin, depth) for line in lines)

    def _one(self, line: RequirementLine, folder: str, origin: str, depth: int) -> Requested:
        if line.note:
            self._notes.note("requirement_mended", line.note, origin, line.number)
        match line.kind:
            case Kind.NAMED:
                return Requested(requirements=(line.text,))
            case Kind.FILE:
                return self._include(line, folder, origin, depth)
            case Kind.CONSTRAINTS:
                included = self._include(line, folder, origin, depth)
                return Requested(constraints=included.requirements + included.constraints)
            case Kind.PATH:
                return self._path(line, folder, origin)
            case Kind.URL:
                self._notes.note("requirement_from_url", line.text, origin, line.number)
                return Requested(urls=(line.name,) if line.name else ())
            case Kind.BROKEN:
                self._notes.note("requirement_unreadable", line.text, origin, line.number)
        return Requested()

    def _include(self, line: RequirementLine, folder: str, origin: str, depth: int) -> Requested:
        path = inside(folder, line.text.replace("{toxinidir}/", ""))
        if path is None or not self._tree.has(path):
            self._notes.note("requirement_file_missing", line.text, origin, line.number)
            return Requested()
        return self.file(path, depth + 1)

    def _path(self, line: RequirementLine, folder: str, origin: str) -> Requested:
        """A folder of the tree; pip reads it relative to where it is called, most call at the root."""
        for base in ("", folder):
            path = inside(base, line.text)
            if path == ".":
                return Requested(extras=line.extras)
            if path is not None and any(
                self._tree.has(f"{path}/{m}") for m in ("setup.py", "pyproject.toml")
            ):
                return Requested(local=(path,))
        self._notes.note("requirement_path_unusable", line.text, origin, line.number)
        return Requested()


def requirement_files(tree: SourceTree, notes: Notebook) -> tuple[RequirementFile, ...]:
    """Return the requirement files that tests seem to need, best first: test, dev, plain, optional.

    Files for other purposes (documentation, linting, minimal versions...) are left out by name, and what
    `x.txt` was compiled from (`x.in`).
    """
    ranked: list[tuple[int, str]] = []
    for path in tree.files:
        rank = _rank(path)
        compiled = path.endswith(".in") and tree.has(f"{path.removesuffix('.in')}.txt")
        if rank is not None and not compiled:
            ranked.append((rank, path))
    chosen = []
    for _, path in sorted(ranked):
        notes.note("requirement_file", path, path)
        chosen.append(RequirementFile(path=path, requested=read_requirement_file(path, tree, notes)))
    return tuple(chosen)


def rank_name(path: str) -> int | None:
    """Return 0 for a requirement file of tests, 1 of development, 2 plain, 3 of optional features.

    None for other purposes.
    """
    if _UNSUITABLE.search(path.replace("_", "-")):
        return None
    if _TESTING.search(path):
        return 0
    if _OPTIONAL.search(path):
        return OPTIONAL_RANK
    return 1 if _DEVELOPING.search(path) else 2


def _rank(path: str) -> int | None:
    """Files at the root, in a folder of requirement files, or in the tests folder itself."""
    folder, name = dirname(path), basename(path)
    in_folder = bool(_FOLDER.fullmatch(folder)) and name.endswith((".txt", ".in", ".pip"))
    at_home = folder.count("/") == 0 and folder in {"", "tests", "test", "ci", ".ci", "dev", "requirements"}
    if not in_folder and not (at_home and _CANDIDATE.fullmatch(name)):
        return None
    return rank_name(path)
