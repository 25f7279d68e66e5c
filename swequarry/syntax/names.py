"""Names that a Python source asks of others, names that it defines, and texts as people compare them."""

import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from swequarry.syntax.grammars import text

REACHING = ("attribute", "keyword_argument", "call", "import_from_statement")
"""The nodes through which a source reaches a name of somebody else's."""
DEFINING = ("function_definition", "class_definition", "assignment")
_FIELDS = {
    "attribute": "attribute",
    "keyword_argument": "name",
    "call": "function",
    "import_from_statement": "name",
}
_PLAIN = frozenset({"identifier", "dotted_name"})
_PLACEHOLDER = re.compile(rb"[{}%\\^$*+|]|\bs\b")
_FEW_BLANKS = 2


def reached(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield the names that some nodes import, reach as attributes, call or pass as keywords."""
    for node in nodes:
        field = _FIELDS.get(node.type)
        for child in node.children_by_field_name(field) if field is not None else ():
            if child.type in _PLAIN:
                yield child


def defined(nodes: Iterable[Node]) -> Iterator[bytes]:
    """Yield what some nodes define: functions, classes and what is assigned to."""
    for node in nodes:
        if node.type in DEFINING:
            name = node.child_by_field_name("left" if node.type == "assignment" else "name")
            if name is not None:
                yield text(name)


def plain(data: bytes) -> bytes:
    """Return a text in lower case with single blanks and without quotes."""
    return b" ".join(data.lower().replace(b"`", b" ").replace(b"'", b" ").replace(b'"', b" ").split())


def sentences(literal: bytes) -> list[bytes]:
    """Return the parts of a literal between placeholders, as `plain`, that have three words or more."""
    return [
        part.strip() for part in _PLACEHOLDER.split(plain(literal)) if part.strip().count(b" ") >= _FEW_BLANKS
    ]
