"""Conditions that hold for the very inputs of the tests or of the statement's example."""

import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.known_values import KnownValues, constants_in, inside, is_telling, leaves_of
from patchreview.python import is_constant
from swequarry.syntax.grammars import text, walk

_CODE = "test-input"
_DISPLAYS = frozenset({"list", "tuple", "set"})
_OF_TYPE = re.compile(rb"__name__|__qualname__|__class__")
_OF_TEXT = frozenset({b"startswith", b"endswith", b"count", b"find"})
_FEWEST_TOGETHER = 3
_CODE_NAME = re.compile(rb"(?=\w*\d)(?=\w*[A-Za-z])\w{3,}")


def _check(case: Case) -> Iterable[Finding]:
    if case.ground.tests is None and not case.ground.statement:
        return
    known = KnownValues(case.ground)
    for file in case.diff.python:
        if file.is_source:
            yield from _of_file(file, case, known)


def _of_file(file: FileDiff, case: Case, known: KnownValues) -> Iterator[Finding]:
    removed = {line.raw.strip() for line in file.removed}
    for piece in file.new:
        seen: set[int] = set()
        for node in piece.of_type(
            "comparison_operator", "call", "boolean_operator", "return_statement", *_DISPLAYS
        ):
            line = piece.lines[node.start_point.row]
            number = piece.line_of(node)
            if number in seen or not piece.begins_changed(node) or line.strip() in removed:
                continue
            said = "" if case.is_known(line) else _why(node, known)
            if said:
                seen.add(number)
                yield at(_CODE, Severity.BLOCK, file, said, number, line)


def _why(node: Node, known: KnownValues) -> str:
    if node.type == "comparison_operator":
        return _compares(node, known)
    if node.type == "call":
        return _asks_text(node, known)
    if node.type in _DISPLAYS:
        return _is_row(node, known)
    if node.type == "return_statement":
        return _returns_expected(node, known)
    return _compares_many(node, known)


def _compares(node: Node, known: KnownValues) -> str:
    sides = node.named_children
    of_type = _OF_TYPE.search(b" ".join(text(side) for side in sides if not is_constant(side))) is not None
    equal = any(child.type in {"==", "!="} for child in node.children)
    for side in sides:
        leaves = _leaves(side)
        if any(known.has(b'"' + leaf + b'"') for leaf in leaves):
            return "an input of the tests or the statement is told apart by its value"
        if of_type and known.defined.intersection(leaves):
            return "a class of the tests or the statement is told apart by its name"
        if side.type in _DISPLAYS and _is_list_of_tests(leaves, known, equal=equal):
            return "a list of the tests is told apart by its values"
        if equal and side.type == "dictionary" and _pairs_known(side, known):
            return "a mapping of the tests is told apart by its values"
    return ""


def _leaves(side: Node) -> tuple[bytes, ...]:
    """Return the constants of one side of a comparison: a text, or what a list holds."""
    if side.type == "string" and is_constant(side):
        return (inside(text(side)),)
    return leaves_of(side) if side.type in _DISPLAYS else ()


def _is_list_of_tests(leaves: tuple[bytes, ...], known: KnownValues, *, equal: bool) -> bool:
    names = all(map(_CODE_NAME.fullmatch, leaves))
    return len(leaves) > 1 and (equal or names) and _all_known(leaves, known)


def _all_known(leaves: tuple[bytes, ...], known: KnownValues) -> bool:
    return all(known.has_word(leaf) for leaf in leaves)


def _pairs_known(node: Node, known: KnownValues) -> bool:
    found = [inside(text(child)) for child in walk(node) if child.type in {"string", "integer", "float"}]
    return len(found) > 1 and _all_known(tuple(found), known)


def _asks_text(node: Node, known: KnownValues) -> str:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None or function.type != "attribute":
        return ""
    if text(function).rpartition(b".")[2] not in _OF_TEXT:
        return ""
    for child in walk(arguments):
        if child.type == "string" and is_constant(child) and known.has(text(child)):
            return "an input of the tests or the statement is told apart by its text"
    return ""


def _is_row(node: Node, known: KnownValues) -> str:
    leaves = leaves_of(node)
    nested = leaves and any(child.type in _DISPLAYS for child in node.named_children)
    if nested and len(leaves) > 1 and known.shows(node):
        return "a row of values of the tests stands in the source"
    numbers = any(leaf[:1].isdigit() or leaf[:1] == b"-" for leaf in leaves)
    if not is_telling(leaves) or not numbers:
        return ""
    return "a row of values of the tests stands in the source" if leaves in known.rows else ""


def _returns_expected(node: Node, known: KnownValues) -> str:
    """`return Money(2)`, where the tests say `expected = Money(2)`."""
    value = node.named_children[0] if node.named_children else None
    arguments = value.child_by_field_name("arguments") if value is not None and value.type == "call" else None
    if value is None or arguments is None or not arguments.named_children:
        return ""
    constant = all(_is_constant_argument(argument) for argument in arguments.named_children)
    constant = constant and any(True for _ in constants_in(arguments))
    return "what the tests expect is returned as they write it" if constant and known.expects(value) else ""


def _is_constant_argument(node: Node) -> bool:
    value = node.child_by_field_name("value") if node.type == "keyword_argument" else node
    return is_constant(value) or (value is not None and value.type in _DISPLAYS and bool(leaves_of(value)))


def _compares_many(node: Node, known: KnownValues) -> str:
    """`a == 90 and b == 180 and c == 0.001`: each may be right, all of them are one call of the tests."""
    parent = node.parent
    if parent is not None and parent.type == "boolean_operator":
        return ""
    constants: list[bytes] = []
    for inner in walk(node):
        if inner.type == "comparison_operator" and any(child.type == "==" for child in inner.children):
            constants += [text(side) for side in inner.named_children if is_constant(side)]
    told = [one for one in constants if known.has_word(one)]
    together = len(told) >= _FEWEST_TOGETHER and len(told) == len(constants)
    return "a call of the tests is told apart by its arguments" if together else ""


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="conditions on the very inputs of the tests or of the statement, and rows of the tests' values",
    check=_check,
)
