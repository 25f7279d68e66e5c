"""Questions about Python trees that several rules ask."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from patchreview.pieces import Piece
from swequarry.syntax.grammars import text, walk

_ASSERTING = re.compile(
    rb"(?:self|cls)\.(?:assert\w+|fail\w*)|(?:\w+\.)*(?:assert_\w+|raises|warns|deprecated_call)|(?:\w+\.)*testing\.\w+"
)
_CONSTANTS = frozenset({"integer", "float", "string", "true", "false", "none", "ellipsis"})
_EMPTY = frozenset({"list", "dictionary", "tuple", "set"})


def name_of(function: Node) -> bytes:
    """Return the name of a function or class."""
    name = function.child_by_field_name("name")
    return text(name) if name is not None else b""


def test_functions(piece: Piece) -> Iterator[Node]:
    """Yield the test functions in which a line is changed."""
    return (node for node in piece.of_type("function_definition") if name_of(node).startswith(b"test"))


def statements(function: Node) -> list[Node]:
    """Return the statements of a function's body, without comments and docstring."""
    body = function.child_by_field_name("body")
    if body is None:
        return []
    found = [node for node in body.named_children if node.type != "comment"]
    return found[1:] if found and is_docstring(found[0]) else found


def is_docstring(statement: Node) -> bool:
    """Whether a statement is nothing but a text."""
    return statement.type == "expression_statement" and [c.type for c in statement.named_children] == [
        "string"
    ]


def is_constant(node: Node | None) -> bool:
    """Whether an expression is a literal, a negative number, or an empty collection."""
    if node is None:
        return False
    if node.type == "string":
        return not any(child.type == "interpolation" for child in node.named_children)
    if node.type == "unary_operator":
        return is_constant(node.child_by_field_name("argument"))
    return node.type in _CONSTANTS or (node.type in _EMPTY and not node.named_children)


def is_assertion(node: Node) -> bool:
    """Whether a node is an assert statement or a call that asserts."""
    if node.type == "assert_statement":
        return True
    function = node.child_by_field_name("function") if node.type == "call" else None
    return function is not None and _ASSERTING.fullmatch(text(function)) is not None


def assertions(node: Node) -> list[Node]:
    """Return the assertions within a node."""
    return [found for found in walk(node) if is_assertion(found)]


def handled(clause: Node) -> bytes:
    """Return what an `except` clause catches as it's written, empty for a bare one."""
    caught = [child for child in clause.named_children if child.type not in {"block", "comment"}]
    return b", ".join(map(text, caught))


def body_of(clause: Node) -> list[Node]:
    """Return the statements of a clause (`except`, `else`, `finally`), without comments."""
    block = next((child for child in clause.named_children if child.type == "block"), None)
    return [node for node in block.named_children if node.type != "comment"] if block is not None else []
