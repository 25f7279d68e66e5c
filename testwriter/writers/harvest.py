"""Harvest from tests what they ask of the code: the value of each assertion, with all that leads to it.

A test is taken apart where it can be: its parameters have plain values, it takes no fixture, and what stands
before the assertion is a straight run of statements.
"""

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from swequarry.verify.testsource import Function, another
from testwriter.writers.measure import Probe

_EQUAL = frozenset({"assertEqual", "assertEquals", "assert_equal", "eq_", "assertTrue", "assertFalse"})
_MOST_CASES, _MOST_VARIED = 12, 12
_BOUNDARIES: dict[type, tuple[object, ...]] = {
    int: (0, 1),
    float: (0.0,),
    str: ("", " "),
    bytes: (b"",),
    bool: (True, False),
    list: ([],),
    tuple: ((),),
    dict: ({},),
}
_Values = dict[str, ast.expr]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One assertion of a test, taken apart: statements before it, and the expression that it looks at."""

    setup: tuple[ast.stmt, ...]
    value: ast.expr
    quote: str

    def names(self) -> frozenset[str]:
        """Return every name and attribute that it speaks of."""
        nodes = [node for part in (*self.setup, self.value) for node in ast.walk(part)]
        own = {node.id for node in nodes if isinstance(node, ast.Name)}
        return frozenset(own | {node.attr for node in nodes if isinstance(node, ast.Attribute)})


def questions(path: str, text: str) -> Iterator[Question]:
    """Yield what the tests of a file ask, in its order; nothing of a file that our Python can't read."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for owner, function in _tests(tree):
        for number, values in enumerate(_cases(function)):
            if number >= _MOST_CASES:
                break
            quote = f"{path}::{owner}{function.name}"
            yield from _asked(function, values, quote)


def _tests(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield "", node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and inner.name.startswith("test"):
                    yield f"{node.name}::", inner


def _cases(function: Function) -> Iterator[_Values]:
    """Yield values for the parameters of a test, none where it takes a fixture."""
    tables = []
    for decorator in function.decorator_list:
        table = _table(decorator)
        if table is not None:
            tables.append(table)
    given = {name for table in tables for name in (table[0] if table else ())}
    wanted = {argument.arg for argument in function.args.args} - {"self"}
    if wanted != given:
        return
    for rows in product(*tables):
        yield {name: value for row in rows for name, value in row.items()}


def _table(decorator: ast.expr) -> list[_Values] | None:
    if not (isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("parametrize")):
        return None
    if len(decorator.args) < 2 or not isinstance(decorator.args[1], ast.List | ast.Tuple):  # noqa: PLR2004
        return []
    try:
        said = ast.literal_eval(decorator.args[0])
    except (ValueError, TypeError):
        return []
    names = [name.strip() for name in said.split(",")] if isinstance(said, str) else list(said)
    rows = []
    for row in decorator.args[1].elts:
        plain = row
        if isinstance(row, ast.Call) and ast.unparse(row.func).endswith("param"):
            plain = ast.Tuple(elts=list(row.args), ctx=ast.Load()) if len(names) > 1 else row.args[0]
        values = plain.elts if len(names) > 1 and isinstance(plain, ast.Tuple | ast.List) else [plain]
        if len(values) == len(names):
            rows.append(dict(zip(names, values, strict=True)))
    return rows


def _asked(function: Function, values: _Values, quote: str) -> Iterator[Question]:
    setup: list[ast.stmt] = [
        ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value, lineno=1, col_offset=0)
        for name, value in values.items()
    ]
    for node in function.body:
        looked_at = _looked_at(node)
        if looked_at is not None:
            if not _uses_self((*setup, looked_at)):
                yield Question(setup=tuple(setup), value=looked_at, quote=quote)
        elif isinstance(node, ast.With | ast.AsyncWith | ast.Return | ast.Try):
            return
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            setup.append(node)


def _uses_self(nodes: Sequence[ast.AST]) -> bool:
    inner = (each for node in nodes for each in ast.walk(node))
    return any(isinstance(each, ast.Name) and each.id == "self" for each in inner)


def _looked_at(node: ast.stmt) -> ast.expr | None:
    """Return the side of an assertion that is made by a call, or the whole condition."""
    if isinstance(node, ast.Assert):
        test = node.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            sides = [test.left, test.comparators[0]]
            return next((side for side in sides if not _is_literal(side)), test)
        return test
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name in _EQUAL:
            return next((side for side in node.value.args[:2] if not _is_literal(side)), None)
    return None


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


# --- variations ---------------------------------------------------------------------------------------------


def probe_of(question: Question, imports: Sequence[str]) -> Probe:
    """Return a question as it can be asked."""
    setup = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in question.setup)
    value = ast.unparse(question.value)
    return Probe(imports=tuple(imports), setup=setup, value=value, quote=question.quote)


def varied(question: Question) -> Iterator[Question]:
    """Yield a question with one of its inputs changed: near values first, then the ends of its kind."""
    parts = [*question.setup, question.value]
    places = [
        (number, at)
        for number, part in enumerate(parts)
        for at, node in enumerate(ast.walk(part))
        if isinstance(node, ast.Constant) and _boundaries(node.value)
    ]
    made = 0
    for turn in range(4):
        for number, at in places:
            other = _variation(list(ast.walk(parts[number]))[at], turn)
            if other is None or made >= _MOST_VARIED:
                continue
            made += 1
            changed = _replaced(parts[number], at, other)
            rest = [*parts[:number], changed, *parts[number + 1 :]]
            yield _put_together(rest, f"{question.quote} with {other.value!a}")


def _put_together(parts: Sequence[ast.AST], quote: str) -> Question:
    """Return a question of its statements and, last, its expression."""
    value = parts[-1]
    if not isinstance(value, ast.expr):
        raise TypeError("a question ends in an expression")
    setup = tuple(part for part in parts[:-1] if isinstance(part, ast.stmt))
    return Question(setup=setup, value=value, quote=quote)


def _boundaries(value: object) -> tuple[object, ...]:
    return _BOUNDARIES.get(type(value), ())


def _variation(node: ast.AST, turn: int) -> ast.Constant | None:
    value = node.value if isinstance(node, ast.Constant) else None
    if turn == 0:
        try:
            return ast.Constant(value=another(value))
        except ValueError:
            return None
    ends = [end for end in _boundaries(value) if end != value]
    return ast.Constant(value=ends[turn - 1]) if turn <= len(ends) else None  # type: ignore[arg-type]


def _replaced(part: ast.AST, at: int, other: ast.Constant) -> ast.AST:
    copied = ast.parse(ast.unparse(ast.fix_missing_locations(part)))
    whole = copied.body[0] if isinstance(part, ast.stmt) else copied.body[0].value  # type: ignore[attr-defined]
    target = list(ast.walk(whole))[at]
    if not isinstance(target, ast.Constant):
        return whole
    target.value = other.value
    return ast.fix_missing_locations(whole)


def with_siblings(question: Question, name: str, siblings: Collection[str]) -> Iterator[Question]:
    """Yield a question asked of other functions than the one of a name."""
    for other in sorted(siblings):
        parts = [_renamed(part, name, other) for part in (*question.setup, question.value)]
        yield _put_together(parts, f"{question.quote} by {other}")


def _renamed(part: ast.AST, name: str, other: str) -> ast.AST:
    copied = ast.parse(ast.unparse(ast.fix_missing_locations(part)))
    for node in ast.walk(copied):
        if isinstance(node, ast.Name) and node.id == name:
            node.id = other
        elif isinstance(node, ast.Attribute) and node.attr == name:
            node.attr = other
    first = copied.body[0]
    return first if isinstance(part, ast.stmt) else first.value  # type: ignore[attr-defined]


def boundaries_for(annotation: str) -> tuple[object, ...]:
    """Return plain values for a parameter of a plain annotation: `int`, `Optional[str]`, `List[int]`."""
    lowered = annotation.lower()
    kinds = {
        "int": int,
        "float": float,
        "str": str,
        "bytes": bytes,
        "bool": bool,
        "list": list,
        "tuple": tuple,
    }
    kinds |= {"dict": dict, "sequence": list, "iterable": list, "mapping": dict}
    found = [value for word, kind in kinds.items() if word in lowered for value in _BOUNDARIES[kind]]
    more: dict[str, tuple[object, ...]] = {"str": ("a", "a b", "A-1"), "int": (2, 10), "list": ([1, 2],)}
    found += [value for word, values in more.items() if word in lowered for value in values]
    return tuple(found[:8])
