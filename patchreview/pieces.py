"""Pieces of source: what a patch shows of one side of a file, parsed where there is a grammar.

Where only the patch is at hand, each hunk is a piece; where the files are, a file is one piece and its
changed lines are marked. Rows count from 0 within a piece, lines from 1 within the file. Everything is bytes:
tree-sitter's offsets are offsets of bytes, and a decoded text would move them.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

from swequarry.errors import UsageError
from swequarry.syntax.grammars import parse

LARGEST_BYTES = 1 << 19
LONGEST_LINE = 2000
"""Of longer lines only the beginning is looked at: they are data, and no expression may take its time."""

_NOT_LF = re.compile(rb"[^\n]")
_LONG_QUOTES = (b'"""', b"'''")
_CODE_LINE = re.compile(
    rb"^(?:import|from|return|def|class|if|elif|for|while|with|assert|raise|try|except|yield|async|await|del|pass)\b"
    rb"|^[@#)\]}]|[\w\])] ?[-+*/|&%]?= ?\S|[(\[{,:]$|\w\(.*\)[:,]?$|^[\w.]+,$|^[\"'].*[\"'],?$"
)
_LANGUAGES = {
    b"py": "python",
    b"pyi": "python",
    b"js": "javascript",
    b"mjs": "javascript",
    b"jsx": "javascript",
    b"ts": "typescript",
    b"go": "go",
    b"rs": "rust",
    b"java": "java",
    b"rb": "ruby",
    b"c": "c",
    b"h": "c",
    b"cpp": "cpp",
}


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A changed line: `raw` as it stands, `code` without comments, `bare` without texts in quotes too."""

    number: int
    raw: bytes
    code: bytes
    bare: bytes


def language_of(path: bytes) -> str:
    """Return the name of the grammar that a file of this name wants, empty where none is known."""
    return _LANGUAGES.get(path.rpartition(b".")[2].lower(), "")


def _is_prose(head: bytes) -> bool:
    """Whether more of the lines read like sentences than like Python."""
    lines = [line.strip() for line in head.split(b"\n") if line.strip()]
    code = sum(_CODE_LINE.search(line) is not None for line in lines)
    return 2 * code < len(lines)


class Piece:
    """A run of lines of one side of a file, some of which the patch touches."""

    def __init__(self, lines: Sequence[bytes], first: int, touched: Sequence[int], language: str) -> None:
        self.lines = [line[:LONGEST_LINE] for line in lines]
        self.first = first
        self.touched = sorted(touched)
        self.language = language

    @cached_property
    def source(self) -> bytes:
        """The lines, each with an LF."""
        return b"".join(line + b"\n" for line in self.lines)

    @cached_property
    def _parsed(self) -> bytes:
        """The source as it is parsed: a hunk may begin within a long text, of which it has only the end."""
        source = self.source
        first = min((q for q in _LONG_QUOTES if q in source), key=source.index, default=b"")
        within = first and self.language == "python" and source.count(first) % 2
        return first + source if within and _is_prose(source[: source.index(first)]) else source

    @cached_property
    def root(self) -> Node | None:
        """The tree, None where there is no grammar or the piece is too large to be written by hand."""
        if not self.language or len(self.source) > LARGEST_BYTES:
            return None
        try:
            return parse(self._parsed, self.language).root_node
        except UsageError:
            return None

    def line_of(self, node: Node) -> int:
        """Return the line of the file on which a node begins."""
        return self.first + node.start_point.row

    def touches(self, node: Node) -> bool:
        """Whether a changed line lies within a node."""
        place = bisect_left(self.touched, node.start_point.row)
        return place < len(self.touched) and self.touched[place] <= node.end_point.row

    def begins_changed(self, node: Node) -> bool:
        """Whether the line on which a node begins is a changed one."""
        place = bisect_left(self.touched, node.start_point.row)
        return place < len(self.touched) and self.touched[place] == node.start_point.row

    def wholly_changed(self, node: Node) -> bool:
        """Whether each line of a node is a changed one."""
        first, last = node.start_point.row, node.end_point.row
        place = bisect_left(self.touched, first)
        return self.touched[place : place + last - first + 1] == list(range(first, last + 1))

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that hold changed lines, parents first."""
        return tuple(self._nodes())

    def _nodes(self) -> Iterator[Node]:
        waiting = [self.root] if self.root is not None else []
        while waiting:
            node = waiting.pop()
            if self.touches(node):
                yield node
                waiting.extend(reversed(node.children))

    def of_type(self, *types: str) -> Iterator[Node]:
        """Yield the nodes of some types that hold changed lines."""
        return (node for node in self.nodes if node.type in types)

    @cached_property
    def changed(self) -> tuple[CodeLine, ...]:
        """The changed lines, with comments and texts told apart where there is a tree."""
        code = self._without("comment")
        bare = self._without("comment", "string_content")
        return tuple(
            CodeLine(self.first + row, self.lines[row], code[row], bare[row]) for row in self.touched
        )

    def _without(self, *types: str) -> Sequence[bytes]:
        """Return the lines with the nodes of some types blanked out."""
        spans = [(node.start_byte, node.end_byte) for node in self.of_type(*types)]
        if not spans:
            return self.lines
        data = bytearray(self._parsed)
        for start, end in spans:
            data[start:end] = _NOT_LF.sub(b" ", data[start:end])
        return bytes(data).split(b"\n")
