"""Errors that are caught and dropped."""

from collections.abc import Iterable, Iterator

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.python import body_of, handled, is_constant

_CODE = "swallowed-error"
_WIDE = frozenset({b"", b"Exception", b"BaseException"})


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.python:
        if not file.is_test:
            yield from _of_file(file, case)


def _of_file(file: FileDiff, case: Case) -> Iterator[Finding]:
    for piece in file.new:
        for node in piece.of_type("except_clause"):
            line = piece.lines[node.start_point.row]
            if not piece.begins_changed(node) or case.is_known(line):
                continue
            wide = handled(node).split(b" as ")[0] in _WIDE
            body = body_of(node)
            drops = len(body) == 1 and (
                body[0].type in {"pass_statement", "continue_statement", "break_statement"}
                or (body[0].type == "return_statement" and all(map(is_constant, body[0].named_children)))
            )
            if wide and drops:
                yield at(
                    _CODE, Severity.WARN, file, "every error is caught and dropped", piece.line_of(node), line
                )
            elif drops:
                yield at(
                    _CODE, Severity.NOTE, file, "an error is caught and dropped", piece.line_of(node), line
                )


RULE = Rule(code=_CODE, severity=Severity.WARN, catches="errors that are caught and dropped", check=_check)
