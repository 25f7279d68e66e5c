"""Builds a project's extension modules again where a state changes what they are made of.

A world holds the modules of its base commit. With another source beside them they would still be imported,
and a run would say something about code that isn't there. So a delta that changes compiled sources gets the
modules that come of it, built once in a sandbox of their own, without a network, by the environment's tools.
Nothing else of that sandbox is taken: what set-up code writes elsewhere is gone with it.
"""

import hashlib
import json
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Final

from swequarry.delta import FileContent, TreeDelta
from swequarry.errors import SandboxError
from swequarry.git.testpaths import PathRole, classify_path
from swequarry.records import Recipe, canonical_json
from swequarry.sandbox.contract import (
    PYTHON,
    TESTBED,
    Command,
    EndedBy,
    ExecResult,
    Limits,
    SandboxBackend,
    World,
)
from swequarry.verify.payload import BOOTSTRAP

COMPILED_SUFFIXES: Final = (
    ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".pyx", ".pxd", ".pxi", ".f", ".f90", ".pyf", ".rs",
)  # fmt: skip
_SET_UP = re.compile(rb"(?:.*/)?(?:setup|setup_package)\.py")
_TEMPLATE = re.compile(rb"\.(?:in|src|tp|template)$")
_MODULE = re.compile(rb"(?P<stem>[^.]+)(?:\.[A-Za-z0-9_-]+)?\.so")
_DECISIVE = re.compile(r"\b(?:error|Error)\b.{0,3}[:!]|No module named|ended by")
_SHELF_SIZE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltAgain:
    """A delta with its modules, or why these can't be built; `log` is what the build printed.

    `limit` is the limit that ended the build: then the failure says nothing about the sources.
    """

    delta: TreeDelta
    failure: str | None = None
    limit: EndedBy | None = None
    log: bytes = b""


_SHELF: OrderedDict[tuple[str, str], BuiltAgain] = OrderedDict()
"""The last builds of this process by world and by what they were made of: many runs have the same."""
_SHELF_LOCK = threading.Lock()


def compiled_paths(paths: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return those of some paths that extension modules are made of, set-up scripts included."""
    suffixes = tuple(suffix.encode() for suffix in COMPILED_SUFFIXES)
    return tuple(
        path for path in paths if _TEMPLATE.sub(b"", path).endswith(suffixes) or _SET_UP.fullmatch(path)
    )


def build_again(
    backend: SandboxBackend, world: World, delta: TreeDelta, recipe: Recipe, limits: Limits
) -> BuiltAgain:
    """Return a delta to a world with the extension modules that its sources give.

    A delta that changes no such source comes back as it is, and so does one to a world without modules, or
    to a project that isn't installed.

    Raises:
        SandboxError: the machinery broke.
    """
    changed = compiled_paths((*delta.files, *delta.removed))
    if not changed or recipe.install == "path":
        return BuiltAgain(delta=delta)
    key = (world.key, _digest(delta))
    made = _SHELF.get(key)
    if made is None:
        made = _build(backend, world, delta, changed, recipe, limits)
        if made.limit is not None:  # a limit says nothing about the sources: the next run builds anew
            return replace(made, delta=delta)
        with _SHELF_LOCK:
            _SHELF[key] = made
            while len(_SHELF) > _SHELF_SIZE:
                _SHELF.popitem(last=False)
    return replace(made, delta=_joined(delta, made.delta))


def _digest(delta: TreeDelta) -> str:
    """Return the hash of what modules can be made of: everything but the Python files of tests."""
    named = [
        [path.hex(), content.mode, hashlib.sha256(content.data).hexdigest()]
        for path, content in sorted(delta.files.items())
        if not (path.endswith(b".py") and classify_path(path) is PathRole.TEST)
    ]
    removed = [path.hex() for path in sorted(delta.removed)]
    return hashlib.sha256(canonical_json([named, removed])).hexdigest()


def _joined(delta: TreeDelta, modules: TreeDelta) -> TreeDelta:
    new = {path: content for path, content in modules.files.items() if path not in delta.files}
    return replace(delta, files={**delta.files, **new}) if new else delta


def _build(
    backend: SandboxBackend,
    world: World,
    delta: TreeDelta,
    changed: tuple[bytes, ...],
    recipe: Recipe,
    limits: Limits,
) -> BuiltAgain:
    """Return the modules that differ; what isn't a module of the world must lie beside a changed source."""
    with backend.create(world) as sandbox:
        known = _listed(sandbox.run(_command(recipe, None), limits)).modules
        if not known:
            return BuiltAgain(delta=TreeDelta())
        sandbox.put(delta)
        result = sandbox.run(_command(recipe, changed), limits)
        limit = EndedBy.MEMORY_LIMIT if result.memory_events else result.ended_by
        if limit not in {EndedBy.EXITED, EndedBy.SIGNALLED}:
            failure = f"ended by the {limit.value.replace('_', ' ')}"
            return BuiltAgain(delta=TreeDelta(), failure=failure, limit=limit, log=result.output)
        listing = _listed(result)
        if listing.status:
            failure = _last(result) or f"ended with status {listing.status}"
            return BuiltAgain(delta=TreeDelta(), failure=failure, log=result.output)
        new = [path for path, found in listing.modules.items() if known.get(path) != found]
        taken = [path for path in new if path in known or _beside(path, changed)]
        made = {path: sandbox.get(f"{TESTBED}/{os.fsdecode(path)}") for path in taken}
    files_made = {path: FileContent(data=data, mode=0o100755) for path, data in made.items()}
    return BuiltAgain(delta=TreeDelta(files=files_made), log=result.output)


def _command(recipe: Recipe, changed: tuple[bytes, ...] | None) -> Command:
    named = None if changed is None else [os.fsdecode(path) for path in changed]
    orders = json.dumps({"testbed": TESTBED, "changed": named})
    source = (files("swequarry.verify") / "inside" / "build_again.py").read_bytes()
    program = source + f"\nlist_modules(json.loads({orders!r}))\n".encode("ascii")
    return Command(argv=(PYTHON, "-c", BOOTSTRAP), variables=dict(recipe.variables), stdin=program)


def _beside(path: bytes, sources: Iterable[bytes]) -> bool:
    """Whether a module lies beside one of some sources and has its name."""
    folder, _, name = path.rpartition(b"/")
    match = _MODULE.fullmatch(name)
    stems = {
        (source.rpartition(b"/")[0], source.rpartition(b"/")[2].partition(b".")[0]) for source in sources
    }
    return match is not None and (folder, match["stem"]) in stems


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    status: int
    modules: dict[bytes, str]


def _listed(result: ExecResult) -> _Listing:
    try:
        report = json.loads(result.report)
        modules = {os.fsencode(str(path)): str(found) for path, found in report["modules"].items()}
        return _Listing(status=int(report["status"]), modules=modules)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SandboxError(f"the extension modules can't be listed: {_last(result)}") from error


def _last(result: ExecResult) -> str:
    """Return the last line that says what was wrong, else the last line."""
    lines = [line.strip() for line in result.output.decode("utf-8", "replace").splitlines() if line.strip()]
    return next((line for line in reversed(lines) if _DECISIVE.search(line)), lines[-1] if lines else "")[
        :400
    ]
