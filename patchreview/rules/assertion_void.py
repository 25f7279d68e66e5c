"""Assertions that can't fail."""

import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.python import assertions, body_of, handled
from swequarry.syntax.grammars import text

_CODE = "assertion-void"
_CATCHES_ASSERTION = re.compile(rb"\bAssertionError\b|\bBaseException\b")
_OF_CALLS = re.compile(rb"self\.assertTrue\((?:True|1)\)|self\.assertFalse\((?:False|0|None)\)")


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.python:
        if file.is_test:
            yield from _void(file)


def _void(file: FileDiff) -> Iterator[Finding]:
    for piece in file.new:
        for node in piece.nodes:
            said = _why(node)
            if said and piece.begins_changed(node):
                line = piece.lines[node.start_point.row]
                yield at(_CODE, Severity.BLOCK, file, said, piece.line_of(node), line)


def _why(node: Node) -> str:
    if node.type == "assert_statement" and node.named_children:
        return _never_fails(node.named_children[0])
    if node.type == "if_statement":
        return _never_runs(node)
    if node.type == "call" and _OF_CALLS.fullmatch(text(node)):
        return "this can't fail"
    if node.type == "try_statement" and assertions(node):
        for clause in node.named_children:
            caught = clause.type == "except_clause" and (
                _CATCHES_ASSERTION.search(handled(clause)) or not handled(clause)
            )
            if caught and all(
                inner.type in {"pass_statement", "continue_statement"} for inner in body_of(clause)
            ):
                return "the failure of an assertion is caught and dropped"
    return ""


def _never_runs(node: Node) -> str:
    """Why a condition of tests never holds: `False and ...` turns off what stood there."""
    condition = node.child_by_field_name("condition")
    if condition is None or condition.type != "boolean_operator":
        return ""
    sides = [condition.child_by_field_name(name) for name in ("left", "right")]
    operator = condition.child_by_field_name("operator")
    off = any(side is not None and (side.type == "false" or text(side) == b"0") for side in sides)
    return "a condition that never holds" if off and operator is not None and operator.type == "and" else ""


def _never_fails(condition: Node) -> str:
    while condition.type == "parenthesized_expression" and condition.named_children:
        condition = condition.named_children[0]
    if condition.type == "true" or (condition.type == "integer" and text(condition) != b"0"):
        return "this can't fail"
    if condition.type == "tuple" and condition.named_children:
        return "a tuple is always true"
    if condition.type == "boolean_operator":
        sides = [condition.child_by_field_name(name) for name in ("left", "right")]
        operator = condition.child_by_field_name("operator")
        if (
            operator is not None
            and operator.type == "or"
            and any(s is not None and s.type == "true" for s in sides)
        ):
            return "`or True` can't fail"
    if condition.type == "comparison_operator" and len(condition.named_children) == 2:  # noqa: PLR2004
        left, right = condition.named_children
        plain = left.type in {"identifier", "integer", "string", "attribute", "true", "none"}
        if plain and text(left) == text(right) and b"==" in text(condition):
            return "a value is compared with itself"
    return ""


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="assertions in tests that can't fail, or whose failure is caught",
    check=_check,
)
