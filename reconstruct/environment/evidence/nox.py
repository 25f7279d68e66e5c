"""noxfile.py: the sessions that test, read and never run."""

import ast
import re
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
MAX_FUNCTIONS: Final = 50
_PLAIN: Final = frozenset(
    {"test", "tests", "pytest", "unit", "unittest", "unittests", "unit_test", "unit_tests"}
)
"""What the session is called that tests as such; others that test are its variants."""
_TESTING: Final = re.compile(
    r"(?:.*_)?(?:tests?|testing|unit|unittests?|pytest|py|python)(?:_.*)?", re.IGNORECASE
)
_OTHER_PURPOSE: Final = re.compile(
    r"docs?|lint|format|release|build|mypy|typing|types?|typecheck|black|blacken|audit|secrets|licenses?|style|perf"
    r"|bench(?:mark)?s?|readme|publish|coverage|bandit|security|pre|commit|requirements|changelog|spell(?:ing|check)?"
    r"|safety|dist|update|bump|dev|serve|clean|twine|upload|flake8|ruff|pylint|isort|vulture|check|manifest"
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
    for function in _test_sessions(module):
        for version in _pythons(function, static):
            notes.note("nox_python", version, PATH, function.lineno)
            pythons[PythonHint(version=version, origin=Origin.NOX)] = None
        requested = _installs(module, function, static, tree, notes)
        if requested:
            installs.append(Install(path=PATH, job=function.name, requested=requested))
    return NoxFacts(pythons=tuple(pythons), installs=tuple(installs))


def _decorators(function: ast.FunctionDef) -> Iterator[tuple[str, ast.Call | None]]:
    for decorator in function.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        name = call.func if call else decorator
        yield name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", ""), call


def _test_sessions(module: ast.Module) -> list[ast.FunctionDef]:
    """Sessions that are called like tests; where none is, those that aren't called like something else."""
    functions = [f for f in module.body if isinstance(f, ast.FunctionDef)]
    sessions = [f for f in functions if any(name == "session" for name, _ in _decorators(f))]
    suitable = [
        f for f in sessions if not any(_OTHER_PURPOSE.fullmatch(p) for p in f.name.lower().split("_"))
    ]
    suitable = [f for f in suitable if rank_name(f.name) is not None]
    testing = [f for f in suitable if _TESTING.fullmatch(f.name)]
    return [f for f in testing if f.name.lower() in _PLAIN] or testing or suitable


def _pythons(function: ast.FunctionDef, static: StaticModule) -> Iterator[str]:
    for _, call in _decorators(function):
        for keyword in call.keywords if call else ():
            value = static.value(keyword.value) if keyword.arg in {"python", "py"} else None
            for token in value if isinstance(value, list) else [value]:
                if isinstance(token, str) and (version := python_version(token)):
                    yield version


def _installs(
    module: ast.Module, session: ast.FunctionDef, static: StaticModule, tree: SourceTree, notes: Notebook
) -> Requested:
    found = Requested()
    for function, names in _reached(module, session, static):
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                words = [word for word in (_word(names, arg) for arg in node.args) if word is not None]
                command = _command_line(node.func.attr, words)
                for install in install_commands(command) if command else ():
                    requested = resolve(install.lines, "", tree, notes, origin=PATH)
                    own = Requested(extras=install.extras, groups=install.groups)
                    notes.note("nox_install", command, PATH, node.lineno)
                    found = found.joined(requested).joined(own)
    return found


def _reached(
    module: ast.Module, session: ast.FunctionDef, static: StaticModule
) -> Iterator[tuple[ast.FunctionDef, StaticModule]]:
    """The session and the functions of the file that it calls, each with what its names are worth there."""
    helpers = {f.name: f for f in module.body if isinstance(f, ast.FunctionDef)}
    waiting, seen = [(session, static)], {session.name}
    while waiting:
        function, names = waiting.pop(0)
        yield function, names
        for node in ast.walk(function):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            called = helpers.get(node.func.id)
            if called is not None and called.name not in seen and len(seen) < MAX_FUNCTIONS:
                seen.add(called.name)
                waiting.append((called, _bound(called, node, names)))


def _bound(function: ast.FunctionDef, call: ast.Call, outer: StaticModule) -> StaticModule:
    """The names of a called function: those of its caller, its defaults, and what the call passes."""
    inner = StaticModule()
    inner.values = dict(outer.values)
    parameters = [p.arg for p in (*function.args.posonlyargs, *function.args.args)]
    defaults = function.args.defaults
    given = list(zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True))
    pairs = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    given += [(parameter.arg, value) for parameter, value in pairs if value is not None]
    given += [*zip(parameters, call.args, strict=False)]
    given += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
    inner.values |= {name: outer.value(value) for name, value in given}
    return inner


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
