"""Make mutants of Python source: small changes of changed lines, each of which should make a good test fail.

One table of operators over the nodes of tree-sitter, so that source of any Python version is read. What the
program doesn't run (docstrings, annotations) isn't touched. Operators and names follow the usual sets
(Offutt 1996; the sufficient operators of DeMillo and others), cut down to what differs in behaviour.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from swequarry.syntax.edits import ByteEdit, edited
from swequarry.syntax.grammars import first_line, parse, text, walk

_COMPARISONS = {
    b"<": (("comparison_boundary", b"<="), ("comparison_negated", b">=")),
    b"<=": (("comparison_boundary", b"<"), ("comparison_negated", b">")),
    b">": (("comparison_boundary", b">="), ("comparison_negated", b"<=")),
    b">=": (("comparison_boundary", b">"), ("comparison_negated", b"<")),
    b"==": (("comparison_negated", b"!="),),
    b"!=": (("comparison_negated", b"=="),),
    b"is": (("comparison_negated", b"is not"),),
    b"is not": (("comparison_negated", b"is"),),
    b"in": (("comparison_negated", b"not in"),),
    b"not in": (("comparison_negated", b"in"),),
}
_ARITHMETIC = {
    b"+": b"-",
    b"-": b"+",
    b"*": b"/",
    b"/": b"*",
    b"//": b"*",
    b"%": b"*",
    b"**": b"*",
    b"|": b"&",
    b"&": b"|",
    b"^": b"&",
    b"<<": b">>",
    b">>": b"<<",
}
_CONDITIONS = ("if_statement", "elif_clause", "while_statement", "conditional_expression", "if_clause")
_UNTOUCHED = frozenset({"type", "comment", "decorator"})
_LOGGING = frozenset({b"debug", b"info", b"warning", b"warn", b"error", b"exception", b"critical", b"log"})
_LOGGERS = (b"log", b"logger", b"logging", b"_logger", b"_log", b"LOG", b"LOGGER", b"warnings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A source with one change.

    `line` is where the change begins, counted from 1. `likely_equivalent` marks changes of texts that people
    read (log messages, words of exceptions), which few tests look at and few should.
    """

    operator: str
    line: int
    edit: ByteEdit
    data: bytes
    likely_equivalent: bool = False


def mutants(data: bytes, lines: Collection[int]) -> list[Mutant]:
    """Return every mutant of a Python source whose change lies on some lines, in the order of the source.

    Each parses where the source does. None is judged: see `mutation_equal`.
    """
    tree = parse(data)
    broken = _errors(tree.root_node)
    wanted, found, seen = frozenset(lines), [], {data}
    for node, doubtful in _reachable(tree.root_node):
        for operator, edit in _OPERATORS.get(node.type, _nothing)(node):
            if not _inside(data, node, edit, wanted):
                continue
            changed = edited(data, [edit])
            if changed in seen or _errors(parse(changed).root_node) > broken:
                continue
            seen.add(changed)
            line = first_line(node) + data.count(b"\n", node.start_byte, edit.start)
            found.append(
                Mutant(operator=operator, line=line, edit=edit, data=changed, likely_equivalent=doubtful)
            )
    return found


def _errors(root: Node) -> int:
    return sum(1 for node in walk(root) if node.is_error or node.is_missing) if root.has_error else 0


def _inside(data: bytes, node: Node, edit: ByteEdit, wanted: frozenset[int]) -> bool:
    first = first_line(node) + data.count(b"\n", node.start_byte, edit.start)
    last = first + data.count(b"\n", edit.start, max(edit.start, edit.end - 1))
    return all(line in wanted for line in range(first, last + 1))


def _reachable(root: Node) -> Iterator[tuple[Node, bool]]:
    """Yield the nodes that may be changed, each with whether it is part of a text for people."""
    waiting = [(root, False)]
    while waiting:
        node, doubtful = waiting.pop()
        if node.type in _UNTOUCHED or _is_lone_string(node):
            continue
        doubtful = doubtful or _is_told_to_people(node)
        yield node, doubtful
        waiting.extend((child, doubtful) for child in reversed(node.children))


def _is_lone_string(node: Node) -> bool:
    """Whether a statement is a docstring, or another text that does nothing."""
    return node.type == "expression_statement" and [c.type for c in node.children] in (
        ["string"],
        ["concatenated_string"],
    )


def _is_told_to_people(node: Node) -> bool:
    if node.type == "string":
        above = node.parent
        while above is not None and not above.type.endswith("statement"):
            above = above.parent
        return above is not None and above.type == "raise_statement"
    if node.type == "expression_statement" and node.children[0].type == "call":
        return _is_told_to_people(node.children[0])
    if node.type != "call":
        return False
    function = node.child_by_field_name("function")
    if function is None or function.type != "attribute":
        return False
    owner, name = function.child_by_field_name("object"), function.child_by_field_name("attribute")
    said = text(owner).rpartition(b".")[2] if owner is not None else b""
    return name is not None and text(name) in _LOGGING and said in _LOGGERS


# --- operators: what a node of a type may become ------------------------------------------------------

Change = tuple[str, ByteEdit]


def _nothing(_node: Node) -> Iterator[Change]:
    return iter(())


def _replace(node: Node, new: bytes) -> ByteEdit:
    return ByteEdit(node.start_byte, node.end_byte, new)


def _comparison(node: Node) -> Iterator[Change]:
    for word in node.children_by_field_name("operators"):
        for operator, new in _COMPARISONS.get(text(word), ()):
            yield operator, _replace(word, new)


def _arithmetic(node: Node) -> Iterator[Change]:
    word = node.child_by_field_name("operator")
    if word is None:
        return
    sign = text(word)
    strings = any(child.type in {"string", "concatenated_string"} for child in node.children)
    if sign.endswith(b"=") and (new := _ARITHMETIC.get(sign[:-1])) is not None:
        yield "arithmetic", _replace(word, new + b"=")
    elif not strings and (new := _ARITHMETIC.get(sign)) is not None:
        yield "arithmetic", _replace(word, new)
    elif strings and sign == b"+":  # `-` of strings fails anywhere; one half alone says more
        left = node.child_by_field_name("left")
        if left is not None:
            yield "string", _replace(node, text(left))


def _boolean(node: Node) -> Iterator[Change]:
    word = node.child_by_field_name("operator")
    if word is not None:
        yield "connective", _replace(word, b"or" if text(word) == b"and" else b"and")


def _negation(node: Node) -> Iterator[Change]:
    argument = node.child_by_field_name("argument")
    if argument is not None:
        yield "condition_negated", _replace(node, text(argument))


def _condition(node: Node) -> Iterator[Change]:
    """Negate the condition of an `if`, `elif`, `while` or conditional expression."""
    condition = node.child_by_field_name("condition")
    if condition is None and node.type in {"conditional_expression", "if_clause"}:
        after = [child for child in node.children if child.is_named]
        place = 1 if node.type == "conditional_expression" else 0
        condition = after[place] if len(after) > place else None
    simple = {"comparison_operator", "not_operator", "named_expression"}
    if condition is not None and condition.type not in simple:
        yield "condition_negated", _replace(condition, b"not (" + text(condition) + b")")


def _number(node: Node) -> Iterator[Change]:
    try:
        value = int(text(node), 0)
    except ValueError:
        yield "constant", _replace(node, b"(" + text(node) + b" + 1)")
        return
    off = "slice" if node.parent is not None and node.parent.type in {"slice", "subscript"} else "constant"
    yield off, _replace(node, str(value + 1).encode())


def _truth(node: Node) -> Iterator[Change]:
    yield "constant", _replace(node, b"False" if text(node) == b"True" else b"True")


def _string(node: Node) -> Iterator[Change]:
    parts = [child for child in node.children if child.type == "string_content"]
    if parts:
        yield "string", ByteEdit(parts[0].start_byte, parts[0].start_byte, b"XX")
    elif len(node.children) == 2 and not text(node.children[0]).lower().startswith((b"b", b"f")):  # noqa: PLR2004
        yield "string", ByteEdit(node.children[1].start_byte, node.children[1].start_byte, b"XX")


def _return(node: Node) -> Iterator[Change]:
    value = node.named_children[0] if node.named_children else None
    if value is not None and text(value) != b"None":
        yield "return", _replace(value, b"None")


def _removed(node: Node) -> Iterator[Change]:
    """Take out a statement that does something by itself: a call, or an assignment to a part of an object."""
    inner = node.named_children[0] if node.named_children else None
    if node.type == "raise_statement":
        yield "raise_removed", _replace(node, b"pass")
    elif inner is None:
        return
    elif inner.type in {"call", "await", "yield"}:
        yield "call_removed", _replace(node, b"pass")
    elif inner.type in {"assignment", "augmented_assignment"}:
        left = inner.child_by_field_name("left")
        if left is not None and left.type in {"attribute", "subscript"}:
            yield "assignment_removed", _replace(node, b"pass")


def _arguments(node: Node) -> Iterator[Change]:
    """Leave out an argument that has a default for sure or may have one: one by keyword, the last of several.

    Without its only argument hardly any call works, which says nothing about tests.
    """
    given = [child for child in node.named_children if child.type != "comment"]
    if node.parent is None or node.parent.type != "call":
        return
    for place, argument in enumerate(given):
        last = place + 1 == len(given)
        if argument.type != "keyword_argument" and not (last and place):
            continue
        start = given[place - 1].end_byte if last and place else argument.start_byte
        end = argument.end_byte if last else given[place + 1].start_byte
        yield "argument_removed", ByteEdit(start, end, b"")


def _slice(node: Node) -> Iterator[Change]:
    """Move a bound of a slice that isn't a plain number by one."""
    for bound in node.named_children:
        if bound.type not in {"integer", "comment", "unary_operator", "none"}:
            yield "slice", _replace(bound, b"(" + text(bound) + b") + 1")


def _jump(node: Node) -> Iterator[Change]:
    yield "jump", _replace(node, b"break" if node.type == "continue_statement" else b"continue")


def _unary(node: Node) -> Iterator[Change]:
    argument = node.child_by_field_name("argument")
    if argument is not None and text(node).startswith(b"-"):
        yield "arithmetic", _replace(node, text(argument))


_OPERATORS: Mapping[str, Callable[[Node], Iterator[Change]]] = {
    "comparison_operator": _comparison,
    "binary_operator": _arithmetic,
    "augmented_assignment": _arithmetic,
    "boolean_operator": _boolean,
    "not_operator": _negation,
    **dict.fromkeys(_CONDITIONS, _condition),
    "integer": _number,
    "float": _number,
    "true": _truth,
    "false": _truth,
    "string": _string,
    "return_statement": _return,
    "expression_statement": _removed,
    "raise_statement": _removed,
    "argument_list": _arguments,
    "slice": _slice,
    "break_statement": _jump,
    "continue_statement": _jump,
    "unary_operator": _unary,
}
