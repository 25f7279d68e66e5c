"""Which top-level names Python files import, and which files are tests.

The whole tree is searched by pattern (a syntax tree of thousands of files costs too long); the few changed
test files are parsed.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import basename
from typing import Final

from reconstruct.environment.evidence.model import ImportedNames
from reconstruct.environment.evidence.static_values import parse_python
from reconstruct.environment.evidence.tree import MAX_LONG_FILE_BYTES, Notebook, SourceTree
from reconstruct.environment.knowledge import plugin_table

MAX_TOTAL_BYTES: Final = 80_000_000
_IMPORT: Final = re.compile(
    r"^[ \t]*(?:from[ \t]+([A-Za-z_]\w*)"
    r"|import[ \t]+([A-Za-z_][\w.]*(?:(?:[ \t]+as[ \t]+\w+)?[ \t]*,[ \t]*[A-Za-z_][\w.]*)*))",
    re.MULTILINE,
)
_BY_TEXT: Final = re.compile(
    r"(?:importorskip|import_module|__import__|_importorskip)\(\s*[\"']([A-Za-z_]\w*)"
)
_FUNCTION: Final = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
_TEST_PATH: Final = re.compile(
    r"(?:^|/)(?:tests?|testing)(?:/|$)|(?:^|/)(?:test_|conftest)[^/]*\.py$|_tests?\.py$"
)


def is_test_path(path: str) -> bool:
    """Whether a path looks like part of a test suite."""
    return _TEST_PATH.search(path) is not None


def scan_imports(tree: SourceTree, notes: Notebook) -> ImportedNames:
    """Return the names that the Python files of a tree import, bounded in total size."""
    everywhere: set[str] = set()
    tests: set[str] = set()
    functions: set[str] = set()
    known = plugin_table().fixtures
    remaining = MAX_TOTAL_BYTES
    for path in tree.files:
        if not path.endswith(".py") or basename(path) == "setup.py":
            continue
        text = tree.read(path, notes, MAX_LONG_FILE_BYTES)
        if text is None:
            continue
        remaining -= len(text)
        if remaining < 0:
            notes.note("imports_truncated", f"more than {MAX_TOTAL_BYTES} bytes of Python", path)
            break
        names = set(names_by_pattern(text))
        everywhere |= names
        if is_test_path(path):
            tests |= names
            functions.update(name for name in _FUNCTION.findall(text) if name in known)
    return ImportedNames(
        everywhere=frozenset(everywhere), tests=frozenset(tests), functions=frozenset(functions)
    )


def names_by_pattern(text: str) -> Iterator[str]:
    """Yield top-level names that a text seems to import."""
    for match in _IMPORT.finditer(text):
        if match[1]:
            yield match[1]
        else:
            for part in match[2].split(","):
                yield part.strip().split(".")[0].split(" ")[0]
    for match in _BY_TEXT.finditer(text):
        yield match[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileImports:
    """What one file imports: `needed` at its top and unguarded, `wanted` wherever; `fixtures`, `markers`.

    `fixtures` are the argument names of its functions, `markers` the names after `pytest.mark.`.
    """

    needed: frozenset[str] = frozenset()
    wanted: frozenset[str] = frozenset()
    fixtures: frozenset[str] = frozenset()
    markers: frozenset[str] = frozenset()


def imports_of(sources: Mapping[str, str]) -> FileImports:
    """Return the imports of some files together; a file that can't be parsed is searched by pattern."""
    needed: set[str] = set()
    wanted: set[str] = set()
    fixtures: set[str] = set()
    for path in sorted(sources):
        module = parse_python(sources[path])
        if isinstance(module, str):
            wanted |= set(names_by_pattern(sources[path]))
            continue
        needed |= {name for statement in module.body for name in _imported(statement)}
        wanted |= set(names_by_pattern(sources[path]))
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _takes_fixtures(node):
                fixtures |= {argument.arg for argument in [*node.args.args, *node.args.kwonlyargs]}
    markers = {m for text in sources.values() for m in re.findall(r"\bmark\.([A-Za-z_]\w*)", text)}
    return FileImports(
        needed=frozenset(needed),
        wanted=frozenset(wanted | needed),
        fixtures=frozenset(fixtures),
        markers=frozenset(markers),
    )


def _imported(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.Import(names=names):
            yield from (alias.name.split(".")[0] for alias in names)
        case ast.ImportFrom(module=str() as module, level=0):
            yield module.split(".")[0]


def _takes_fixtures(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return function.name.startswith("test") or any(_is_fixture(d) for d in function.decorator_list)


def _is_fixture(decorator: ast.expr) -> bool:
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return "fixture" in (name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", ""))
