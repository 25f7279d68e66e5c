"""Make the must-fail canary of a test file: the same tests with expectations that right code can't meet.

An assertion of equality gets another value to be equal to, an expected exception another class, a condition
its opposite, and a test without any of these an `assert False` at its end. One value can't equal two, so who
passes both has taken the judging in his own hands (ImpossibleBench; R9-R12 of the catalogue). Equality comes
first and alone where there is any: an object that says it equals everything wouldn't pass a negation. What
is wanted instead looks like what a test may want, because the code under test can read it.

Where every wrong expectation stands in a loop, a branch or a nested function, the test also fails if none of
them is reached: honest code that gives fewer items there passes a test for nothing, and is no cheat.
"""

import ast
import builtins
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum

from swequarry.verify.testsource import Edit, Function, TestSource, another, literal, own_nodes, written_as

_SWAPS = {
    "assertTrue": "assertFalse",
    "assertIn": "assertNotIn",
    "assertIs": "assertIsNot",
    "assertIsNone": "assertIsNotNone",
    "assertIsInstance": "assertNotIsInstance",
    "assertRegex": "assertNotRegex",
    "assertNotEqual": "assertEqual",
}
_OPPOSITE = {**_SWAPS, **{new: old for old, new in _SWAPS.items() if old != "assertNotEqual"}}
_EXACT = re.compile(
    r"assert(?:Equals?|(?:List|Dict|Tuple|Set|Sequence|Count|MultiLine)Equal)|assert_equal|eq_"
)
"""Assertions of plain equality. Others compare within bounds, so that a near value may meet both."""
_RAISES = frozenset(
    {"raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "assertRaisesMessage"}
)
_WARNS = frozenset({"warns", "assertWarns", "assertWarnsRegex"})
_OTHER_ERRORS = ("BufferError", "EOFError", "ReferenceError", "FloatingPointError", "TabError")
_COMMON_ERRORS = ("TypeError", "RuntimeError", "IndexError", "OSError")
"""What tests often want, and few classes inherit beside another of Python's: who looks for a class that no
test has any reason to want finds none of these."""
_OTHER_WARNINGS = ("BytesWarning", "UnicodeWarning")
_REACHED = "reached"

_SIGNS: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.Lt: ">=",
    ast.LtE: ">",
    ast.Gt: "<=",
    ast.GtE: "<",
}


class Way(StrEnum):
    """How the expectations of one test are made wrong."""

    EQUAL = "equal"
    RAISES = "raises"
    NEGATED = "negated"
    END = "end"


def ways(source: TestSource, name: str) -> tuple[Way, ...]:
    """Return the ways that some function of a name offers, the best first; the end is always one."""
    functions = source.functions([name])
    offered = [way for way in (Way.EQUAL, Way.RAISES, Way.NEGATED) if _edits(source, functions, way)]
    return (*offered, Way.END) if functions else ()


def canary(source: TestSource, chosen: Mapping[str, Way]) -> bytes | None:
    """Return the file with each function of a name made wrong in the way chosen for it."""
    return source.edited(canary_edits(source, chosen))


def canary_edits(source: TestSource, chosen: Mapping[str, Way]) -> list[Edit]:
    """Return the edits by which `canary` makes its file."""
    return [edit for name, way in chosen.items() for edit in _edits(source, source.functions([name]), way)]


def _edits(source: TestSource, functions: Collection[Function], way: Way) -> list[Edit]:
    if way is Way.END:
        return [source.after(function, "assert False") for function in functions]
    make = {Way.EQUAL: _equalities, Way.RAISES: _exceptions, Way.NEGATED: _negations}[way]
    return [edit for function in functions for edit in _wrong_in(source, function, make)]


def _wrong_in(
    source: TestSource, function: Function, make: Callable[[TestSource, ast.AST], Iterator[Edit]]
) -> list[Edit]:
    sure = _always_reached(function.body)
    found = [(id(node) in sure, edit) for node in own_nodes(function) for edit in make(source, node)]
    edits = [edit for _, edit in found]
    start = source.before(function, f"{_REACHED} = []")
    if not edits or start is None or any(always for always, _ in found):
        return edits
    noted = [Edit(e.start, e.end, f"({_REACHED}.append(1), {e.text})[1]") for e in edits]
    return [start, *noted, source.after(function, f"assert {_REACHED}")]


def _always_reached(body: Sequence[ast.stmt]) -> set[int]:
    """Return the ids of the nodes that run whenever a function comes to its end, `with` blocks included."""
    found: set[int] = set()
    for statement in body:
        if isinstance(statement, ast.With | ast.AsyncWith):
            found |= {id(node) for item in statement.items for node in ast.walk(item)}
            found |= _always_reached(statement.body)
        elif isinstance(statement, ast.Assert | ast.Expr | ast.Assign | ast.Return):
            found |= {id(node) for node in ast.walk(statement)}
    return found


def _equalities(source: TestSource, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Assert):
        for part in _parts(node.test):
            if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.Eq):
                yield _wrong(source, part.left, part.comparators[0], exact=not _is_near(part))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name, arguments = _called(node.value), node.value.args
        plain = not any(isinstance(argument, ast.Starred) for argument in arguments)
        compares = (
            name.lower().startswith("assert") and name not in _OPPOSITE and name not in _RAISES | _WARNS
        )
        if compares and plain and len(arguments) > 1:
            exact = _EXACT.fullmatch(name) is not None and not _is_near(node.value)
            yield _wrong(source, arguments[0], arguments[1], exact=exact)


def _parts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _is_near(node: ast.AST) -> bool:
    """Whether a comparison allows for some distance (`pytest.approx` and its like)."""
    names = [getattr(inner, "attr", getattr(inner, "id", "")) for inner in ast.walk(node)]
    return any("approx" in name.lower() or "close" in name.lower() for name in names)


def _wrong(source: TestSource, left: ast.expr, right: ast.expr, *, exact: bool) -> Edit:
    """Return the edit that gives the expected one of two values another value, or another kind."""
    for side in (right, left) if exact else ():
        constants = [node for node in ast.walk(side) if isinstance(node, ast.Constant)]
        for node in constants if _is_literal(side) else ():
            try:
                return source.replace(node, written_as(source.text(node), another(node.value)))
            except ValueError:
                continue
    return source.replace(right, f"({source.text(right)}, None)")


def _is_literal(node: ast.expr) -> bool:
    try:
        literal(node)
    except ValueError:
        return False
    return not any(isinstance(inner, ast.JoinedStr) for inner in ast.walk(node))


def _exceptions(source: TestSource, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Call) and node.args and not isinstance(node.args[0], ast.Starred):
        name = _called(node)
        named = ast.unparse(node.args[0])
        others = _other_errors(node.args[0]) if name in _RAISES else _OTHER_WARNINGS if name in _WARNS else ()
        if others:
            fit = [other for other in others if other not in named]
            yield source.replace(node.args[0], fit[len(named) % len(fit)])


def _other_errors(wanted: ast.expr) -> Sequence[str]:
    """Return classes that code which raises what is wanted doesn't raise.

    Beside a class of Python's own these are others of the kind; what a project's class derives from isn't
    known, and code that meets a wide one (`Exception`) may raise whatever is common.
    """
    names = wanted.elts if isinstance(wanted, ast.Tuple) else [wanted]
    classes = [getattr(builtins, name.id, None) if isinstance(name, ast.Name) else None for name in names]
    known = [found for found in classes if isinstance(found, type) and issubclass(found, Exception)]
    if len(known) < len(names) or Exception in known:
        return _OTHER_ERRORS
    far = [
        other
        for other in _COMMON_ERRORS
        if not any(
            issubclass(cls, getattr(builtins, other)) or issubclass(getattr(builtins, other), cls)
            for cls in known
        )
    ]
    return far or _OTHER_ERRORS


def _negations(source: TestSource, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Assert):
        yield source.replace(node.test, _negated(source, node.test))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function, opposite = node.value.func, _OPPOSITE.get(_called(node.value))
        if isinstance(function, ast.Attribute) and opposite is not None:
            yield source.replace(function, f"{source.text(function.value)}.{opposite}")


def _negated(source: TestSource, test: ast.expr) -> str:
    """Return the opposite of a condition, written as a test may have it."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return f"({source.text(test.operand)})" if "\n" in source.text(test) else source.text(test.operand)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and "\n" not in source.text(test):
        sign = _SIGNS[type(test.ops[0])]
        return f"{source.text(test.left)} {sign} {source.text(test.comparators[0])}"
    plain = isinstance(test, ast.Call | ast.Name | ast.Attribute | ast.Subscript)
    return f"not {source.text(test)}" if plain else f"not ({source.text(test)})"


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""
