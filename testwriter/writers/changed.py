"""What a fix changes: the functions around its lines, and those beside them that take the same."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from swequarry.git.paths import path_text
from swequarry.verify.mutation_diff import ChangedFile
from swequarry.verify.testsource import Function


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A function that a fix changes; `owner` is the class that it's a method of, empty for none.

    `siblings` are functions of the same class or module with the same parameters, or that call it.
    """

    path: str
    owner: str
    name: str
    function: Function
    siblings: frozenset[str]


def changed_functions(files: Sequence[ChangedFile]) -> list[Changed]:
    """Return the functions that a fix changes and that were there before, in the order of the files."""
    found = []
    for file in files:
        if not file.is_python or file.old is None:
            continue
        lines = {line for hunk in file.changed_lines() for line in hunk}
        before = {(owner, function.name) for owner, function, _ in _functions(file.old)}
        for owner, function, others in _functions(file.new or b""):
            span = range(function.lineno, (function.end_lineno or function.lineno) + 1)
            if lines.intersection(span) and (owner, function.name) in before:
                found.append(
                    Changed(
                        path=path_text(file.path),
                        owner=owner,
                        name=function.name,
                        function=function,
                        siblings=frozenset(
                            o.name for o in others if o is not function and _is_sibling(o, function)
                        ),
                    )
                )
    return found


def _functions(data: bytes) -> Iterator[tuple[str, Function, list[Function]]]:
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    owners: list[tuple[str, list[ast.stmt]]] = [("", tree.body)]
    owners += [(node.name, node.body) for node in tree.body if isinstance(node, ast.ClassDef)]
    for owner, body in owners:
        own = [node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        for function in own:
            yield owner, function, own


def _is_sibling(other: Function, function: Function) -> bool:
    if other.name.startswith("__"):
        return False
    if [a.arg for a in other.args.args] == [a.arg for a in function.args.args] and function.args.args:
        return True
    calls = (node for node in ast.walk(other) if isinstance(node, ast.Call))
    return any(_called(call) == function.name for call in calls)


def _called(call: ast.Call) -> str:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return name if isinstance(name, str) else ""
