"""Values that tests hold: which of them are so particular that source can hardly have them by chance."""

import re
from collections.abc import Iterator

from patchreview.diff import Diff
from patchreview.pieces import Piece
from swequarry.syntax.grammars import text

_SHORTEST_TEXT, _SHORTEST_NUMBER = 5, 4
_WORD = re.compile(rb"[A-Za-z_][\w.-]*")
_COMMON_NUMBER = re.compile(
    rb"-?[1-9]?0*(?:\.0+)?|-?(?:\d|1[0-9]|2[0-9]|3[0-2])|(?:19|20)\d\d|-?\d?\.\d|1e[+-]?\d+|2(?:55|56)|65536|1024|4096|-?180(?:\.0)?|-?360(?:\.0)?|-?90(?:\.0)?"
)


def is_particular(literal: bytes) -> bool:
    """Whether a literal's text is one that two people don't write by chance.

    Single words and round or small numbers are what every program has.
    """
    if literal[:1] in b"\"'":
        inner = literal.strip(b"\"'")
        return len(inner) >= _SHORTEST_TEXT and _WORD.fullmatch(inner) is None and not inner.isspace()
    return len(literal) >= _SHORTEST_NUMBER and _COMMON_NUMBER.fullmatch(literal) is None


def literals(piece: Piece) -> Iterator[tuple[int, bytes]]:
    """Yield (line, literal) for the texts and numbers on changed lines; texts without their quotes' kind."""
    for node in piece.of_type("string", "integer", "float"):
        if not piece.begins_changed(node):
            continue
        literal = text(node)
        if node.type == "string":
            if any(child.type == "interpolation" for child in node.named_children):
                continue
            inside = b"".join(text(child) for child in node.named_children if child.type == "string_content")
            literal = b'"' + inside + b'"'
        yield piece.line_of(node), literal


def wanted_by(tests: Diff) -> frozenset[bytes]:
    """Return the literals on lines that a test patch adds, but for those of one character."""
    return frozenset(
        literal
        for file in tests.python
        for piece in file.new
        for _, literal in literals(piece)
        if len(literal.strip(b'"')) > 1
    )
