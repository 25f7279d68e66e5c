"""Which values and names the tests and the statement of a task hold: where a constant may be from."""

import re
from collections.abc import Iterator
from functools import cached_property

from tree_sitter import Node

from patchreview.interface import Ground
from patchreview.literals import is_particular
from patchreview.python import is_constant
from swequarry.syntax.grammars import text, walk

_WORD = re.compile(rb"[\w.]+")
_DEFINES = re.compile(rb"^\s*(?:class|def)\s+(\w+)", re.MULTILINE)
_FILE_NAME = re.compile(rb"[\w-]{4,}\.[a-z]{2,4}")
_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|.)")
_UNUSUAL = re.compile(rb"[^A-Za-z _-]|(?:\w+ ){2}\w")
_LONG_TEXT = 12
_LARGEST_BYTES, _DEEPEST = 2000, 4
_LEAVES = frozenset({"string", "integer", "float", "true", "false", "none", "unary_operator"})
_DISPLAYS = frozenset({"list", "tuple", "set"})
_TRIVIAL = re.compile(rb"-?[0-3](?:\.0*)?|True|False|None")


class KnownValues:
    """The constants of a task's tests and statement."""

    def __init__(self, ground: Ground) -> None:
        self._tests = ground.tests
        self._statement = ground.statement.encode()

    @cached_property
    def _added(self) -> bytes:
        tests = self._tests
        lines = (line.raw for file in tests.files for line in file.added) if tests is not None else ()
        return b"\n".join(lines)

    @cached_property
    def words(self) -> frozenset[bytes]:
        """The words and numbers on lines that the tests add."""
        return frozenset(_WORD.findall(self._added))

    @cached_property
    def defined(self) -> frozenset[bytes]:
        """The classes and functions that the tests or the statement's examples define."""
        return frozenset(_DEFINES.findall(self._added)) | frozenset(_DEFINES.findall(self._statement))

    @cached_property
    def rows(self) -> frozenset[tuple[bytes, ...]]:
        """The lists, tuples and sets of constants that the tests show, as their leaves."""
        tests = self._tests
        files = tests.python if tests is not None else ()
        return frozenset(
            leaves
            for file in files
            for piece in file.new
            for node in piece.of_type(*_DISPLAYS)
            if (leaves := leaves_of(node))
        )

    def expects(self, value: Node) -> bool:
        """Whether the tests write an expression as the source does, as a whole."""
        return re.search(rb"(?:=|\()\s*" + re.escape(_tight(text(value))), self._tight) is not None

    def shows(self, display: Node) -> bool:
        """Whether the tests write a list of lists, or its like, as the source does."""
        return _tight(text(display)) in self._tight

    @cached_property
    def _plain(self) -> bytes:
        return _plain(self._added)

    @cached_property
    def _quoted(self) -> bytes:
        return self._added.replace(b"'", b'"')

    @cached_property
    def _tight(self) -> bytes:
        return _tight(self._added)

    def has(self, literal: bytes) -> bool:
        """Whether a particular text, or the name of a file, stands in the tests or the statement."""
        inner = inside(literal)
        if _is_rare(inner):
            return inner in self._added or _plain(inner) in self._plain or inner in self._statement
        return _FILE_NAME.fullmatch(inner) is not None and inner in self._added

    def has_word(self, literal: bytes) -> bool:
        """Whether a constant, of whatever kind, stands on a line that the tests add."""
        inner = inside(literal)
        return inner in self.words or (len(inner) > 1 and b'"' + inner + b'"' in self._quoted)


def inside(literal: bytes) -> bytes:
    """Return what a text in quotes holds; anything else as it is."""
    stripped = literal.lstrip(b"rRbBuU") if literal[-1:] in b"\"'" else literal
    return stripped.strip(b"\"'") if stripped[:1] in b"\"'" else literal


def _tight(code: bytes) -> bytes:
    return b"".join(code.split())


def _is_rare(inner: bytes) -> bool:
    """Whether a text is no mere keyword: `SET NULL` and an escaped character are what many programs have."""
    seen = _ESCAPE.sub(b".", inner)
    rare = _UNUSUAL.search(seen) is not None or len(seen) >= _LONG_TEXT
    return rare and is_particular(b'"' + seen + b'"')


def _plain(value: bytes) -> bytes:
    return value.replace(b"\\n", b"\n").replace(b"\\\\", b"\\")


def leaves_of(display: Node) -> tuple[bytes, ...]:
    """Return the constants of a list, tuple or set, those of lists within it too; empty if it holds others.

    One that is too large or too deep to be written by hand is data, and empty too.
    """
    if display.end_byte - display.start_byte > _LARGEST_BYTES:
        return ()
    found: list[bytes] = []
    waiting = [(node, 1) for node in reversed(display.named_children)]
    while waiting:
        node, depth = waiting.pop()
        if node.type in _DISPLAYS and depth < _DEEPEST:
            waiting.extend((child, depth + 1) for child in reversed(node.named_children))
        elif node.type in _LEAVES and is_constant(node):
            found.append(inside(text(node)))
        elif node.type != "comment":
            return ()
    return tuple(found)


def is_telling(leaves: tuple[bytes, ...]) -> bool:
    """Whether a row of constants is long enough, and of values that aren't in every program."""
    return len(leaves) > 1 and sum(_TRIVIAL.fullmatch(leaf) is None for leaf in leaves) > 1


def constants_in(node: Node) -> Iterator[bytes]:
    """Yield the texts and numbers within a node."""
    return (text(found) for found in walk(node) if found.type in {"string", "integer", "float"})
