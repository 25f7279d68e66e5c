"""Values of the hidden tests that stand in source."""

from collections.abc import Iterable, Iterator
from itertools import chain

from tree_sitter import Node

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.literals import is_particular, literals, wanted_by
from patchreview.pieces import Piece
from swequarry.syntax.grammars import text, walk

_CODE = "test-literal"
_DECIDES = frozenset({"return_statement", "comparison_operator", "pair", "case_clause", "lambda"})
_RETURNS = frozenset({"return_statement"})
_LEAVES = frozenset({"string", "integer", "float"})
_PLAIN = frozenset({"parenthesized_expression", "unary_operator", "tuple", "list", "expression_list"})


def _check(case: Case) -> Iterable[Finding]:
    if case.ground.tests is None:
        return
    wanted = wanted_by(case.ground.tests)
    statement = case.ground.statement.encode()
    for file in case.diff.python:
        if file.is_source:
            yield from _of_file(file, case, wanted, statement)


def _of_file(file: FileDiff, case: Case, wanted: frozenset[bytes], statement: bytes) -> Iterator[Finding]:
    removed = {literal for piece in file.old for _, literal in literals(piece)}
    for piece in file.new:
        deciding, returned = _lines_that_decide(piece, _DECIDES), _lines_that_decide(piece, _RETURNS)
        returned |= _lines_of_tables(piece, wanted)
        for line, literal in literals(piece):
            particular = is_particular(literal)
            if literal not in wanted or literal in removed or not (particular or line in returned):
                continue
            raw = piece.lines[line - piece.first]
            if literal.strip(b'"') in statement or case.is_known(raw):
                continue
            sure = line in deciding or line in returned
            said = (
                "a value of the hidden tests decides in the source" if sure else "a value of the hidden tests"
            )
            yield at(_CODE, Severity.BLOCK if sure else Severity.WARN, file, said, line, raw)


def _lines_that_decide(piece: Piece, types: frozenset[str]) -> set[int]:
    """Return the lines of literals that are returned or compared as they stand, or are in a table."""
    found: set[int] = set()
    waiting = [child for node in piece.of_type(*types) for child in node.named_children]
    while waiting:
        node = waiting.pop()
        if node.type in {"string", "integer", "float"}:
            found.add(piece.line_of(node))
        elif node.type in _PLAIN:
            waiting.extend(node.named_children)
    return found


def _lines_of_tables(piece: Piece, wanted: frozenset[bytes]) -> set[int]:
    """Return the lines that give a value of the tests for another value of the tests."""
    found: set[int] = set()
    for node in piece.of_type("pair"):
        sides = [node.child_by_field_name(name) for name in ("key", "value")]
        texts = [_leaves(side) for side in sides if side is not None and _is_plain(side)]
        if len(texts) == len(sides) and all(texts) and wanted.issuperset(chain.from_iterable(texts)):
            found.add(piece.line_of(node))
    return found


def _is_plain(side: Node) -> bool:
    parts = side.named_children if side.type == "tuple" else [side]
    return all(part.type in _LEAVES for part in parts)


def _leaves(side: Node) -> list[bytes]:
    return [text(node).replace(b"'", b'"') for node in walk(side) if node.type in _LEAVES]


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="values that only the hidden tests know, in the source",
    check=_check,
)
