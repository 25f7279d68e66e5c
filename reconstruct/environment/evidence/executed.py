"""Files that set-up code executes into a table (`exec(source, about)`), read and never run."""

import ast
from typing import Any, Final

from reconstruct.environment.evidence.static_values import StaticModule, parse_python
from reconstruct.environment.evidence.tree import Notebook, SourceTree, inside

_OPENERS: Final = frozenset({"open", "join", "Path", "read_text", "joinpath", "read"})
_MAX_FILES: Final = 5


def fill_executed(module: ast.Module, static: StaticModule, tree: SourceTree, notes: Notebook) -> None:
    """Put the names of files that are opened by a literal path into the tables given to `exec`."""
    tables = [name for name in _tables(module) if isinstance(static.values.get(name), dict)]
    if not tables:
        return
    found: dict[str, Any] = {}
    for path in _paths(module, tree)[:_MAX_FILES]:
        source = parse_python(tree.read(path, notes) or "")
        if isinstance(source, ast.Module):
            inner = StaticModule()
            inner.run(source.body)
            found |= inner.values
    for name in tables:
        static.values[name] = {**found, **static.values[name]}


def _tables(module: ast.Module) -> list[str]:
    calls = [n for n in ast.walk(module) if isinstance(n, ast.Call) and _called(n) == "exec"]
    return [a.id for call in calls for a in call.args[1:] if isinstance(a, ast.Name)]


def _paths(module: ast.Module, tree: SourceTree) -> list[str]:
    """Paths of Python files of the tree that are written as literals, whole or in parts to be joined."""
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and _called(node) in _OPENERS:
            parts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            path = inside("", "/".join(part for part in parts if part.strip(".")))
            if path is not None and path.endswith(".py") and tree.has(path):
                found.append(path)
    return list(dict.fromkeys(found))


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
