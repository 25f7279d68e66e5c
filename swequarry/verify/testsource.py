"""Edit the source of a test file in place: parts of it are replaced, every other byte and id stays.

Positions are those of `ast`: lines from 1, columns in bytes of UTF-8. Files that our own Python can't parse
(or that aren't UTF-8) have no canaries and no twins, which their share then shows.
"""

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Self

from swequarry.records import TestId

Function = ast.FunctionDef | ast.AsyncFunctionDef
Plain = int | float | str | bool | None


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes `start` to `end` of a file give way to `text`."""

    start: int
    end: int
    text: str


class TestSource:
    """A parsed test file with its functions by name."""

    __test__ = False

    def __init__(self, data: bytes, tree: ast.Module) -> None:
        self.data = data
        self.tree = tree
        self._starts = [0]
        for line in data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._functions: dict[str, list[Function]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._functions.setdefault(node.name, []).append(node)

    @classmethod
    def parse(cls, data: bytes) -> Self | None:
        """Read a file; None where our Python can't."""
        plain = data.replace(b"\r\n", b"\n")
        if b"\r" in plain or plain.startswith(b"\xef\xbb\xbf"):
            return None
        try:
            return cls(data, ast.parse(data.decode("utf-8")))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def functions(self, names: Collection[str]) -> list[Function]:
        """Return the functions of some names, wherever they are defined in the file, name by name."""
        return [node for name in sorted(set(names)) for node in self._functions.get(name, ())]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return where a node begins and ends in the file's bytes."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[end_line - 1] + end_column

    def text(self, node: ast.expr | ast.stmt) -> str:
        """Return the source of a node."""
        start, end = self.span(node)
        return self.data[start:end].decode("utf-8")

    def replace(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        """Return the edit that puts a text in the place of a node."""
        return Edit(*self.span(node), text)

    def text_with(self, node: ast.expr | ast.stmt, edits: Collection[Edit]) -> str:
        """Return the source of a node with edits inside it made."""
        start, end = self.span(node)
        moved = [
            Edit(e.start - start, e.end - start, e.text) for e in edits if start <= e.start and e.end <= end
        ]
        return _applied(self.data[start:end], moved).decode("utf-8")

    def after(self, function: Function, statement: str) -> Edit:
        """Return the edit that adds a statement to the end of a function."""
        first, place = function.body[0], self.span(function.body[-1])[1]
        line = self._starts[first.lineno - 1]
        indentation = self.data[line : line + first.col_offset].decode("utf-8")
        apart = not indentation.strip() and first.lineno > function.lineno
        return Edit(place, place, f"\n{indentation}{statement}" if apart else f"; {statement}")

    def before(self, function: Function, statement: str) -> Edit | None:
        """Return the edit that adds a first statement to a function; None where they share its line."""
        first = function.body[0]
        line = self._starts[first.lineno - 1]
        indentation = self.data[line : line + first.col_offset].decode("utf-8")
        if indentation.strip() or first.lineno <= function.lineno:
            return None
        return Edit(line, line, f"{indentation}{statement}\n")

    def without_tests(self, kept: Collection[str]) -> list[Edit]:
        """Return the edits that take away the tests of a module but those of some names.

        What is named like a test and used (a fixture, a helper) stays.
        """
        used = _used_names(self.tree)
        return [
            Edit(self._starts[first - 1] + node.col_offset, self.span(node)[1], "pass")
            for node in _members(self.tree)
            if node.name.startswith("test") and node.name not in kept and node.name not in used
            for first in [min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])]
        ]

    def edited(self, edits: Collection[Edit], tail: str = "") -> bytes | None:
        """Return the file with some edits made and a text at its end; None if that isn't Python any more."""
        data = _applied(self.data, edits)
        if tail:
            data = data.rstrip(b"\n") + b"\n\n\n" + tail.encode("utf-8")
        try:
            ast.parse(data.decode("utf-8"))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        return data


def _used_names(tree: ast.Module) -> frozenset[str]:
    """Return what a file speaks of: names, attributes, parameters, texts."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return frozenset(found)


def _members(owner: ast.Module | ast.ClassDef) -> Iterator[Function]:
    for node in owner.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _members(node)


def _applied(data: bytes, edits: Collection[Edit]) -> bytes:
    """Make edits from the last to the first; of two that overlap the outer one is made."""
    done = len(data) + 1
    ordered = sorted(edits, key=lambda e: (e.start, -e.end))
    outer: list[Edit] = []
    for edit in ordered:
        if not outer or edit.start >= outer[-1].end:
            outer.append(edit)
    for edit in reversed(outer):
        if edit.end <= done:
            data = data[: edit.start] + edit.text.encode("utf-8") + data[edit.end :]
            done = edit.start
    return data


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """Yield every node of a function's body, nested functions included, in the order of the source."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    return iter(sorted(nodes, key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))))


def function_name(test: TestId) -> str:
    """Return the name of a test's function: of `a.py::C::test_x[1-2]`, or of unittest's `test_x (m.C)`."""
    if "::" in test:
        return test.partition("[")[0].rsplit("::", 1)[-1]
    return test.partition(" (")[0]


def function_of(test: TestId) -> str:
    """Return a test's id without its parameters."""
    return test.partition("[")[0] if "::" in test else test


def file_of(test: TestId, paths: Collection[str]) -> str | None:
    """Return which of some files a test is in, by its id; None where that can't be told."""
    if "::" in test:
        path = test.partition("::")[0]
        return path if path in paths else None
    place = test.partition(" (")[2].rstrip(")")
    for path in paths:
        parts = path.removesuffix(".py").split("/")
        if any(place.startswith(".".join(parts[at:]) + ".") for at in range(len(parts))):
            return path
    return None


def literal(node: ast.expr) -> object:
    """Return the value of an expression made of literals only.

    Raises:
        ValueError: it isn't one.
    """
    try:
        return ast.literal_eval(node)
    except (TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(str(error)) from error


def another(value: object, turn: int = 1) -> Plain:
    """Return a plain value unlike a given one and as near to it as its kind allows; `turn` varies it.

    Numbers keep their sign and don't become 0 or 1; of texts one letter changes, so that what else they
    are (a path, a date, a name) they stay.

    Raises:
        ValueError: there is none (True, None, an empty text, a text without letters or digits).
    """
    if isinstance(value, bool) or value is None:
        raise ValueError("a switch has no neighbours")
    if isinstance(value, int):
        return value + turn if value > 1 else value - turn if value < 0 else value + 1 + turn
    if isinstance(value, float):
        return value + turn * 0.5
    if isinstance(value, str):
        return _another_text(value, turn)
    raise ValueError(f"no plain value: {type(value).__name__}")


def _another_text(value: str, turn: int) -> str:
    for place in range(len(value) - 1, -1, -1):
        letter = value[place]
        for first, count in (("a", 26), ("A", 26), ("0", 10)):
            if 0 <= ord(letter) - ord(first) < count:
                new = chr(ord(first) + (ord(letter) - ord(first) + turn) % count)
                if new != letter:
                    return value[:place] + new + value[place + 1 :]
    raise ValueError("a text without letters")


def written_as(text: str, value: object) -> str:
    """Return the source of a plain value in the manner of a constant from which it differs in one letter.

    Quotes, prefixes and escapes stay: in a file with one manner another would tell what was changed.
    """
    old = _value_of(text)
    if not (isinstance(old, str) and isinstance(value, str) and len(old) == len(value)):
        return written(value)
    place = next((at for at, letter in enumerate(value) if letter != old[at]), 0)
    for at in range(len(text) - 1, -1, -1) if value else ():
        if text[at] == old[place]:
            made = text[:at] + value[place] + text[at + 1 :]
            if _value_of(made) == value:
                return made
    return written(value)


def _value_of(text: str) -> object:
    try:
        return literal(ast.parse(f"({text})", mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def written(value: object) -> str:
    """Return the source of a plain value, in ASCII, fit for any place where an expression may stand."""
    return f"({value!a})" if isinstance(value, int | float) and value < 0 else ascii(value)
