"""Code that is never run: commented out, below a return, under a false condition."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from swequarry.syntax.grammars import text

_CODE = "dead-code"
_COMMENTED = re.compile(
    rb"\s*#\s*(?:(?:if|for|while|elif|with)\b.*:\s*$|return\b[^.]*$|def \w+\(.*:\s*$"
    rb"|(?:import|from) [\w.]+(?: import .*)?$"
    rb"|[\w.\[\]\"']+\s*=\s*[\w.\[(\"'{].*[)\]\w}\"']$|[\w.]+\(.*\)\s*$|assert\s.+[=<>].*$|raise \w+\(.*$)"
)
_ENDS = frozenset({"return_statement", "raise_statement", "continue_statement", "break_statement"})


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.python:
        yield from _commented(file)
        yield from _unreached(file)


def _commented(file: FileDiff) -> Iterator[Finding]:
    removed = {line.raw.strip() for line in file.removed}
    for line in file.added:
        stripped = line.raw.strip()
        if not stripped.startswith(b"#"):
            continue
        was_code = stripped.lstrip(b"# ") in removed
        if was_code or _COMMENTED.fullmatch(line.raw):
            severity = Severity.WARN if was_code else Severity.NOTE
            yield at(_CODE, severity, file, "code is commented out", line.number, line.raw)


def _unreached(file: FileDiff) -> Iterator[Finding]:
    for piece in file.new:
        for node in piece.of_type("block"):
            inner = [child for child in node.named_children if child.type != "comment"]
            for first, after in pairwise(inner):
                if first.type in _ENDS and (piece.touches(first) or piece.touches(after)):
                    line = piece.lines[after.start_point.row]
                    yield at(_CODE, Severity.NOTE, file, "this is never reached", piece.line_of(after), line)
                    break
        for node in piece.of_type("if_statement"):
            condition = node.child_by_field_name("condition")
            if condition is not None and piece.begins_changed(node) and text(condition) in {b"False", b"0"}:
                line = piece.lines[node.start_point.row]
                yield at(
                    _CODE, Severity.WARN, file, "a condition that never holds", piece.line_of(node), line
                )


RULE = Rule(
    code=_CODE, severity=Severity.WARN, catches="code that is commented out or never reached", check=_check
)
