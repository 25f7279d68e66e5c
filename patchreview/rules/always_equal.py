"""Values that say they are equal to everything."""

from collections.abc import Iterable, Iterator

from tree_sitter import Node

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.python import name_of, statements
from swequarry.syntax.grammars import text

_CODE = "always-equal"
_COMPARES = {b"__eq__": b"True", b"__ne__": b"False", b"__instancecheck__": b"True", b"__contains__": b"True"}


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.python:
        if not file.is_test:
            yield from _of_file(file)


def _of_file(file: FileDiff) -> Iterator[Finding]:
    for piece in file.new:
        for node in piece.of_type("function_definition", "assignment"):
            if piece.begins_changed(node) and _says_always(node):
                line = piece.lines[node.start_point.row]
                yield at(_CODE, Severity.BLOCK, file, "equal to everything", piece.line_of(node), line)


def _says_always(node: Node) -> bool:
    if node.type == "assignment":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        body = right.child_by_field_name("body") if right is not None and right.type == "lambda" else None
        return left is not None and body is not None and _COMPARES.get(text(left)) == text(body)
    body_ = statements(node)
    wanted = _COMPARES.get(name_of(node))
    return wanted is not None and [text(statement) for statement in body_] == [b"return " + wanted]


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="`__eq__` and its like that always say the same",
    check=_check,
)
