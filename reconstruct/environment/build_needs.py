"""What building a project asks for, and whether the environment has it at hand already.

Most projects ask for setuptools and wheel alone. A build environment of their own would then be a copy of
what the environment has before anything else is installed, and cost more than the rest of the build.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement

from reconstruct.environment.build_session import BuildCause, BuildSession
from reconstruct.environment.description import describe
from reconstruct.environment.tiers import SEEDS, build_constraints, constraint_lines
from swequarry.sandbox.contract import PYTHON, TESTBED
from swequarry.sandbox.index_pages import normalise


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildNeeds:
    """What building a folder asks for; `requires` None where that can't be told without running it.

    Setuptools can put the folder itself on the path (`editable_mode=compat`), so that modules that a patch
    adds are found.
    """

    setuptools: bool = True
    requires: tuple[Requirement, ...] | None = None

    def met_by(self, present: Mapping[str, str]) -> bool:
        """Whether it asks for nothing but seeds, at versions that are present."""
        if not self.setuptools or self.requires is None:
            return False
        versions = {normalise(name): version for name, version in present.items()}
        return all(
            normalise(r.name) in SEEDS
            and normalise(r.name) in versions
            and r.specifier.contains(versions[normalise(r.name)], prereleases=True)
            for r in self.requires
        )


def prepare_build(session: BuildSession) -> None:
    """Install the seeds, and what set-up code needs at hand where it is run without isolation.

    Raises:
        BuildStoppedError: they can't be installed.
    """
    recipe = session.recipe
    needs = read_build_needs(session, TESTBED)
    declared = recipe.build_requirements or tuple(r.name for r in needs.requires or ())
    names = SEEDS if recipe.build_isolation else (*SEEDS, *declared)
    session.uv(
        "seeds", "pip", "install", "--python", PYTHON, "-r", session.write_lines("seeds.in", names),
        "-c", session.write_lines("constraints.txt", constraint_lines(session)),
        *build_constraints(session), cause=BuildCause.RESOLVE,
    )  # fmt: skip
    if recipe.build_isolation and recipe.project_name is not None:
        session.plain_build = needs.met_by(dict(describe(session).installed))


def read_build_needs(session: BuildSession, folder: str) -> BuildNeeds:
    """Return what a folder of the tree declares; runs nothing."""
    try:
        system = tomllib.loads(_text(session, f"{folder}/pyproject.toml")).get("build-system", {})
        setuptools = str(system.get("build-backend", "setuptools")).startswith("setuptools")
        requires = tuple(Requirement(str(line)) for line in system.get("requires", ("setuptools", "wheel")))
    except (tomllib.TOMLDecodeError, AttributeError, TypeError, InvalidRequirement):
        return BuildNeeds()
    older = (_text(session, f"{folder}/{name}") for name in ("setup.py", "setup.cfg"))
    dynamic = any("setup_requires" in text for text in older)
    return BuildNeeds(setuptools=setuptools, requires=None if dynamic else requires)


def _text(session: BuildSession, path: str) -> str:
    try:
        return session.sandbox.get(path).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
