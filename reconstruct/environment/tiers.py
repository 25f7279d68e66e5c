"""The first tier of an environment: what must install, resolved together with the project's own metadata."""

from collections.abc import Sequence

from packaging.requirements import InvalidRequirement, Requirement

from reconstruct.environment.build_session import UV, WORKSHOP, BuildCause, BuildSession, BuildStoppedError
from reconstruct.environment.locks import LockedPackage, merge, parse_lock, render_lock
from reconstruct.environment.undeclared import built_beside, installed_in_two
from swequarry.sandbox.contract import PYTHON, TESTBED, ExecResult
from swequarry.sandbox.index_pages import normalise

SEEDS = ("pip", "setuptools", "wheel")


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
    lines = [*recipe.requirements, *unnamed(SEEDS, recipe.requirements)]
    lines += recipe.build_requirements if not recipe.build_isolation else ()
    if recipe.install != "path":
        lines.append(project_line(session))
    source = session.write_lines("tier1.in", lines)
    _compile(session, "resolve", source, "tier1.txt", constraint_lines(session), isolation(session))
    return without_project(session, parse_lock(session.read("tier1.txt")))


def install(session: BuildSession, step: str, packages: Sequence[LockedPackage]) -> None:
    """Install locked packages, and them only; those whose set-up code needs others of them come last.

    Raises:
        BuildStoppedError: one can't be installed.
    """
    if not packages:
        return
    hashes = () if any(not p.hashes for p in packages) else ("--require-hashes",)

    def attempt(chosen: Sequence[LockedPackage], options: tuple[str, ...]) -> ExecResult:
        source = session.write_lines("install.txt", render_lock(chosen).splitlines())
        return session.attempt(
            step,
            (UV, "pip", "install", "--python", PYTHON, "--no-deps", *hashes, "-r", source,
             *build_constraints(session), *options),
        )  # fmt: skip

    if not installed_in_two(packages, attempt).ok:
        raise BuildStoppedError(BuildCause.INSTALL, step)


def _compile(
    session: BuildSession,
    step: str,
    source: str,
    target: str,
    constraints: Sequence[str],
    more: Sequence[str],
) -> None:
    bounds = session.write_lines("constraints.txt", constraints)
    argv = compile_argv(source, target, bounds, (*build_constraints(session), *more))

    def equip(names: tuple[str, ...]) -> None:
        """Have at hand what set-up code of a dependency imports; what the lock says of it comes later."""
        if names:
            wanted = session.write_lines("equip.in", names)
            session.attempt("equip", (UV, "pip", "install", "--python", PYTHON, "-r", wanted, "-c", bounds))

    if not built_beside(lambda options: session.attempt(step, (*argv, *options)), equip).ok:
        raise BuildStoppedError(BuildCause.RESOLVE, step)


def compile_argv(source: str, target: str, constraints: str, more: Sequence[str]) -> tuple[str, ...]:
    """Return the command that resolves a requirement file into hashed lines."""
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
    if session.recipe.build_isolation and not session.plain_build:
        return ()
    name = session.recipe.project_name
    return ("--no-build-isolation-package", name) if name else ("--no-build-isolation",)


def build_constraints(session: BuildSession) -> tuple[str, ...]:
    """Return the options that bound build back-ends."""
    return (
        "--build-constraints",
        session.write_lines("build-constraints.txt", session.recipe.build_constraints),
    )


def project_exclusion(session: BuildSession) -> tuple[str, ...]:
    """The project is in place already: what optional packages want of it isn't looked for in the index."""
    if session.project_name is None:
        return ()
    return ("--excludes", session.write_lines("excludes.txt", [session.project_name]))


def without_project(session: BuildSession, packages: Sequence[LockedPackage]) -> tuple[LockedPackage, ...]:
    """Return packages without the project itself, which comes from the tree."""
    own = normalise(session.project_name) if session.project_name else None
    return merge([package for package in packages if package.name != own])


def unnamed(lines: Sequence[str], present: Sequence[str]) -> list[str]:
    """Return the requirement lines whose distributions `present` doesn't name."""
    names = {name_of(line) for line in present}
    return [line for line in lines if name_of(line) not in names]


def name_of(line: str) -> str:
    """Return the normalised name in a requirement line, or the line itself where it isn't one."""
    try:
        return normalise(Requirement(line).name)
    except InvalidRequirement:
        return line
