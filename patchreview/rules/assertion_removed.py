"""Assertions that go while their test stays."""

import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.pieces import Piece
from patchreview.python import is_assertion

_CODE = "assertion-removed"
_RAISES = re.compile(rb"\b(?:raises|assertRaises(?:Regex)?)\(")
_SAYS = re.compile(rb"\bassert\b|\b(?:raises|assertRaises(?:Regex)?)\(")
_ANY_ERROR = re.compile(rb"\b(?:raises|assertRaises)\(\s*\(?(?:[\w., ]*,\s*)?(?:Base)?Exception\b")
_IS_SOMETHING = re.compile(rb"^\s*assert\s+([\w.\[\]\"']+)(?:\s+is\s+not\s+None)\s*$")
_COMPARES = re.compile(rb"^\s*assert\s+.*(?:==|\bin\b)")
_OF_CONSTANT = re.compile(rb"==\s*(?:True|None|\[\]|\{\})\s*$")
_NEAR = 12


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.python:
        if file.is_test and not file.created and not file.deleted:
            yield from _of_file(file)
            yield from _weaker(file)


def _of_file(file: FileDiff) -> Iterator[Finding]:
    gone = [
        (piece, node) for piece in file.old for node in _assertions(piece) if not _in_gone_test(piece, node)
    ]
    come = sum(1 for piece in file.new for _ in _assertions(piece))
    if not gone:
        return
    if come == 0:
        said = f"{len(gone)} assertions go and none comes, while their tests stay"
    elif come < len(gone):
        said = f"{len(gone)} assertions go and {come} come"
    else:
        yield at(
            _CODE, Severity.NOTE, file, f"{len(gone)} assertions are changed", gone[0][0].line_of(gone[0][1])
        )
        return
    severity = Severity.WARN if come or file.added_count > file.removed_count else Severity.BLOCK
    for piece, node in gone:
        yield at(_CODE, severity, file, said, piece.line_of(node), piece.lines[node.start_point.row])


def _weaker(file: FileDiff) -> Iterator[Finding]:
    """Assertions that say less of the same than they did: any error, or merely that there is a value."""
    before = [line for line in file.removed if _SAYS.search(line.bare)]
    for line in file.added:
        if _ANY_ERROR.search(line.bare):
            once = any(_RAISES.search(old.bare) and not _ANY_ERROR.search(old.bare) for old in before)
            said = "any error would do where one was expected" if once else ""
        elif found := _IS_SOMETHING.match(line.code):
            once = any(
                _COMPARES.match(old.code) and found[1] in old.code and not _OF_CONSTANT.search(old.code)
                for old in before
                if abs(old.number - line.number) < _NEAR
            )
            said = "a value was compared; now there only has to be one" if once else ""
        else:
            continue
        if said:
            yield at(_CODE, Severity.BLOCK, file, said, line.number, line.raw)


def _assertions(piece: Piece) -> Iterator[Node]:
    return (node for node in piece.nodes if is_assertion(node) and piece.begins_changed(node))


def _in_gone_test(piece: Piece, assertion: Node) -> bool:
    """Whether a function goes with the assertion in it; another rule counts those."""
    return any(
        piece.begins_changed(node)
        and node.start_byte <= assertion.start_byte
        and assertion.end_byte <= node.end_byte
        for node in piece.of_type("function_definition", "class_definition")
    )


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="assertions that go while their tests stay; changed ones are a note",
    check=_check,
)
