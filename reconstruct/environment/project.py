"""The project in its environment: put in place from the tree, and proven to be imported from there."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from packaging.version import InvalidVersion, Version

from reconstruct.environment.build_needs import read_build_needs
from reconstruct.environment.build_session import WORKSHOP, BuildCause, BuildSession
from reconstruct.environment.description import Description, describe
from reconstruct.environment.tiers import build_constraints, isolation
from swequarry.errors import SandboxError
from swequarry.sandbox.contract import PYTHON, TESTBED
from swequarry.sandbox.index_pages import normalise


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectState:
    """What an environment holds after the project was installed.

    `installed` maps names to versions, `local` are the normalised names that come from the tree.
    """

    python: str
    version: str | None
    installed: Mapping[str, str]
    local: frozenset[str]
    site_packages: tuple[str, ...]


def hide_absent_files(session: BuildSession) -> None:
    """Let version tools see a clean tree where files are absent because the mirror lacks their blobs.

    They would add `.dirty` and a date to the version. Builds get an index of their own, in which the absent
    files count as skipped; the tree's own index stays as it is.
    """
    listed = session.offline("absent files", ("git", "-C", TESTBED, "ls-files", "--deleted", "-z"))
    if not listed.ok or not listed.output:
        return
    try:
        index = session.sandbox.get(f"{TESTBED}/.git/index")
    except FileNotFoundError:
        return
    session.put({"build/index": index})
    own = {"GIT_INDEX_FILE": f"{WORKSHOP}/index"}
    argv = ("git", "-C", TESTBED, "update-index", "-z", "--skip-worktree", "--stdin")
    if session.offline("absent files", argv, variables=own, stdin=listed.output).ok:
        session.variables.update(own)


def place_project(session: BuildSession) -> frozenset[str]:
    """Install the project from the tree; return its normalised name, if it has one.

    A project that the recipe doesn't name gets its name here.

    Raises:
        BuildStoppedError: it can't be installed.
    """
    before = {name for name, _ in describe(session).installed}
    match session.recipe.install:
        case "path":
            _put_on_path(session)
        case "legacy-editable":
            argv = (PYTHON, "setup.py", "-q", "develop", "--no-deps")
            session.online("project", argv, cause=BuildCause.PROJECT)
        case _:
            _install_editable(session, TESTBED)
    if session.project_name is None:
        added = sorted({name for name, _ in describe(session).installed} - before)
        session.project_name = next(iter(added), None)
    return frozenset({normalise(session.project_name)} if session.project_name else ())


def place_local_packages(session: BuildSession) -> frozenset[str]:
    """Install the project's other packages from folders of its tree; return their normalised names.

    Raises:
        BuildStoppedError: one can't be installed, or lies outside the tree.
    """
    if not session.recipe.local_packages:
        return frozenset()
    before = {name for name, _ in describe(session).installed}
    for folder in session.recipe.local_packages:
        _install_editable(session, _inside_tree(session, folder))
    added = {name for name, _ in describe(session).installed} - before
    return frozenset(map(normalise, added))


def inspect_project(session: BuildSession, local: frozenset[str]) -> ProjectState:
    """Describe the finished environment, whose `local` distributions come from the tree.

    Raises:
        BuildStoppedError: the project isn't imported from the tree, or has a made-up version.
        SandboxError: the interpreter isn't the one that was asked for.
    """
    answer = describe(session)
    _check_interpreter(session, answer.python)
    _check_origin(session, answer)
    _check_version(session, answer.project_version)
    return ProjectState(
        python=answer.python,
        version=answer.project_version,
        installed=dict(answer.installed),
        local=local,
        site_packages=answer.site_packages,
    )


def _install_editable(session: BuildSession, folder: str) -> None:
    uses_setuptools = read_build_needs(session, folder).setuptools
    compat = ("--config-setting", "editable_mode=compat") if uses_setuptools else ()
    session.uv(
        "project", "pip", "install", "--python", PYTHON, "--no-deps", "--no-sources", "-e", folder,
        *build_constraints(session), *isolation(session), *compat, cause=BuildCause.PROJECT,
    )  # fmt: skip


def _put_on_path(session: BuildSession) -> None:
    code = (
        "import os, sysconfig; site = sysconfig.get_path('purelib'); "
        "roots = [p for p in ('/testbed/src', '/testbed') if os.path.isdir(p)]; "
        "open(os.path.join(site, 'swequarry_project.pth'), 'w').write('\\n'.join(roots) + '\\n')"
    )
    if not session.offline("project", (PYTHON, "-I", "-c", code)).ok:
        raise SandboxError("the project can't be put on the path of its environment")


def _inside_tree(session: BuildSession, folder: str) -> str:
    path = PurePosixPath(folder)
    if path.is_absolute() or ".." in path.parts:
        raise session.stop(BuildCause.PROJECT, "project", f"local package {folder!r} lies outside the tree")
    return f"{TESTBED}/{path}"


def _check_interpreter(session: BuildSession, version: str) -> None:
    """A relocated interpreter can load the library of another one without saying so."""
    if version != session.interpreter.version:
        raise SandboxError(f"{session.interpreter.path} runs as {version}, not {session.interpreter.version}")


def _check_origin(session: BuildSession, answer: Description) -> None:
    """A copy in site-packages hides the tree: before and after would be the same code."""
    places = answer.origins.values()
    if answer.copies:
        message = f"a copy in site-packages hides the tree: {', '.join(answer.copies)}"
        raise session.stop(BuildCause.PROJECT, "project", message)
    if places and not any(place.startswith(f"{TESTBED}/") for place in places):
        message = f"the project isn't imported from the tree but from {', '.join(sorted(places))}"
        raise session.stop(BuildCause.PROJECT, "project", message)


def _check_version(session: BuildSession, version: str | None) -> None:
    """A version tool that finds no tag makes one up without saying so; tests then see 0.1.dev1."""
    if version is None or not _made_up(version):
        return
    argv = ("git", "-C", TESTBED, "describe", "--tags", "--abbrev=0")
    result = session.offline("nearest tag", argv)
    tag = result.output.decode("utf-8", "replace").strip().rpartition("\n")[2] if result.ok else ""
    nearest = _version_in(tag)
    if nearest is not None and nearest > Version("0.1"):
        raise session.stop(
            BuildCause.PROJECT, "project", f"the project says version {version}, the nearest tag is {nearest}"
        )


def _made_up(version: str) -> bool:
    return version.startswith(("0.0.0", "0.1.dev", "0+u", "unknown"))


def _version_in(tag: str) -> Version | None:
    start = next((i for i, c in enumerate(tag) if c.isdigit()), None)
    try:
        return None if start is None else Version(tag[start:].replace("_", "."))
    except InvalidVersion:
        return None
