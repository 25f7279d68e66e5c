"""Where a project keeps its code, its tests and its lock files."""

import re
from itertools import islice
from typing import Final

from reconstruct.environment.evidence.imports import is_test_path
from reconstruct.environment.evidence.model import Layout
from reconstruct.environment.evidence.tree import Notebook, SourceTree

LOCK_FILES: Final = ("uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "conda-lock.yml", "pylock.toml")
_NOT_CODE: Final = re.compile(
    r"(?:tests?|testing|docs?|examples?|benchmarks?|bench|scripts?|tools?|ci|build|dist|tasks|bin|contrib|asv_bench"
    r"|build_tools|setup|conftest|noxfile|versioneer|fabfile|ez_setup|dodo|runtests|manage|conf|test_.*)"
)
_EXTENSION: Final = re.compile(r"\.(?:c|cc|cpp|cxx|pyx|f90)(?:\.in)?$")


def read_layout(tree: SourceTree, notes: Notebook) -> Layout:
    """Return where code and tests lie, by the names of files alone."""
    source = next((f for f in ("src", "lib") if _modules(tree, f) and not tree.has(f"{f}/__init__.py")), ".")
    if source == "lib" and _modules(tree, ""):
        source = "."
    modules = _modules(tree, "" if source == "." else source)
    locks = tuple(path for path in LOCK_FILES if tree.has(path))
    for path in locks:
        notes.note("lock_file", path, path)
    notes.note("layout", f"{source}: {' '.join(modules)}", ".")
    if tree.truncated:
        notes.broken(".", "the tree has more entries or is deeper than the limits; the rest wasn't read")
    tests = sorted({_top(path) for path in tree.files if path.endswith(".py") and is_test_path(path)})
    return Layout(
        modules=modules,
        source_folder=source,
        tests=tuple(tests[:200]),
        local_modules=_local_modules(tree),
        lock_files=locks,
        compiled=_compiled(tree),
    )


def _modules(tree: SourceTree, folder: str) -> tuple[str, ...]:
    prefix = f"{folder}/" if folder else ""
    found = set()
    for path in tree.files:
        if not path.startswith(prefix) or not path.endswith(".py"):
            continue
        first, _, rest = path[len(prefix) :].partition("/")
        if rest == "__init__.py" or (not rest and first.endswith(".py")):
            name = first.removesuffix(".py")
            if name.isidentifier() and not _NOT_CODE.fullmatch(name):
                found.add(name)
    return tuple(sorted(found))


def _compiled(tree: SourceTree) -> tuple[str, ...]:
    found = (path for path in tree.files if _EXTENSION.search(path) and not is_test_path(path))
    return tuple(islice((path for path in found if not _NOT_CODE.fullmatch(path.partition("/")[0])), 3))


def _top(path: str) -> str:
    """The outermost folder of tests that a path lies in, else the path itself."""
    parts = path.split("/")
    for index, part in enumerate(parts[:-1]):
        if part in {"test", "tests", "testing"}:
            return "/".join(parts[: index + 1])
    return path


def _local_modules(tree: SourceTree) -> tuple[str, ...]:
    """Names of every module and package in the tree, wherever: an import of one may mean that."""
    names = set()
    for path in tree.files:
        if path.endswith(".py"):
            parts = path.split("/")
            names.add(parts[-1].removesuffix(".py"))
            names.update(parts[:-1] if len(parts) <= 4 else parts[:3])  # noqa: PLR2004
    return tuple(sorted(name for name in names if name.isidentifier()))
