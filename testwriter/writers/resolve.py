"""Find the imports that a pasted piece of code leaves out, by what files of the base import and define."""

import ast
import builtins
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from swequarry.git.testpaths import is_test_module
from swequarry.syntax.grammars import parse, text
from swequarry.syntax.imports import STAR, imports_of
from swequarry.verify.modules import Modules
from testwriter.interface import Subject

_MOST_FILES = 3_000
_LARGEST = 400_000


@dataclass(slots=True)
class Names:
    """Import lines by the name that they bind, as the base's own files have them; most used first.

    `defined` are the top-level functions and classes of the base's modules: name to modules.
    """

    imports: dict[str, Counter[str]] = field(default_factory=dict)
    defined: dict[str, list[str]] = field(default_factory=dict)
    packages: frozenset[str] = frozenset()

    def line_for(self, name: str) -> str | None:
        """Return the import line that gives a name; None where the base knows none."""
        if name in self.packages:
            return f"import {name}"
        if name in self.imports:
            counted = self.imports[name]
            return min(counted, key=lambda line: (-counted[line], len(line), line))
        modules = self.defined.get(name, [])
        return f"from {min(modules, key=lambda m: (m.count('.'), m))} import {name}" if modules else None


def names_of(subject: Subject) -> Names:
    """Return what the Python files of a base tree import and define."""
    paths = [path for path in subject.paths if path.endswith(".py")][:_MOST_FILES]
    sources = {path.encode(): data for path in paths if len(data := subject.read(path) or b"") <= _LARGEST}
    modules, found = Modules(sources), Names()
    own: set[str] = set()
    for path, data in sources.items():
        module, weight = modules.name_of(path), 3 if is_test_module(path) else 1
        for name, line in _lines(data):
            found.imports.setdefault(name, Counter())[line] += weight
        if not is_test_module(path) and _importable(path):
            own.add(module.partition(".")[0])
            for name in _definitions(data):
                found.defined.setdefault(name, []).append(module)
    found.packages = frozenset(name for name in own if f"{name}/__init__.py".encode() in _tails(sources))
    return found


def _tails(sources: dict[bytes, bytes]) -> frozenset[bytes]:
    return frozenset(b"/".join(path.split(b"/")[-2:]) for path in sources)


def _importable(path: bytes) -> bool:
    return not path.startswith((b"docs/", b"doc/", b"examples/", b"benchmarks/", b"setup.py", b"."))


def _lines(data: bytes) -> Iterator[tuple[str, str]]:
    for one in imports_of(data):
        if one.level:
            continue
        for theirs, ours in one.names:
            if theirs != STAR:
                yield ours, f"from {one.module} import {theirs}" + (f" as {ours}" if ours != theirs else "")
        if not one.names and one.bound == one.module:
            yield one.bound, f"import {one.module}"
        elif not one.names and "." not in one.bound and one.bound != one.module.partition(".")[0]:
            yield one.bound, f"import {one.module} as {one.bound}"


def _definitions(data: bytes) -> Iterator[str]:
    for node in parse(data).root_node.children:
        inner = node.child_by_field_name("definition") if node.type == "decorated_definition" else node
        if inner is not None and inner.type in {"function_definition", "class_definition"}:
            name = inner.child_by_field_name("name")
            if name is not None:
                yield text(name).decode("utf-8", "replace")


def missing_imports(source: str, names: Names) -> list[str] | None:
    """Return the import lines that a piece of code lacks; None where a name of it comes from nowhere."""
    lines = []
    for name in sorted(free_names(ast.parse(source))):
        line = names.line_for(name)
        if line is None:
            return None
        lines.append(line)
    return lines


def free_names(tree: ast.Module) -> set[str]:
    """Return the names that a module uses and nobody binds."""
    used: set[str] = set()
    bound = set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return used - bound
