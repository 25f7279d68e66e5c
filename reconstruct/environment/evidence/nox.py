"""noxfile.py: the sessions that test, read and never run."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from reconstruct.environment.evidence.model import Install, Origin, PythonHint, Requested
from reconstruct.environment.evidence.requirement_files import rank_name, resolve
from reconstruct.environment.evidence.shell import install_commands
from reconstruct.environment.evidence.static_values import StaticModule, parse_python
from reconstruct.environment.evidence.tree import Notebook, SourceTree
from reconstruct.environment.evidence.versions import python_version

PATH: Final = "noxfile.py"
_OTHER_PURPOSE: Final = (
    "docs",
    "doc",
    "lint",
    "format",
    "release",
    "build",
    "mypy",
    "typing",
    "type",
    "black",
    "blacken",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoxFacts:
    """Python versions of the sessions, and what each session that tests installs."""

    pythons: tuple[PythonHint, ...] = ()
    installs: tuple[Install, ...] = ()


def read_nox(tree: SourceTree, notes: Notebook) -> NoxFacts:
    """Return what the functions decorated as sessions say in literals and module constants."""
    text = tree.read(PATH, notes)
    if text is None:
        return NoxFacts()
    module = parse_python(text)
    if isinstance(module, str):
        notes.broken(PATH, module)
        return NoxFacts()
    static = StaticModule()
    static.run(module.body)
    pythons: dict[PythonHint, None] = {}
    installs = []
    for function in module.body:
        if not isinstance(function, ast.FunctionDef) or not _is_test_session(function):
            continue
        for version in _pythons(function, static):
            notes.note("nox_python", version, PATH, function.lineno)
            pythons[PythonHint(version=version, origin=Origin.NOX)] = None
        requested = _installs(function, static, tree, notes)
        if requested:
            installs.append(Install(path=PATH, job=function.name, requested=requested))
    return NoxFacts(pythons=tuple(pythons), installs=tuple(installs))


def _decorators(function: ast.FunctionDef) -> Iterator[tuple[str, ast.Call | None]]:
    for decorator in function.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        yield ast.unparse(call.func if call else decorator), call


def _is_test_session(function: ast.FunctionDef) -> bool:
    named = any(name in {"nox.session", "session", "nox_poetry.session"} for name, _ in _decorators(function))
    parts = function.name.lower().split("_")
    return (
        named and not any(part in _OTHER_PURPOSE for part in parts) and rank_name(function.name) is not None
    )


def _pythons(function: ast.FunctionDef, static: StaticModule) -> Iterator[str]:
    for _, call in _decorators(function):
        for keyword in call.keywords if call else ():
            value = static.value(keyword.value) if keyword.arg in {"python", "py"} else None
            for token in value if isinstance(value, list) else [value]:
                if isinstance(token, str) and (version := python_version(token)):
                    yield version


def _installs(
    function: ast.FunctionDef, static: StaticModule, tree: SourceTree, notes: Notebook
) -> Requested:
    found = Requested()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            words = [word for word in (_word(static, arg) for arg in node.args) if word is not None]
            command = _command_line(node.func.attr, words)
            for install in install_commands(command) if command else ():
                requested = resolve(install.lines, "", tree, notes, origin=PATH)
                own = Requested(extras=install.extras, groups=install.groups)
                notes.note("nox_install", command, PATH, node.lineno)
                found = found.joined(requested).joined(own)
    return found


def _word(static: StaticModule, node: ast.expr) -> str | None:
    value: Any = static.value(node)
    return value if isinstance(value, str) else None


def _command_line(method: str, words: list[str]) -> str:
    if method == "install":
        words = ["pip", "install", *words]
    elif method == "conda_install":
        words = ["conda", "install", *words]
    elif method not in {"run", "run_always", "run_install"}:
        return ""
    return " ".join(f'"{word}"' for word in words if '"' not in word and "\n" not in word)
