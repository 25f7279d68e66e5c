"""Which changed lines and branches of the gold patch the hidden tests run.

The task's environment has no coverage tool and gets none: a tracer of ours goes in with the recorder. Lines
are judged by statement, as Python tells of some lines of a long one only.
"""

import base64
import json
import secrets
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tree_sitter import Node

from swequarry.git.paths import path_text
from swequarry.records import GoldCoverage, TestId
from swequarry.syntax.grammars import first_line, last_line, parse, text, walk
from swequarry.verify.mutation_diff import ChangedFile
from swequarry.verify.payload import Tap
from swequarry.verify.runner import RunResult

_BRANCHING = frozenset({"if_statement", "elif_clause", "while_statement", "for_statement"})
_NO_CODE = frozenset({"comment", "else_clause", "finally_clause", "global_statement", "nonlocal_statement"})
Arc = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A statement, or the head of one that holds others: its lines, and those of its body if it branches."""

    first: int
    last: int
    body: tuple[int, int] | None = None

    @property
    def lines(self) -> range:
        """The lines of the statement or head."""
        return range(self.first, self.last + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What ran: arcs between lines by path, and whether all that ran was seen.

    `reach` says by path and line which tests ran it. `shared` are lines that ran while modules were imported
    or tests were set up or torn down: tests that didn't run them may depend on them too. `seconds` is what
    each test took under the tracer.
    """

    arcs: Mapping[bytes, frozenset[Arc]]
    whole: bool
    reach: Mapping[bytes, Mapping[int, frozenset[TestId]]] = field(default_factory=dict)
    shared: Mapping[bytes, frozenset[int]] = field(default_factory=dict)
    seconds: Mapping[TestId, float] = field(default_factory=dict)

    def reached(self, path: bytes, unit: Unit) -> bool:
        """Whether a statement of a file ran."""
        return any(line in unit.lines for arc in self.arcs.get(path, ()) for line in arc)

    def tests_of(self, path: bytes, lines: Collection[int]) -> tuple[frozenset[TestId], bool]:
        """Return the tests that ran some lines, and whether they are all that can depend on them."""
        by_line = self.reach.get(path, {})
        tests = frozenset(test for line in lines for test in by_line.get(line, ()))
        return tests, self.whole and self.shared.get(path, frozenset()).isdisjoint(lines)


def units(data: bytes) -> list[Unit]:
    """Return the statements of a Python source that run, in its order."""
    return list(_units(parse(data).root_node))


def touched(file: ChangedFile) -> list[Unit]:
    """Return the statements of a changed file of which gold wrote a line."""
    lines = {line for hunk in file.changed_lines() for line in hunk}
    return [unit for unit in units(file.new or b"") if lines.intersection(unit.lines)]


def around(file: ChangedFile) -> list[Unit]:
    """Return the statements of the functions that gold changed, and those that it touched anywhere."""
    own = touched(file)
    lines = {line for unit in own for line in unit.lines}
    functions = (
        range(first_line(node), last_line(node) + 1)
        for node in walk(parse(file.new or b"").root_node)
        if node.type == "function_definition"
    )
    near = {line for function in functions if lines.intersection(function) for line in function}
    return [unit for unit in units(file.new or b"") if near.intersection(unit.lines) or unit in own]


def tracing_tap(files: Sequence[ChangedFile]) -> tuple[Tap, str]:
    """Return what to send into a run so that it notes what ran of some changed files, and its mark."""
    mark = f"swequarry-coverage-{secrets.token_hex(8)}:"
    lines = {
        path_text(file.path): sorted({line for unit in around(file) for line in unit.lines})
        for file in files
        if file.is_python
    }
    settings = json.dumps({"mark": mark, "lines": lines})
    return Tap(source="tracer.py", wrap="tracing", settings=settings), mark


def read_trace(run: RunResult, mark: str, files: Sequence[ChangedFile]) -> Trace | None:
    """Return what a run noted, None where it came to no end."""
    told = [line for line in run.output.split(b"\n") if line.startswith(mark.encode("ascii"))]
    if len(told) != run.passes or not told:
        return None
    notes: list[dict[str, Any]] = [
        json.loads(zlib.decompress(base64.b64decode(line[len(mark) :]))) for line in told
    ]
    arcs = {
        file.path: frozenset((a, b) for note in notes for a, b in note["arcs"].get(path_text(file.path), ()))
        for file in files
        if file.is_python
    }
    return Trace(
        arcs=arcs,
        whole=all(note["whole"] for note in notes),
        reach={file.path: _reach(notes, path_text(file.path)) for file in files if file.is_python},
        shared={
            file.path: frozenset(
                line for note in notes for line in note["shared"].get(path_text(file.path), ())
            )
            for file in files
            if file.is_python
        },
        seconds={
            TestId(test): spent
            for note in notes
            for test, spent in zip(note["tests"], note["seconds"], strict=False)
        },
    )


def _reach(notes: Sequence[Mapping[str, Any]], path: str) -> dict[int, frozenset[TestId]]:
    found: dict[int, set[TestId]] = {}
    for note in notes:
        for line, numbers in note["reach"].get(path, {}).items():
            found.setdefault(int(line), set()).update(TestId(note["tests"][number]) for number in numbers)
    return {line: frozenset(tests) for line, tests in found.items()}


def coverage(files: Sequence[ChangedFile], trace: Trace) -> GoldCoverage:
    """Return how much of the changed Python files ran."""
    lines, covered, uncovered, branches, taken = 0, 0, [], 0, 0
    for file in (file for file in files if file.is_python):
        written = {line for hunk in file.changed_lines() for line in hunk}
        for unit in touched(file):
            own = written.intersection(unit.lines)
            reached = trace.reached(file.path, unit)
            lines, covered = lines + len(own), covered + (len(own) if reached else 0)
            uncovered += [] if reached else [(path_text(file.path), line) for line in sorted(own)]
            if unit.body is not None:
                branches, taken = branches + 2, taken + _taken(unit, trace.arcs.get(file.path, frozenset()))
    return GoldCoverage(
        lines=lines,
        covered_lines=covered,
        branches=branches,
        covered_branches=taken,
        uncovered=tuple(uncovered),
        whole=trace.whole,
    )


def _taken(unit: Unit, arcs: Collection[Arc]) -> int:
    """Count the ways out of a condition that were taken: into its body, and past it."""
    if unit.body is None:
        return 0
    body = range(unit.body[0], unit.body[1] + 1)
    ways = {to for start, to in arcs if start in unit.lines and to not in unit.lines}
    return any(to in body for to in ways) + any(to not in body for to in ways)


def _units(root: Node) -> Iterator[Unit]:
    for node in walk(root):
        if node.type in _NO_CODE or not _is_statement(node):
            continue
        block = _block(node)
        if block is None:
            if not _is_text(node):
                yield Unit(first=first_line(node), last=last_line(node))
            continue
        before = block.prev_sibling
        last = last_line(before) if before is not None else first_line(node)
        start = first_line(block)
        branches = node.type in _BRANCHING and start > last and not _is_constant(node)
        body = (start, last_line(block)) if branches else None
        yield Unit(first=first_line(node), last=last, body=body)


def _block(node: Node) -> Node | None:
    return next((child for child in node.children if child.type == "block"), None)


def _is_statement(node: Node) -> bool:
    above = node.parent
    if node.type in {"elif_clause", "except_clause", "case_clause"}:
        return True
    if not node.is_named or above is None or node.type == "block":
        return False
    return above.type in {"module", "block", "decorated_definition"} and node.type != "decorated_definition"


def _is_text(node: Node) -> bool:
    return node.type == "expression_statement" and [child.type for child in node.children] == ["string"]


def _is_constant(node: Node) -> bool:
    condition = node.child_by_field_name("condition")
    return condition is not None and text(condition) in {b"True", b"1", b"False", b"0"}
