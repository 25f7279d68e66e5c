"""Make held-out twins of a test file: the same tests with other inputs, expectations measured on gold.

For one assertion of a test the literals among its inputs change a little: those in calls inside it, else
those in calls that made the names which it looks at, else the parameters of the test as they come. What the
fixed code then gives is the expectation, if it's a plain value. Twins lie beside the original under names
that nobody can guess: neither a table of known inputs nor a look at the test's name helps (R11, R20).
"""

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from swequarry.records import TestId
from swequarry.verify.testsource import Edit, Function, TestSource, another, own_nodes, written

_MARK = "swequarry-value:"
_VALUE = re.compile(re.escape(_MARK) + r"(.*):\.$")
_FAR = 3
"""Letters from a measured text to a wrong one. Inputs change by fewer: code that gives back what they were
before is wrong, but hasn't read what the test wants."""
_EQUAL = frozenset({"assertEqual", "assertEquals", "assert_equal", "eq_"})

_HELPERS = """
def _twin_plain(value):
    kind = type(value)
    if kind in (list, tuple):
        return all(_twin_plain(part) for part in value)
    if kind is dict:
        return all(_twin_plain(key) and _twin_plain(part) for key, part in value.items())
    return value is None or kind in (int, float, str, bool)


def _twin_other(value):
    if type(value) is int:
        return value + 1 if value > 1 else value - 1 if value < 0 else value + 2
    if type(value) is float:
        return value + 0.5
    if type(value) in (list, tuple):
        return type(value)(_twin_other(part) for part in value)
    if type(value) is str:
        for place in range(len(value) - 1, -1, -1):
            for first, count in (("a", 26), ("A", 26), ("0", 10)):
                if 0 <= ord(value[place]) - ord(first) < count:
                    new = chr(ord(first) + (ord(value[place]) - ord(first) + 1) % count)
                    return value[:place] + new + value[place + 1 :]
    return value
"""
_PROBE = (
    _HELPERS
    + """

def _twin_tell(value, *key):
    assert _twin_plain(value) and _twin_plain(key), "no plain value"
    raise AssertionError("{mark}" + ascii((key, value)) + ":.")
""".replace("{mark}", _MARK)
)
_COMPARE = (
    _HELPERS
    + """

def _twin_same(got, expected):
    if type(expected) is float and type(got) in (int, float):
        return got == expected or abs(got - expected) <= 1e-6 * max(1.0, abs(expected))
    if type(expected) in (list, tuple) and type(got) is type(expected):
        return len(got) == len(expected) and all(_twin_same(a, b) for a, b in zip(got, expected))
    return bool(got == expected)


_TWIN_VALUES = {wanted}


def _twin_check(name, got, *key):
    for known, expected in _TWIN_VALUES[name]:
        if known == key:
            assert _twin_same(got, expected)
            return
    raise AssertionError("not measured")
"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One assertion with other inputs: `value` is what it looks at, `key` the parameters that decide it."""

    function: str
    statement: Edit
    value: str
    key: tuple[str, ...]
    others: tuple[Edit, ...]


def sites(source: TestSource, name: str, turn: int) -> list[Site]:
    """Return the assertions of the functions of a name whose inputs can be changed, in order."""
    found = []
    for function in source.functions([name]):
        for node in own_nodes(function):
            looked_at = _looked_at(node)
            if looked_at is not None and isinstance(node, ast.stmt):
                site = _site(source, function, node, looked_at, turn)
                found += [site] if site is not None else []
    return found


def raising_inputs(source: TestSource, name: str) -> list[Edit]:
    """Return the edits that change what the functions of a name give to code that must raise an error."""
    return [
        edit
        for function in source.functions([name])
        for node in own_nodes(function)
        if isinstance(node, ast.With | ast.AsyncWith) and any(map(_is_raises, node.items))
        for statement in node.body
        for edit in _changed_inputs(source, statement, 1)
    ]


def _is_raises(item: ast.withitem) -> bool:
    call = item.context_expr
    name = getattr(call.func, "attr", getattr(call.func, "id", "")) if isinstance(call, ast.Call) else ""
    return name == "raises" or name.startswith("assertRaises")


def probe(source: TestSource, chosen: Collection[Site]) -> bytes | None:
    """Return the file of some tests in which each chosen assertion fails with the value it looks at."""
    edits = [edit for site in chosen for edit in _edits(site, "_twin_tell(")]
    return source.edited([*edits, *source.without_tests({site.function for site in chosen})], _PROBE)


def twin(
    source: TestSource, chosen: Collection[Site], values: Mapping[str, Sequence[tuple[object, object]]]
) -> bytes | None:
    """Return the file of some tests in which each chosen assertion wants the value for its parameters."""
    wanted = {site.function: [tuple(pair) for pair in values[site.function]] for site in chosen}
    edits = [edit for site in chosen for edit in _edits(site, f"_twin_check({written(site.function)}, ")]
    edits += source.without_tests({site.function for site in chosen})
    return source.edited(edits, _COMPARE.replace("{wanted}", ascii(wanted)))


def unlike(value: object, *, up: bool = True) -> object:
    """Return a value of the same kind that a measured one isn't equal to.

    Who sees both can't tell which was measured: what goes up from one comes down from the other.
    """
    if isinstance(value, list | tuple) and value:
        return type(value)([unlike(value[0], up=up), *value[1:]])
    if isinstance(value, dict) and value:
        first = next(iter(value))
        return {**value, first: unlike(value[first], up=up)}
    if isinstance(value, int | float):
        return _unlike_number(value, up=up)
    try:
        return another(value, _FAR if up else -_FAR)
    except ValueError:
        return (value, None)


def _unlike_number(value: float, *, up: bool) -> float:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1 if up else value - 1
    near = abs(value + 1) < 1  # other floats go far enough for no value to be near both
    return value + (3 if up else -3) if near else value * 2 + 1 if up else (value - 1) / 2


def told_value(detail: str) -> tuple[object, object] | None:
    """Return (parameters, value) from the last line of a probe's error, None where it holds none."""
    match = _VALUE.search(detail)
    try:
        pair = ast.literal_eval(match[1]) if match else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return pair if isinstance(pair, tuple) and len(pair) == 2 else None  # noqa: PLR2004


def renamed(test: TestId, old: str, new: str) -> TestId:
    """Return the id that a test has in another file of the same folder."""
    if "::" in test:
        return TestId(new + test[len(old) :])
    stems = [path.removesuffix(".py").rsplit("/", 1)[-1] for path in (old, new)]
    method, _, place = test.partition(" (")
    parts = [stems[1] if part == stems[0] else part for part in place.split(".")]
    return TestId(f"{method} ({'.'.join(parts)}")


def _edits(site: Site, call: str) -> list[Edit]:
    text = f"{call}{', '.join([site.value, *site.key])})"
    return [*site.others, Edit(site.statement.start, site.statement.end, text)]


def _looked_at(node: ast.AST) -> ast.expr | None:
    """Return the part of an assertion whose value is worth measuring."""
    if isinstance(node, ast.Assert):
        test = node.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            sides = [test.left, test.comparators[0]]
            return next((side for side in sides if _is_made(side)), test)
        return test
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        name = getattr(function, "attr", getattr(function, "id", ""))
        if name in _EQUAL and len(node.value.args) > 1:
            return next((side for side in node.value.args[:2] if _is_made(side)), None)
    return None


def _is_made(node: ast.expr) -> bool:
    """Whether a value comes from a call, or from a name that one may have made."""
    return any(isinstance(inner, ast.Call | ast.Attribute | ast.Subscript) for inner in ast.walk(node)) or (
        isinstance(node, ast.Name)
    )


def _site(
    source: TestSource, function: Function, statement: ast.stmt, looked_at: ast.expr, turn: int
) -> Site | None:
    whole = source.replace(statement, "")
    inside = _changed_inputs(source, looked_at, turn)
    if inside:
        value = source.text_with(looked_at, inside)
        return Site(function=function.name, statement=whole, value=value, key=_key(function), others=())
    names = {node.id for node in ast.walk(looked_at) if isinstance(node, ast.Name)}
    before = [
        edit for made in _makers(function, statement, names) for edit in _changed_inputs(source, made, turn)
    ]
    if before:
        value = source.text(looked_at)
        return Site(
            function=function.name, statement=whole, value=value, key=_key(function), others=tuple(before)
        )
    parameters = [name for name in _key(function) if name in names]
    if not parameters or turn > 1:
        return None
    uses = [n for n in ast.walk(looked_at) if isinstance(n, ast.Name) and n.id in parameters]
    value = source.text_with(looked_at, [source.replace(n, f"_twin_other({n.id})") for n in uses])
    return Site(function=function.name, statement=whole, value=value, key=tuple(parameters), others=())


def _key(function: Function) -> tuple[str, ...]:
    """Return the names of a test's values from `parametrize`; other parameters are fixtures."""
    names: set[str] = set()
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "attr", "") == "parametrize":
            first = decorator.args[0] if decorator.args else None
            listed = first.elts if isinstance(first, ast.Tuple | ast.List) else [first]
            for node in listed:
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    names.update(part.strip() for part in node.value.split(","))
    return tuple(argument.arg for argument in function.args.args if argument.arg in names)


def _makers(function: Function, statement: ast.stmt, names: Collection[str]) -> list[ast.expr]:
    """Return what was assigned to some names in a function before a statement."""
    made = []
    for node in own_nodes(function):
        if isinstance(node, ast.Assign) and node.lineno < statement.lineno:
            targets = {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
            if targets.intersection(names):
                made.append(node.value)
    return made


def _changed_inputs(source: TestSource, node: ast.expr | ast.stmt, turn: int) -> list[Edit]:
    """Return edits that change the plain literals among the arguments of calls in a piece of code.

    The first turn changes all, others one alone, a number if there is one: a number beside another is mostly
    as good an input as it was, while another letter can make of a unit, a name or a path what nobody knows.
    """
    edits, numbers = {}, []
    for call in (inner for inner in ast.walk(node) if isinstance(inner, ast.Call)):
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        for constant in (inner for value in values for inner in _constants(value)):
            try:
                edit = source.replace(constant, written(another(constant.value, turn)))
            except ValueError:
                continue
            edits[edit.start] = edit
            numbers += [edit] if isinstance(constant.value, int | float) else []
    return list(edits.values()) if turn == 1 else [*numbers, *edits.values()][:1]


def _constants(node: ast.expr) -> list[ast.Constant]:
    """Return the constants of a literal, nested lists and tuples and values of dicts included."""
    if isinstance(node, ast.Constant):
        return [node]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [constant for part in node.elts for constant in _constants(part)]
    return (
        [constant for part in node.values for constant in _constants(part)]
        if isinstance(node, ast.Dict)
        else []
    )
