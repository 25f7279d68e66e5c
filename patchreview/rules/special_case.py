"""Inputs that are told apart by value, each with its answer."""

from collections.abc import Iterable, Iterator

from tree_sitter import Node

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.literals import is_particular
from patchreview.pieces import Piece
from patchreview.python import body_of, is_constant
from swequarry.syntax.grammars import text

_CODE = "special-case"
_MANY = 2


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.python:
        if file.is_source:
            yield from _of_file(file, case)


def _of_file(file: FileDiff, case: Case) -> Iterator[Finding]:
    for piece in file.new:
        found = [node for node in piece.nodes if _answers_by_value(piece, node)]
        particular = [node for node in found if any(map(is_particular, _constants(node)))]
        for node in found:
            line = piece.lines[node.start_point.row]
            if case.is_known(line):
                continue
            sure = len(particular) >= _MANY and node in particular
            said = (
                "some inputs are told apart by value, each with its answer"
                if sure
                else "an input has its own answer"
            )
            severity = Severity.BLOCK if sure else Severity.NOTE
            yield at(_CODE, severity, file, said, piece.line_of(node), line)


def _answers_by_value(piece: Piece, node: Node) -> bool:
    """Whether a node is `if X == CONSTANT: return CONSTANT`."""
    if node.type not in {"if_statement", "elif_clause"} or not piece.begins_changed(node):
        return False
    condition = node.child_by_field_name("condition")
    if condition is None or condition.type != "comparison_operator" or b"==" not in text(condition):
        return False
    constants = [side for side in condition.named_children if is_constant(side)]
    consequence = node.child_by_field_name("consequence")
    body = (
        body_of(node)
        if consequence is None
        else [n for n in consequence.named_children if n.type != "comment"]
    )
    if not constants or len(body) != 1 or body[0].type != "return_statement":
        return False
    return bool(body[0].named_children) and is_constant(body[0].named_children[0])


def _constants(node: Node) -> Iterator[bytes]:
    condition, consequence = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
    for side in condition.named_children if condition is not None else ():
        if is_constant(side):
            yield text(side)
    for statement in consequence.named_children if consequence is not None else ():
        yield from (text(child) for child in statement.named_children if is_constant(child))


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="inputs told apart by value, each with its own answer",
    check=_check,
)
