"""Functions that do nothing, or always answer the same."""

import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.pieces import Piece
from patchreview.python import is_constant, name_of, statements
from swequarry.syntax.grammars import text

_CODE = "stub"
_FEWEST_GONE = 3
_COMPUTED = re.compile(rb"-(\s*[\w.]+)\s*=\s*[\[{(].*\bfor\s")
_EMPTY = re.compile(rb"\+(\s*[\w.]+)\s*=\s*(?:\[\]|\{\}|\(\)|(?:list|dict|set|tuple)\(\)|\"\"|'')\s*$")


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.python:
        if file.is_source:
            yield from _of_file(file, case)
            yield from _emptied(file, case)


def _of_file(file: FileDiff, case: Case) -> Iterator[Finding]:
    before = {
        name_of(node): len(statements(node))
        for piece in file.old
        for node in piece.of_type("function_definition")
    }
    for piece in file.new:
        for node in piece.of_type("function_definition"):
            if not _is_stub(piece, node) or _is_abstract(piece, node):
                continue
            line = piece.lines[node.start_point.row]
            if case.is_known(line):
                continue
            emptied = before.get(name_of(node), 0) >= _FEWEST_GONE and not name_of(node).startswith(b"__")
            said = (
                "a function that did something always answers the same now"
                if emptied
                else "a function that does nothing"
            )
            yield at(
                _CODE, Severity.WARN if emptied else Severity.NOTE, file, said, piece.line_of(node), line
            )


def _emptied(file: FileDiff, case: Case) -> Iterator[Finding]:
    """A list that was computed and is now empty, where nothing that the patch adds fills it."""
    for hunk in file.patch.hunks:
        number = hunk.new_start - 1
        before = b""
        for line in hunk.lines:
            number += line[:1] in {b" ", b"+"}
            now = _EMPTY.match(line)
            was = _COMPUTED.match(before)
            same = now is not None and was is not None and now[1] == was[1]
            if same and now and not _is_filled(now[1].strip(), file) and not case.is_known(line[1:]):
                said = "what was computed is always empty now"
                yield at(_CODE, Severity.BLOCK, file, said, number, line[1:])
            before = line if line[:1] == b"-" else b""


def _is_filled(name: bytes, file: FileDiff) -> bool:
    fills = re.compile(
        rb"(?<![\w.])" + re.escape(name) + rb"(?:\.(?:append|add|extend|update|insert)\(|\[|\s*[+|]=)"
    )
    return any(fills.search(line.bare) for line in file.added)


def _is_stub(piece: Piece, function: Node) -> bool:
    body = statements(function)
    if len(body) != 1 or not piece.touches(body[0]):
        return False
    only = body[0]
    if only.type == "return_statement":
        return all(map(is_constant, only.named_children))
    if only.type == "raise_statement":
        return b"NotImplementedError" in text(only)
    return only.type == "pass_statement"


def _is_abstract(piece: Piece, function: Node) -> bool:
    above = piece.lines[max(0, function.start_point.row - 2) : function.start_point.row]
    return any(b"abstract" in line or b"overload" in line or b"property" in line for line in above)


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="functions that were emptied or do nothing; a result that is always empty now blocks",
    check=_check,
)
