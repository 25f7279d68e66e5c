"""Errors that are caught and dropped."""

from collections.abc import Iterable, Iterator

from tree_sitter import Node

from patchreview.diff import Diff, FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.pieces import Piece
from patchreview.python import body_of, handled, is_constant
from swequarry.syntax.grammars import walk

_CODE = "swallowed-error"
_ALL = frozenset({b"", b"BaseException"})
_WIDE = _ALL | {b"Exception"}
_LEAVES_LOOP = frozenset({"pass_statement", "continue_statement", "break_statement"})


def _check(case: Case) -> Iterable[Finding]:
    gold = case.ground.gold
    narrow = gold is not None and not _catches_widely(gold)
    for file in case.diff.python:
        if not file.is_test:
            yield from _of_file(file, case, narrow=narrow)


def _of_file(file: FileDiff, case: Case, *, narrow: bool) -> Iterator[Finding]:
    """`narrow`: the task's fix is known, and catches no wide error."""
    for piece in file.new:
        for node in piece.of_type("except_clause"):
            line = piece.lines[node.start_point.row]
            if not piece.begins_changed(node) or case.is_known(line):
                continue
            severity, said = _judged(piece, node, file, narrow=narrow)
            if said:
                yield at(_CODE, severity, file, said, piece.line_of(node), line)


def _judged(piece: Piece, node: Node, file: FileDiff, *, narrow: bool) -> tuple[Severity, str]:
    caught = _caught(node)
    if _drops(node):
        if caught not in _WIDE:
            return Severity.NOTE, "an error is caught and dropped"
        if narrow or _wraps_old_code(piece, node, file):
            return Severity.BLOCK, "every error of the code that stood here is caught and dropped"
        return Severity.WARN, "every error is caught and dropped"
    if caught in _ALL and not any(inner.type == "raise_statement" for inner in walk(node)):
        if any(_caught(old) not in _WIDE for old in _clauses_that_go(file)):
            return Severity.BLOCK, "what caught one error catches all now, even the end of the process"
        return Severity.WARN, "every error is caught, even the end of the process"
    return Severity.NOTE, ""


def _caught(clause: Node) -> bytes:
    return handled(clause).split(b" as ")[0]


def _drops(clause: Node) -> bool:
    """Whether a clause does nothing with what it caught."""
    body = body_of(clause)
    if len(body) != 1:
        return False
    only = body[0]
    if only.type == "return_statement":
        return all(map(is_constant, only.named_children))
    return only.type in _LEAVES_LOOP


def _wraps_old_code(piece: Piece, clause: Node, file: FileDiff) -> bool:
    """Whether what is tried stood in the file before, outside of the `try`."""
    tried = clause.parent
    if tried is None or not piece.begins_changed(tried):
        return False
    removed = {line.raw.strip() for line in file.removed}
    rows = range(tried.start_point.row + 1, clause.start_point.row)
    return any(piece.lines[row].strip() in removed for row in rows if piece.lines[row].strip())


def _clauses_that_go(file: FileDiff) -> Iterator[Node]:
    for piece in file.old:
        yield from (node for node in piece.of_type("except_clause") if piece.begins_changed(node))


def _catches_widely(gold: Diff) -> bool:
    return any(
        _caught(node) in _WIDE
        for file in gold.python
        for piece in file.new
        for node in piece.of_type("except_clause")
        if piece.begins_changed(node)
    )


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="errors that are caught and dropped; all those of code that stood there before block",
    check=_check,
)
