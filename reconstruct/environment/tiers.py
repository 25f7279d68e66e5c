"""The two tiers of an environment: what must install, and what may.

The first tier is resolved together with the project's own metadata and must succeed. The second takes the
first as constraints and wheels only; it may lose any member and never changes the first.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement

from reconstruct.environment.build_session import UV, WORKSHOP, BuildCause, BuildSession
from reconstruct.environment.locks import LockedPackage, merge, parse_lock, render_lock
from swequarry.sandbox.contract import PYTHON, TESTBED
from swequarry.sandbox.index_pages import normalise

SEEDS = ("pip", "setuptools", "wheel")
_IMPORT_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionalTier:
    """What became of the second tier; `lost` are (name, why)."""

    lock: tuple[LockedPackage, ...] = ()
    lost: tuple[tuple[str, str], ...] = ()


def project_line(session: BuildSession) -> str:
    """Return the requirement that stands for the project, extras included."""
    recipe = session.recipe
    extras = f"[{','.join(recipe.extras)}]" if recipe.extras else ""
    if recipe.project_name is None:
        return f"{TESTBED}{extras}"
    return f"{recipe.project_name}{extras} @ file://{TESTBED}"


def compile_first(session: BuildSession) -> tuple[LockedPackage, ...]:
    """Resolve the first tier and return its lock; installs nothing but needed build requirements.

    Raises:
        BuildStoppedError: it can't be resolved.
    """
    recipe = session.recipe
    lines = [*recipe.requirements, *_unnamed(SEEDS, recipe.requirements)]
    lines += recipe.build_requirements if not recipe.build_isolation else ()
    if recipe.install != "path":
        lines.append(project_line(session))
    source = session.write_lines("tier1.in", lines)
    _compile(session, "resolve", source, "tier1.txt", constraint_lines(session), isolation(session))
    return _without_project(session, parse_lock(session.read("tier1.txt")))


def install_build_requirements(session: BuildSession) -> None:
    """Install what set-up code needs at hand when it is run without isolation.

    Raises:
        BuildStoppedError: they can't be installed.
    """
    names = (*(session.recipe.build_requirements or _declared_build_requirements(session)), *SEEDS)
    source = session.write_lines("build.in", names)
    _compile(session, "resolve build requirements", source, "build.txt", constraint_lines(session), ())
    install(session, "install build requirements", parse_lock(session.read("build.txt")))


def _declared_build_requirements(session: BuildSession) -> tuple[str, ...]:
    """Return the names in the tree's `build-system.requires`, without their versions."""
    try:
        table = tomllib.loads(session.sandbox.get(f"{TESTBED}/pyproject.toml").decode("utf-8", "replace"))
        lines = table["build-system"]["requires"]
        return tuple(Requirement(line).name for line in lines)
    except (FileNotFoundError, tomllib.TOMLDecodeError, KeyError, TypeError, InvalidRequirement):
        return ()


def install(session: BuildSession, step: str, packages: Sequence[LockedPackage]) -> None:
    """Install locked packages, and them only.

    Raises:
        BuildStoppedError: one can't be installed.
    """
    if not packages:
        return
    source = session.write_lines("install.txt", render_lock(packages).splitlines())
    hashes = () if any(not p.hashes for p in packages) else ("--require-hashes",)
    session.uv(
        step, "pip", "install", "--python", PYTHON, "--no-deps", *hashes, "-r", source,
        *_build_constraints(session), cause=BuildCause.INSTALL,
    )  # fmt: skip


def install_optional(session: BuildSession, first: Sequence[LockedPackage]) -> OptionalTier:
    """Install as much of the second tier as goes with the first, import it, and drop what is dead."""
    wanted = _unnamed(session.recipe.optional, [package.name for package in first])
    if not wanted:
        return OptionalTier()
    pins = session.write_lines("pins.txt", [package.pin for package in first])
    resolvable = _largest(session, pins, (), tuple(wanted))
    lost = [(name_of(line), "doesn't go with the rest") for line in wanted if line not in resolvable]
    lock = _resolve_optional(session, pins, resolvable) if resolvable else None
    present = {package.name for package in first}
    new = tuple(package for package in lock or () if package.name not in present)
    source = session.write_lines("install.txt", render_lock(new).splitlines())
    argv = (UV, "pip", "install", "--python", PYTHON, "--no-deps", "-r", source, "--only-binary", ":all:")
    if new and not session.attempt("install optional", argv).ok:
        session.note("the optional requirements can't be installed; going on without them")
        return OptionalTier(lost=tuple((name_of(line), "can't be installed") for line in wanted))
    dead = _remove_dead(session, [name_of(line) for line in resolvable], {p.name for p in new})
    gone = {name for name, _ in dead}
    return OptionalTier(lock=tuple(p for p in new if p.name not in gone), lost=tuple(sorted(lost + dead)))


def _largest(
    session: BuildSession, pins: str, kept: tuple[str, ...], group: tuple[str, ...]
) -> tuple[str, ...]:
    """Return `kept` with those members of `group` that resolve with it: halves first, then halves of them."""
    if not group:
        return kept
    if _resolve_optional(session, pins, kept + group) is not None:
        return kept + group
    if len(group) == 1:
        return kept
    middle = len(group) // 2
    return _largest(session, pins, _largest(session, pins, kept, group[:middle]), group[middle:])


def _resolve_optional(
    session: BuildSession, pins: str, members: Sequence[str]
) -> tuple[LockedPackage, ...] | None:
    source = session.write_lines("tier2.in", members)
    argv = _compile_argv(source, "tier2.txt", pins, ("--only-binary", ":all:", *_excludes(session)))
    if not session.attempt("resolve optional", argv).ok:
        return None
    return _without_project(session, parse_lock(session.read("tier2.txt")))


def _remove_dead(session: BuildSession, roots: Sequence[str], removable: set[str]) -> list[tuple[str, str]]:
    """Import every root; remove what the deepest frame of an error blames, until nothing is dead."""
    dead: list[tuple[str, str]] = []
    alive = sorted(set(roots) & removable)
    while alive:
        report = session.script("import check", "import_check.py", str(_IMPORT_SECONDS), *alive)
        if not report:
            break
        root, finding = min(report.items())
        culprit = finding["blame"] if finding["blame"] in removable else root
        removable.discard(culprit)
        dead.append((culprit, finding["error"]))
        session.uv("remove dead", "pip", "uninstall", "--python", PYTHON, culprit, cause=BuildCause.INSTALL)
        alive = [name for name in sorted(report) if name in removable]
    return dead


def _compile(
    session: BuildSession,
    step: str,
    source: str,
    target: str,
    constraints: Sequence[str],
    more: Sequence[str],
) -> None:
    bounds = session.write_lines("constraints.txt", constraints)
    argv = _compile_argv(source, target, bounds, (*_build_constraints(session), *more))
    session.online(step, argv, cause=BuildCause.RESOLVE)


def _compile_argv(source: str, target: str, constraints: str, more: Sequence[str]) -> tuple[str, ...]:
    return (
        UV, "pip", "compile", source, "-o", f"{WORKSHOP}/{target}", "--upgrade", "--quiet",
        "--python", PYTHON,
        "--generate-hashes", "--no-annotate", "--no-header", "--no-sources", "-c", constraints, *more,
    )  # fmt: skip


def lock_of(session: BuildSession, pins: Sequence[str]) -> tuple[LockedPackage, ...]:
    """Return the hashed lines of some exact versions, as the index has them.

    Raises:
        BuildStoppedError: the index doesn't have one.
    """
    if not pins:
        return ()
    source = session.write_lines("extra.in", pins)
    _compile(session, "lock", source, "extra.txt", (), ("--no-deps",))
    return parse_lock(session.read("extra.txt"))


def constraint_lines(session: BuildSession) -> list[str]:
    """Return the recipe's constraints, and its bound on setuptools, which stays at hand at run time."""
    bounds = [line for line in session.recipe.build_constraints if name_of(line) == "setuptools"]
    return [*session.recipe.constraints, *bounds]


def isolation(session: BuildSession) -> tuple[str, ...]:
    """Return the options that let the project be built against the environment itself."""
    if session.recipe.build_isolation:
        return ()
    name = session.recipe.project_name
    return ("--no-build-isolation-package", name) if name else ("--no-build-isolation",)


def _build_constraints(session: BuildSession) -> tuple[str, ...]:
    return (
        "--build-constraints",
        session.write_lines("build-constraints.txt", session.recipe.build_constraints),
    )


def _excludes(session: BuildSession) -> tuple[str, ...]:
    """The project is in place already: what optional packages want of it isn't looked for in the index."""
    if session.recipe.project_name is None:
        return ()
    return ("--excludes", session.write_lines("excludes.txt", [session.recipe.project_name]))


def _without_project(session: BuildSession, packages: Sequence[LockedPackage]) -> tuple[LockedPackage, ...]:
    own = normalise(session.recipe.project_name) if session.recipe.project_name else None
    return merge([package for package in packages if package.name != own])


def _unnamed(lines: Sequence[str], present: Sequence[str]) -> list[str]:
    names = {name_of(line) for line in present}
    return [line for line in lines if name_of(line) not in names]


def name_of(line: str) -> str:
    """Return the normalised name in a requirement line, or the line itself where it isn't one."""
    try:
        return normalise(Requirement(line).name)
    except InvalidRequirement:
        return line
