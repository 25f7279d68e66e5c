"""Tell changes that provably change nothing: both sources compile to the same instructions.

The compiler folds constants, drops comments and texts that do nothing, and knows of no layout. What our own
Python can't compile (an older language) isn't judged: then a change counts as one that may do something.
"""

import ast
import re
import warnings
from types import CodeType
from typing import Any

_INERT = re.compile(
    rb"(?:^|/)(?:docs?|changelog\.d|news|newsfragments|changes)/.*(?<!\.py)$|(?:^|/)docs?/"
    rb"|(?:^|/)(?:authors|changes|changelog|contributors|copying|history|licen[cs]e|news|readme)"
    rb"(?:\.[a-z]+)?(?<!\.py)$"
    rb"|\.(?:md|rst|adoc|markdown|pyi)$"
    rb"|^(?:\.github|\.circleci|\.azure-pipelines)/|(?:^|/)(?:\.[a-z_.-]+\.ya?ml|\.git[a-z]+)$"
    rb"|(?:^|/)(?:manifest\.in|makefile|dockerfile|requirements[^/]*\.(?:txt|in))$",
    re.IGNORECASE,
)
"""Documentation and type stubs; lists of requirements, since nothing is installed for a run; what services of
the repository's host read."""


def same_program(old: bytes, new: bytes) -> bool:
    """Whether two Python sources provably do the same, apart from line numbers and docstrings."""
    first, second = _compiled(old), _compiled(new)
    return first is not None and second is not None and _meaning(first) == _meaning(second)


def compiles(data: bytes) -> bool:
    """Whether our own Python takes a source."""
    return _compiled(data) is not None


def is_inert(path: bytes) -> bool:
    """Whether no test run reads a file, so that leaving out its change changes nothing."""
    return _INERT.search(path) is not None


def _compiled(data: bytes) -> CodeType | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
            for node in ast.walk(tree):
                _drop_docstring(node)
            return compile(tree, "source", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None


def _drop_docstring(node: ast.AST) -> None:
    """Take out the docstring of a node; its text may be read, but no fix is about that."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        node.body[0] = ast.copy_location(ast.Pass(), first)


def _meaning(code: CodeType) -> tuple[Any, ...]:
    """Return all that running a code object depends on; constants with their types, since 1 == True."""
    return (
        code.co_code,
        getattr(code, "co_exceptiontable", b""),
        tuple(_constant(value) for value in code.co_consts),
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_flags,
        code.co_name,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
    )


def _constant(value: object) -> object:
    if isinstance(value, CodeType):
        return _meaning(value)
    if isinstance(value, tuple):
        return tuple(_constant(part) for part in value)
    if isinstance(value, frozenset):
        return frozenset(_constant(part) for part in value)
    return type(value), repr(value)
