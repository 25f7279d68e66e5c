"""What of a repository a question shows: the code that the statement is about, in few characters.

A model knows only what it is shown, and a small one reads little. Chosen are files that the statement names
and definitions of names that it uses like code; nothing here looks at the fix unless the caller may.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from tree_sitter import Node

from swequarry.git.testpaths import PathRole, classify_path, is_test_module
from swequarry.syntax.grammars import first_line, last_line, parse, text, walk
from testwriter.interface import Subject

_MOST_FILES_READ = 200
_LARGEST_FILE = 300_000
_MOST_LINES = 60
_EXAMPLE_LINES = 40
_WORD = re.compile(r"[A-Za-z_]\w+")
_CODE_LIKE = re.compile(r"[A-Za-z]\w*_\w+|_\w{2,}|[A-Z][a-z]+[A-Z]\w*|(?<=`)[A-Za-z_]\w+|\w+(?=\()")
_DEFINITIONS = frozenset({"function_definition", "class_definition"})

Excerpt = tuple[str, str]
"""A path and a part of that file."""


@dataclass(frozen=True, slots=True)
class _Definition:
    """A function or class: its dotted name in the file, its first and last line with decorators."""

    name: str
    first: int
    last: int
    is_class: bool


def excerpts(subject: Subject, limit_chars: int) -> tuple[Excerpt, ...]:
    """Return code of the base that a subject's statement is about, the most telling first."""
    said = f"{subject.title}\n{subject.statement}"
    wanted = frozenset(_CODE_LIKE.findall(said))
    words = frozenset(_WORD.findall(said))
    found: list[tuple[int, Excerpt]] = []
    for path, score in _files(subject, said, words):
        data = subject.read(path) or b""
        if len(data) > _LARGEST_FILE:
            continue
        for definition in _definitions(data):
            own = definition.name.rpartition(".")[2]
            worth = 3 * (own in wanted) + (own in words and len(own) > 3)  # noqa: PLR2004 - short words are prose
            if worth and (score or own in wanted):
                found.append((score + worth, (path, _lines(data, definition))))
    found.sort(key=lambda pair: -pair[0])
    return _within([excerpt for _, excerpt in found], limit_chars)


def around(path: str, data: bytes, line: int) -> Excerpt:
    """Return the innermost function or class of a file around a line, or some lines around it."""
    fitting = [one for one in _definitions(data) if one.first <= line <= one.last]
    if fitting:
        return path, _lines(data, max(fitting, key=lambda one: (one.first, not one.is_class)))
    lines = data.decode("utf-8", "replace").splitlines()
    return path, "\n".join(lines[max(0, line - 10) : line + 10])


def example_test(subject: Subject, tests: Sequence[tuple[str, str]], about: str) -> str:
    """Return the imports and one test of the test file that is most about a module of that stem."""
    files = list(tests) or list(_base_tests(subject, about))
    if not files:
        return ""
    _, source = max(files, key=lambda pair: (about in pair[0], source_mentions(pair[1], about)))
    data = source.encode("utf-8", "replace")
    root = parse(data).root_node
    kept = [text(node) for node in root.children if node.type.startswith(("import", "future_import"))]
    kept += [text(node) for node in root.children if node.type in {"decorated_definition", *_DEFINITIONS}][:1]
    joined = b"\n".join(kept).decode("utf-8", "replace").splitlines()
    return "\n".join(joined[:_EXAMPLE_LINES])


def source_mentions(source: str, word: str) -> int:
    """Count how often a text has a word."""
    return len(re.findall(rb"\b" + re.escape(word.encode()) + rb"\b", source.encode("utf-8", "replace")))


def _base_tests(subject: Subject, about: str) -> Iterator[tuple[str, str]]:
    fitting = [p for p in subject.paths if about and about in p and is_test_module(p.encode())]
    for path in sorted(fitting, key=len)[:3]:
        data = subject.read(path)
        if data is not None and len(data) <= _LARGEST_FILE:
            yield path, data.decode("utf-8", "replace")


def _files(subject: Subject, said: str, words: frozenset[str]) -> list[tuple[str, int]]:
    """Return source files, those that a statement names first, each with how plainly it does."""
    found = []
    for path in subject.paths:
        if not path.endswith(".py") or classify_path(path.encode()) is not PathRole.SOURCE:
            continue
        plain = PurePosixPath(path)
        stem = plain.parent.name if plain.name == "__init__.py" else plain.stem
        dotted = ".".join(plain.with_suffix("").parts[-2:])
        score = 6 * (path in said) + 4 * (dotted in said) + 2 * (stem in words)
        found.append((path, score))
    found.sort(key=lambda pair: (-pair[1], len(pair[0]), pair[0]))
    return found[:_MOST_FILES_READ]


def _definitions(data: bytes) -> Iterator[_Definition]:
    waiting: list[tuple[Node, str]] = [(parse(data).root_node, "")]
    while waiting:
        node, within = waiting.pop()
        inner = within
        if node.type in _DEFINITIONS and (name := node.child_by_field_name("name")) is not None:
            inner = f"{within}.{text(name).decode('utf-8', 'replace')}".lstrip(".")
            outer = node.parent
            whole = outer if outer is not None and outer.type == "decorated_definition" else node
            yield _Definition(inner, first_line(whole), last_line(whole), node.type == "class_definition")
        waiting.extend((child, inner) for child in reversed(node.children))


def _lines(data: bytes, definition: _Definition) -> str:
    """Return the source of a definition, its middle left out where it is long; classes are long sooner."""
    lines = data.decode("utf-8", "replace").split("\n")[definition.first - 1 : definition.last]
    most = _MOST_LINES // 2 if definition.is_class else _MOST_LINES
    if len(lines) > most:
        lines = [*lines[: most - 5], "    ...", *lines[-5:]]
    return "\n".join(lines)


def _within(found: list[Excerpt], limit_chars: int) -> tuple[Excerpt, ...]:
    kept: list[Excerpt] = []
    left = limit_chars
    for path, source in found:
        if any(source in other for where, other in kept if where == path):
            continue
        if len(source) <= left:
            kept.append((path, source))
            left -= len(source)
    return tuple(kept)


def defined_tests(source: str) -> list[Node]:
    """Return the test functions of a file, those in classes too, in its order."""
    return [
        node
        for node in walk(parse(source.encode()).root_node)
        if node.type == "function_definition"
        and (name := node.child_by_field_name("name")) is not None
        and text(name).startswith(b"test")
    ]
