"""What the names of a Python file are worth, as far as it can be told without running it.

Only literals and the few operations that set-up files do to them are followed; everything else is
`UNKNOWN`. Work and sizes are bounded, so a hostile file costs time of its own length at most.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

MAX_SOURCE_CHARS: Final = 1_000_000
MAX_STEPS: Final = 50_000
MAX_ITEMS: Final = 5_000
MAX_CHARS: Final = 200_000


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown()
FileReader = Callable[[str], list[str] | None]
"""Gives the requirement texts of the file that a literal names, None where it names none."""


def parse_python(text: str) -> ast.Module | str:
    """Return the syntax tree, or why there is none."""
    if len(text) > MAX_SOURCE_CHARS:
        return f"longer than {MAX_SOURCE_CHARS} characters"
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"not Python 3: {type(error).__name__}: {error}"


class StaticModule:
    """Follows the statements of a module in their order; `values` are the names that it could follow."""

    def __init__(self, read_file: FileReader = lambda _: None) -> None:
        self.values: dict[str, Any] = {}
        self._read_file = read_file
        self._steps = 0
        self._marker: str | None = None

    def run(self, body: Sequence[ast.stmt]) -> None:
        """Follow statements; a condition on `sys.version_info` becomes a marker on what it adds."""
        try:
            self._run(body)
        except RecursionError:
            return

    def _run(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            match statement:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self._assign(target, self._marked(self.value(value)))
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._assign(target, self._marked(self.value(value)))
                case ast.AugAssign(target=target, op=ast.Add(), value=value):
                    self._assign(target, _add(self.value(target), self._marked(self.value(value))))
                case ast.Expr(value=ast.Call() as call):
                    self._method(call)
                case ast.If():
                    self._branch(statement)
                case ast.Try(body=inner, orelse=orelse, finalbody=final):
                    self.run([*inner, *orelse, *final])
                case ast.With(body=inner):
                    self._open_files(statement)
                    self.run(inner)

    def value(self, node: ast.AST) -> Any:
        """Return the value of an expression, UNKNOWN where it can't be told."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            return UNKNOWN
        try:
            found = self._evaluate(node)
        except RecursionError:
            return UNKNOWN
        return self._from_file(node) if found is UNKNOWN else _bounded(found)

    def _evaluate(self, node: ast.AST) -> Any:  # noqa: PLR0911 - one return per kind of node
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self.values.get(name, UNKNOWN)
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return self._items(items)
            case ast.Dict():
                return self._dict(node)
            case ast.BinOp(left=left, op=ast.Add() | ast.BitOr(), right=right):
                return _add(self.value(left), self.value(right))
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return _filled(self.value(left), "%s", self.value(right))
            case ast.JoinedStr(values=parts):
                texts = [self.value(p.value if isinstance(p, ast.FormattedValue) else p) for p in parts]
                return "".join(texts) if all(isinstance(t, str) for t in texts) else UNKNOWN
            case ast.Subscript(value=owner, slice=index):
                return _lookup(self.value(owner), self.value(index))
            case ast.Call():
                return self._call(node)
        return UNKNOWN

    def _items(self, nodes: Sequence[ast.expr]) -> list[Any]:
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                inner = self.value(node.value)
                found.extend(inner if isinstance(inner, list) else [])
            else:
                found.append(self.value(node))
            if len(found) > MAX_ITEMS:
                break
        return [item for item in found if item is not UNKNOWN]

    def _dict(self, node: ast.Dict) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            value = self.value(value_node)
            if key_node is None:
                found.update(value if isinstance(value, dict) else {})
                continue
            key = self.value(key_node)
            if isinstance(key, str):
                found[key] = value
        return found

    def _call(self, node: ast.Call) -> Any:
        match node.func:
            case ast.Name(id="list" | "tuple" | "set" | "sorted" | "frozenset") if len(node.args) == 1:
                value = self.value(node.args[0])
                return list(value) if isinstance(value, list | dict) else UNKNOWN
            case ast.Name(id="dict"):
                return {k.arg: self.value(k.value) for k in node.keywords if k.arg}
            case ast.Name(id="str") if len(node.args) == 1:
                value = self.value(node.args[0])
                return str(value) if isinstance(value, str | int | float) else UNKNOWN
            case ast.Name(id="sum") if node.args:
                return _flatten(self.value(node.args[0]))
            case ast.Attribute(value=owner, attr=attr):
                arguments = [self.value(argument) for argument in node.args]
                return _call_method(self.value(owner), attr, arguments)
        return UNKNOWN

    def _from_file(self, node: ast.AST) -> Any:
        """An expression that names a requirement file most likely gives its lines."""
        if not isinstance(node, ast.Call | ast.ListComp | ast.GeneratorExp):
            return UNKNOWN
        names = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        for name in names[:20]:
            if (lines := self._read_file(name)) is not None:
                return lines
        opened = [self.values.get(f"<file {n.id}>") for n in ast.walk(node) if isinstance(n, ast.Name)]
        return next((lines for lines in opened if lines is not None), UNKNOWN)

    def _open_files(self, statement: ast.With) -> None:
        for item in statement.items:
            if isinstance(item.optional_vars, ast.Name):
                lines = self._from_file(item.context_expr)
                if isinstance(lines, list):
                    self.values[f"<file {item.optional_vars.id}>"] = lines

    def _assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name):
                if value is UNKNOWN and name in self.values:
                    return
                self.values[name] = value
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                owner, key = self.values.get(name), self.value(index)
                if isinstance(owner, dict) and isinstance(key, str):
                    owner[key] = value

    def _method(self, call: ast.Call) -> None:
        """`names.append(x)`, `names.extend(xs)`, `table.update(other)` and the like, as a statement."""
        if not isinstance(call.func, ast.Attribute) or not call.args:
            return
        owner = self.value(call.func.value)
        added = self._marked(self.value(call.args[-1]))
        if isinstance(owner, list) and len(owner) < MAX_ITEMS:
            if call.func.attr in {"append", "add", "insert"} and added is not UNKNOWN:
                owner.append(added)
            elif call.func.attr in {"extend", "update"} and isinstance(added, list):
                owner.extend(added[:MAX_ITEMS])
        elif isinstance(owner, dict) and call.func.attr == "update" and isinstance(added, dict):
            owner.update(added)

    def _branch(self, statement: ast.If) -> None:
        marker = version_marker(statement.test)
        if marker is None:
            self.run([*statement.body, *statement.orelse])
            return
        outer = self._marker
        for body, condition in ((statement.body, marker), (statement.orelse, negated(marker))):
            self._marker = f"{outer} and {condition}" if outer else condition
            self.run(body)
        self._marker = outer

    def _marked(self, value: Any) -> Any:
        if self._marker is None:
            return value
        if isinstance(value, list):
            return [self._marked(item) for item in value]
        if isinstance(value, str) and ";" not in value:
            return f"{value} ; {self._marker}"
        return value


_OPERATORS: Final[Mapping[type, str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_NEGATIONS: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def version_marker(test: ast.expr) -> str | None:
    """Return `sys.version_info < (3, 8)` and its like as a PEP 508 marker, None for other conditions."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not _is_version_info(test.left):
        return None
    operator = _OPERATORS.get(type(test.ops[0]))
    numbers = _numbers(test.comparators[0])
    if operator is None or not numbers:
        return None
    if operator in {"==", "!="} and len(numbers) == 1:
        below_3 = (numbers[0] < 3) is (operator == "==")  # noqa: PLR2004 - Python 3 is meant
        return f'python_version {"<" if below_3 else ">="} "3"'
    major, minor = (*numbers, 0)[:2]
    return f'python_version {operator} "{major}.{minor}"'


def _is_version_info(node: ast.expr) -> bool:
    """`sys.version_info`, also cut (`[:2]`) or reduced to its major number (`[0]`, `.major`)."""
    match node:
        case ast.Name(id="version_info") | ast.Attribute(attr="version_info"):
            return True
        case ast.Attribute(value=inner, attr="major"):
            return _is_version_info(inner) if isinstance(inner, ast.Attribute | ast.Name) else False
        case ast.Subscript(value=ast.Attribute(attr="version_info"), slice=index):
            return isinstance(index, ast.Slice) or (isinstance(index, ast.Constant) and index.value == 0)
    return False


def _numbers(node: ast.expr) -> tuple[int, ...]:
    items = node.elts if isinstance(node, ast.Tuple) else [node]
    values = [item.value for item in items[:3] if isinstance(item, ast.Constant)]
    found = tuple(value for value in values if isinstance(value, int) and 0 <= value < 100)  # noqa: PLR2004
    return found[:2] if len(found) == len(items[:3]) else ()


def negated(marker: str) -> str:
    """Return the opposite of a marker that `version_marker` made."""
    variable, operator, version = marker.split(" ")
    return f"{variable} {_NEGATIONS[operator]} {version}"


def _bounded(value: Any) -> Any:
    if isinstance(value, str) and len(value) > MAX_CHARS:
        return UNKNOWN
    if isinstance(value, list) and len(value) > MAX_ITEMS:
        return UNKNOWN
    return value


def _add(left: Any, right: Any) -> Any:
    """Join two lists, texts or tables; of two lists one unknown side doesn't spoil the other."""
    if isinstance(left, list) and isinstance(right, list) and len(left) + len(right) <= MAX_ITEMS:
        return left + right
    if isinstance(left, str) and isinstance(right, str) and len(left) + len(right) <= MAX_CHARS:
        return left + right
    if isinstance(left, dict) and isinstance(right, dict):
        return left | right
    if left is UNKNOWN and isinstance(right, list):
        return right
    return left if isinstance(left, list) and right is UNKNOWN else UNKNOWN


def _filled(template: Any, hole: str, values: Any) -> Any:
    """Put texts into `%s` or `{}`; other directives can ask for any amount of memory and aren't followed."""
    texts = values if isinstance(values, list) else [values]
    if not isinstance(template, str) or not all(isinstance(t, str | int | float) for t in texts):
        return UNKNOWN
    parts = template.split(hole)
    if len(parts) != len(texts) + 1 or any(hole[0] in part for part in parts):
        return UNKNOWN
    filled = "".join(part + str(text) for part, text in zip(parts, [*texts, ""], strict=True))
    return filled if len(filled) <= MAX_CHARS else UNKNOWN


def _lookup(owner: Any, key: Any) -> Any:
    if isinstance(owner, dict) and isinstance(key, str):
        return owner.get(key, UNKNOWN)
    if isinstance(owner, list) and isinstance(key, int) and -len(owner) <= key < len(owner):
        return owner[key]
    return UNKNOWN


def _flatten(value: Any) -> Any:
    rows = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(rows, list):
        return UNKNOWN
    return [item for row in rows if isinstance(row, list) for item in row][: MAX_ITEMS + 1]


def _call_method(owner: Any, name: str, arguments: list[Any]) -> Any:  # noqa: PLR0911
    match owner, name, arguments:
        case list(), "copy", []:
            return list(owner)
        case dict(), "copy", []:
            return dict(owner)
        case dict(), "values", []:
            return list(owner.values())
        case dict(), "keys", []:
            return list(owner)
        case str(), "split" | "splitlines", []:
            return owner.split() if name == "split" else owner.splitlines()
        case str(), "split", [str() as separator] if separator:
            return owner.split(separator)
        case str(), "strip", []:
            return owner.strip()
        case str(), "format", [*values]:
            return _filled(owner, "{}", values)
    return UNKNOWN
