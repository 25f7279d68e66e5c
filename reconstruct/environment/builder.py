"""Builds an environment from a recipe, in a sandbox, against an index as of the recipe's cut-off.

Foreign code (set-up scripts, build back-ends, imports) runs inside only. How a build ended is a value;
exceptions mean that the machinery broke: no index, no sandbox, no storage.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from uv import find_uv_bin

from reconstruct.environment import tiers
from reconstruct.environment.build_needs import prepare_build
from reconstruct.environment.build_session import UV, BuildCause, BuildSession, BuildStoppedError
from reconstruct.environment.decisive import decisive_lines
from reconstruct.environment.locks import LockedPackage, compare, merge, parse_lock, render_lock
from reconstruct.environment.optional_tier import OptionalTier, install_optional
from reconstruct.environment.project import (
    ProjectState,
    hide_absent_files,
    inspect_project,
    place_local_packages,
    place_project,
)
from swequarry.delta import TreeDelta
from swequarry.errors import IndexUnavailableError, SandboxError
from swequarry.records import BlobHash, Environment, Recipe, canonical_json, sha256_hex
from swequarry.sandbox.contract import (
    ENVIRONMENT,
    PYTHON,
    TESTBED,
    Bind,
    Interpreter,
    Limits,
    SandboxBackend,
    World,
)
from swequarry.sandbox.index_pages import IndexView, normalise
from swequarry.sandbox.index_proxy import IndexProxy, IndexSource

BACK_ENDS = ("setuptools", "wheel", "pip", "flit-core", "poetry-core")
"""Distributions that `Recipe.build_cutoff` dates: build back-ends that carry their own dependencies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What all builds of a run share. `limits.wall_s` bounds a whole build, the other limits each step."""

    backend: SandboxBackend
    index: IndexSource
    put_blob: Callable[[bytes], BlobHash]
    limits: Limits = field(
        default_factory=lambda: Limits(wall_s=900, disk_bytes=6 * 1024**3, tmp_bytes=2 * 1024**3)
    )
    uv: Path = field(default_factory=lambda: Path(find_uv_bin()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """An environment that was built.

    `lost` are optional requirements that didn't come in, with the reason; `notes` what the index hid or
    couldn't date. `durations_s` is observed, step by step.
    """

    world: World
    lock: BlobHash
    python_version: str
    project_version: str | None
    lost: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    durations_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotBuilt:
    """A build that failed because of the project or its recipe, or (LIMIT) because of our limits."""

    cause: BuildCause
    step: str
    log: bytes
    decisive: tuple[str, ...]
    notes: tuple[str, ...] = ()
    durations_s: Mapping[str, float] = field(default_factory=dict)


BuildResult: TypeAlias = Built | NotBuilt


def build(
    recipe: Recipe,
    base_world: World,
    interpreter: Interpreter,
    workshop: Workshop,
    *,
    lock: bytes | None = None,
) -> BuildResult:
    """Build the environment of a recipe on top of a world that holds the tree only.

    With the text of a `lock` nothing is resolved: exactly what it names is installed, on whatever day.

    Raises:
        IndexUnavailableError: the index failed while the build did; it may be retried.
        SandboxError: the sandbox broke; it may be retried.
    """
    with workshop.index.open(view_of(recipe)) as proxy:
        try:
            return _build(recipe, base_world, interpreter, workshop, proxy, lock)
        except SandboxError:
            _raise_trouble(proxy)
            raise


def view_of(recipe: Recipe) -> IndexView:
    """Return what a build with this recipe may see of the index."""
    exempt = {normalise(name): moment for name, moment in recipe.exempt}
    if recipe.build_cutoff is not None:
        exempt = dict.fromkeys(BACK_ENDS, recipe.build_cutoff) | exempt
    own = {normalise(recipe.project_name)} if recipe.project_name else set()
    return IndexView(cutoff=recipe.cutoff, exempt=exempt, denied=frozenset(own))


def _build(
    recipe: Recipe,
    base_world: World,
    interpreter: Interpreter,
    workshop: Workshop,
    proxy: IndexProxy,
    lock: bytes | None,
) -> BuildResult:
    binds = (Bind(source=workshop.uv, target=UV),)
    with workshop.backend.create(
        base_world, index_socket=proxy.socket, binds=binds, interpreter=interpreter
    ) as sandbox:
        session = BuildSession(sandbox, recipe, interpreter, workshop.limits)
        try:
            return _steps(session, base_world, workshop, proxy, lock)
        except BuildStoppedError as stop:
            _raise_trouble(proxy)
            log = bytes(session.log)
            return NotBuilt(
                cause=stop.cause,
                step=stop.step,
                log=log,
                decisive=decisive_lines(log),
                notes=_notes(proxy),
                durations_s=dict(session.durations_s),
            )


def _steps(
    session: BuildSession, base_world: World, workshop: Workshop, proxy: IndexProxy, wanted: bytes | None
) -> Built:
    session.unpack()
    hide_absent_files(session)
    _make_venv(session)
    prepare_build(session)
    first = _first_tier(session, proxy, wanted)
    local = _install_tier_and_project(session, first)
    if session.project_name is not None:
        proxy.deny(session.project_name)
    optional = install_optional(session, first) if wanted is None else OptionalTier()
    _leave_out_copies(session)
    project = inspect_project(session, local)
    lock = _settle_lock(session, merge(first, optional.lock), project)
    lock_hash = workshop.put_blob(render_lock(lock).encode("ascii"))
    session.script("compile", "compile.py", f"{ENVIRONMENT}/env", *project.site_packages)
    session.script("tidy", "tidy.py", TESTBED)
    session.sandbox.put(TreeDelta(removed=(b"build",)), root=ENVIRONMENT)
    world = session.sandbox.commit(_world_key(base_world, session.recipe, lock_hash, project))
    return Built(
        world=world,
        lock=lock_hash,
        python_version=project.python,
        project_version=project.version,
        lost=optional.lost,
        notes=_notes(proxy),
        durations_s=dict(session.durations_s),
    )


def _install_tier_and_project(session: BuildSession, first: tuple[LockedPackage, ...]) -> frozenset[str]:
    """Install both; a plain build comes first, so that it sees what a build environment would hold."""
    if session.plain_build and session.recipe.install == "editable":
        local = place_project(session)
        tiers.install(session, "install", first)
    else:
        tiers.install(session, "install", first)
        local = place_project(session)
    return local | place_local_packages(session)


def _first_tier(session: BuildSession, proxy: IndexProxy, wanted: bytes | None) -> tuple[LockedPackage, ...]:
    if wanted is not None:
        return parse_lock(wanted.decode("ascii", "replace"))
    first = tiers.compile_first(session)
    _stop_at_reuploads(session, proxy)
    return first


def _make_venv(session: BuildSession) -> None:
    place = f"{ENVIRONMENT}/env"
    if not session.attempt("venv", (UV, "venv", "--python", session.interpreter.path, place)).ok:
        session.online("venv", (session.interpreter.path, "-m", "venv", place), cause=BuildCause.INSTALL)


def _stop_at_reuploads(session: BuildSession, proxy: IndexProxy) -> None:
    """End the build where a distribution vanished because all of its files were uploaded again later."""
    known = {normalise(name) for name, _ in session.recipe.exempt}
    for note in proxy.notes:
        if note.kind == "all-newer" and note.name not in known:
            message = f"every file of {note.name} is newer than the cut-off; earliest {note.detail}"
            raise session.stop(BuildCause.REUPLOADED, "resolve", message)


def _leave_out_copies(session: BuildSession) -> None:
    """Uninstall pip where it carries a copy of the project, of another day: the fix may be in it."""
    name = session.project_name
    wanted = "pip" in map(tiers.name_of, session.recipe.requirements)
    if name is None or wanted or not session.script("copies", "vendored.py", name):
        return
    session.note(f"pip has a copy of {name}: it stays out of the environment")
    session.uv("copies", "pip", "uninstall", "--python", PYTHON, "pip", cause=BuildCause.INSTALL)


def _settle_lock(
    session: BuildSession, lock: tuple[LockedPackage, ...], project: ProjectState
) -> tuple[LockedPackage, ...]:
    """Return the lock of what is really installed; what it doesn't name yet is looked up."""
    difference = compare(lock, project.installed, project.local)
    if not difference:
        return lock
    present = {normalise(name) for name in project.installed}
    replaced = set(difference.other_version) | set(difference.missing)
    extra = tiers.lock_of(session, [*difference.unlocked, *_pins(project, difference.other_version)])
    return merge([p for p in lock if p.name in present and p.name not in replaced], extra)


def _pins(project: ProjectState, names: tuple[str, ...]) -> list[str]:
    return [f"{name}=={version}" for name, version in project.installed.items() if normalise(name) in names]


def _world_key(base_world: World, recipe: Recipe, lock: BlobHash, project: ProjectState) -> str:
    environment = Environment(
        backend=base_world.backend, python_version=project.python, recipe=recipe, lock=lock
    )
    return "environment-" + sha256_hex(canonical_json([base_world.key, environment.identity()]))


def _notes(proxy: IndexProxy) -> tuple[str, ...]:
    return tuple(f"{note.kind}: {note.name} {note.detail}".strip() for note in proxy.notes)


def _raise_trouble(proxy: IndexProxy) -> None:
    if proxy.trouble:
        raise IndexUnavailableError(proxy.trouble[0])
