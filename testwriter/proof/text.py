"""The rules about a proposed test's text: what it may say, whatever its runs show.

The text is read with the `ast` of our own Python. What can't be seen in a text (what a helper of the project
does, a name put together at run time) is seen in the runs, which are watched.
"""

import ast
import builtins
import datetime as dt
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import yaml

from swequarry.git.testpaths import is_test_module
from testwriter.interface import Proposal, Subject
from testwriter.proof.codes import Refusal

if TYPE_CHECKING:
    from types import ModuleType

Finding = tuple[Refusal, str]
"""A rule that is broken, and by what."""
_WORD = re.compile(r"[^\W\d]\w*")
_MAX_BYTES = 64_000
_REFLECTION = frozenset({"getattr", "setattr", "hasattr", "delattr"})
_KEYWORDS = frozenset(
    {"key", "reverse", "default", "start", "sep", "end", "encoding", "errors", "strict", "base", "indent"}
)
"""Parameters of Python's own functions that no listing of them names."""
_LOOKS = frozenset({"exists", "isfile", "is_file", "isdir", "is_dir", "samefile", "lexists"})
_OWN_FOLDERS = frozenset({"tmp_path", "tmpdir", "tmp_path_factory", "tmpdir_factory"})
_BY_TEXT = frozenset({"patch", "setattr", "delattr", "object", "multiple", "usefixtures"})
_HOOKS = frozenset({"load_tests", "pytestmark", "__getattr__", "__test__", "collect_ignore"})
_FRAMEWORKS = frozenset(
    """
    pytest raises mark parametrize fixture approx warns deprecated_call tmp_path tmpdir
    capsys caplog capfd monkeypatch setattr setitem setenv delenv delitem delattr chdir
    syspath_prepend readouterr text records value match excinfo param fail recwarn pop clear
    request unittest TestCase mock patch Mock MagicMock setUp tearDown setUpClass
    tearDownClass subTest main
    """.split()  # noqa: SIM905 - a list of words reads better
)


def _attributes(*owners: object) -> frozenset[str]:
    return frozenset(name for owner in owners for name in dir(owner))


@cache
def known_everywhere() -> frozenset[str]:
    """Return the names that need no repository: Python's own, those of plain values, of test frameworks."""
    import collections  # noqa: PLC0415 - only their names are wanted
    import decimal  # noqa: PLC0415
    import fractions  # noqa: PLC0415
    import functools  # noqa: PLC0415
    import io  # noqa: PLC0415
    import itertools  # noqa: PLC0415
    import json  # noqa: PLC0415
    import math  # noqa: PLC0415
    import operator  # noqa: PLC0415
    import pathlib  # noqa: PLC0415
    import typing  # noqa: PLC0415
    import unittest  # noqa: PLC0415
    import warnings  # noqa: PLC0415

    modules: list[ModuleType] = [collections, decimal, fractions, functools, io, itertools, json, math]
    modules += [operator, pathlib, typing, warnings, dt, ast, re]
    plain = (str, bytes, bytearray, list, dict, set, frozenset, tuple, int, float, complex, bool, object)
    dates = (dt.datetime, dt.date, dt.timedelta, dt.timezone, pathlib.Path)
    more = (decimal.Decimal, fractions.Fraction, BaseException, OSError, UnicodeDecodeError, SyntaxError)
    kinds = (
        collections.OrderedDict,
        collections.Counter,
        collections.defaultdict,
        collections.deque,
        io.StringIO,
    )
    own = _attributes(
        builtins, *modules, *plain, *dates, *more, *kinds, io.StringIO, re.compile(""), unittest.TestCase
    )
    return own | _FRAMEWORKS | _KEYWORDS | {module.__name__ for module in modules}


@cache
def _words() -> dict[str, dict[str, Refusal]]:
    data = yaml.safe_load((files("testwriter.proof") / "words.yaml").read_text(encoding="utf-8"))
    return {
        part: {str(word): Refusal(code) for code, words in table.items() for word in words}
        for part, table in data.items()
    }


def judge_text(proposal: Proposal, subject: Subject) -> list[Finding]:
    """Return the rules that a proposal's text breaks, each with what breaks it; none where it may be run."""
    if found := list(_path(proposal, subject)):
        return found
    try:
        tree = ast.parse(proposal.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return [(Refusal.NOT_PYTHON, str(error)[:200])]
    if len(proposal.text.encode("utf-8", "replace")) > _MAX_BYTES:
        return [(Refusal.NOT_PYTHON, f"larger than {_MAX_BYTES} bytes")]
    found = [finding for rule in _RULES for finding in rule(tree)]
    found += _unknown(tree, subject)
    return list(dict.fromkeys(found))


def _path(proposal: Proposal, subject: Subject) -> Iterator[Finding]:
    path = proposal.path
    parts = path.split("/")
    upstream = {known for known, _ in subject.upstream_tests or ()}
    made = subject.after is not None and subject.after(path) is not None
    if (
        made
        or path in subject.paths
        or path in upstream
        or any(one.startswith(path + "/") for one in subject.paths)
    ):
        yield Refusal.BAD_PATH, f"{path} is there already"
    elif path.startswith(("/", '"')) or {"", ".", "..", ".git"}.intersection(parts) or not path.isprintable():
        yield Refusal.BAD_PATH, f"{path} isn't a plain path below the checkout"
    elif not is_test_module(path.encode()) or parts[-1] in {"conftest.py", "__init__.py"}:
        yield Refusal.BAD_PATH, f"{path} isn't that of a test module"


def _tests(tree: ast.Module) -> Iterator[Finding]:
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    if not any(function.name.startswith("test") for function in functions):
        yield Refusal.NO_TEST, "no function is named like a test"
    for node in ast.walk(tree):
        # a name that the framework looks for changes how all tests are run
        names = [node.name] if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else []
        names += [node.id] if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else []
        for name in names:
            if name.startswith("pytest_") or name in {
                "load_tests",
                "pytestmark",
                "pytest_plugins",
                "__getattr__",
            }:
                yield Refusal.DYNAMIC_CODE, f"`{name}` changes how tests are run"


def _imports(tree: ast.Module) -> Iterator[Finding]:
    table = _words()["modules"]
    for node in ast.walk(tree):
        found: list[str] = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found = [f"{node.module or ''}.{alias.name}".lstrip(".") for alias in node.names]
            if any(alias.name == "*" for alias in node.names):
                yield Refusal.DYNAMIC_CODE, "a star import hides what is used"
        for name in found:
            parts = name.split(".") if not getattr(node, "level", 0) else []
            prefixes = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
            yield from ((table[one], f"import of `{one}`") for one in prefixes if one in table)
            last = parts[-1] if parts else ""
            if last in _words()["attributes"]:
                yield _words()["attributes"][last], f"import of `{name}`"


def _names(tree: ast.Module) -> Iterator[Finding]:
    table = _words()["names"]
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in table:
            yield table[node.id], f"`{node.id}`"
        if isinstance(node, ast.Name) and node.id in _REFLECTION and not _is_called(tree, node):
            yield Refusal.DYNAMIC_CODE, f"`{node.id}` under another name"


def _is_called(tree: ast.Module, name: ast.Name) -> bool:
    return any(isinstance(node, ast.Call) and node.func is name for node in ast.walk(tree))


def _attribute_names(tree: ast.Module) -> Iterator[Finding]:
    table = _words()["attributes"]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in table:
            yield table[node.attr], f"`.{node.attr}`"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _REFLECTION:
            name = node.args[1] if len(node.args) > 1 else None
            if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
                yield Refusal.DYNAMIC_CODE, f"`{node.func.id}` with a name that is made at run time"
            elif name.value in table:
                yield table[name.value], f"`{node.func.id}` of `{name.value}`"


_Rule = Callable[[ast.Module], Iterator[Finding]]


def _looks(tree: ast.Module) -> Iterator[Finding]:
    """Yield the questions whether files are there, in a file that makes none of its own."""
    asked = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} & _LOOKS
    words = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    if asked and not words & _OWN_FOLDERS:
        yield Refusal.READS_SOURCE, f"`.{min(asked)}` without a folder of its own"


_RULES: tuple[_Rule, ...] = (_tests, _imports, _names, _attribute_names, _looks)


# --- names --------------------------------------------------------------------------------------------------


def _unknown(tree: ast.Module, subject: Subject) -> list[Finding]:
    """Return the names that a solver can't know: neither in the base, nor said, nor the test's own."""
    own, used = _own_names(tree), _used_names(tree)
    said = frozenset(_WORD.findall(f"{subject.title}\n{subject.statement}"))
    known = own | known_everywhere() | subject.base_names | subject.interface_names | said
    return [(Refusal.UNKNOWN_NAME, f"`{name}`") for name in sorted(used - known)]


def _own_names(tree: ast.Module) -> frozenset[str]:
    """Return what a file binds itself; what it imports isn't its own under the name that it has there."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            found.add(node.attr)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update(alias.asname for alias in node.names if alias.asname)
        elif isinstance(node, ast.Lambda):
            found.update(argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.update(_parameters(node))
    return frozenset(found)


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Yield the parameters of a function; those of a test come from fixtures, which others define."""
    named = {
        node.value
        for decorator in function.decorator_list
        for node in ast.walk(decorator)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    spread = {part.strip() for name in named for part in name.split(",")}
    for node in ast.walk(function.args):
        if isinstance(node, ast.arg) and (
            not function.name.startswith("test") or node.arg in spread or node.arg in {"self", "cls"}
        ):
            yield node.arg


def _parts(text: str) -> list[str]:
    """Return the names of a dotted name; none for other texts."""
    parts = text.split(".")
    return parts if all(part.isidentifier() for part in parts) else []


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"self", "cls"}


def _used_names(tree: ast.Module) -> frozenset[str]:
    """Return what a file asks of others: names, attributes, modules, keywords, parameters of tests."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.keyword) and node.arg:
            found.add(node.arg)
        elif isinstance(node, ast.ImportFrom):
            found.update((node.module or "").split("."))
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(part for alias in node.names for part in alias.name.split("."))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _REFLECTION:
            found.update(str(a.value) for a in node.args[1:2] if isinstance(a, ast.Constant))
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _BY_TEXT:
            texts = (a.value for a in node.args[:2] if isinstance(a, ast.Constant))
            found.update(part for text in texts if isinstance(text, str) for part in _parts(text))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            found.update(argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg))
    return frozenset(found - {"", "self", "cls"})
