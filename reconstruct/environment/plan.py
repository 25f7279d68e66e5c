"""From facts to recipes: an ordered list of tries, each of them data, none of them a guess by name.

The first recipe is the one that most likely works; each later one gives up a little: the pins of a lock
file, the optional tier, exact pins, the newest interpreter, the way in which the project is installed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from reconstruct.environment.evidence.requirement_lines import name_of
from reconstruct.environment.evidence.versions import version_key
from reconstruct.environment.facts import ProjectFacts
from reconstruct.environment.interpreters import (
    choose_interpreters,
    effective_date,
    minor_of,
    shifted_date,
)
from reconstruct.environment.knowledge import at_run_time, build_backends, late_uploads, tools_on_import
from reconstruct.environment.needs import TestNeeds, choose_needs
from reconstruct.environment.requirement_sets import RUNNER, tidy, unique, unpinned
from swequarry.records import Candidate, Recipe
from swequarry.sandbox.contract import Interpreter

BUILD_WINDOW_OPENS: Final = datetime(2023, 1, 8, tzinfo=UTC)
"""Back-ends are never taken from before this day: setuptools 65 is there, 66 isn't."""
MODERN: Final = datetime(2024, 1, 1, tzinfo=UTC)
"""From this day on nothing needs an old setuptools any more."""
_SCM_BY_DISTRIBUTION: Final = frozenset({"setuptools_scm", "hatch-vcs"})
_SEEDS: Final = frozenset({"pip", "setuptools", "wheel"})


def plan_recipes(
    facts: ProjectFacts,
    candidate: Candidate,
    interpreters: Sequence[Interpreter],
    base_time: datetime,
    changed_test_sources: Mapping[str, str],
    *,
    python: str | None = None,
    project_version: str | None = None,
) -> tuple[Recipe, ...]:
    """Return recipes to try in their order; empty where no interpreter here suits the project.

    `base_time` is the committer date of the base commit. `changed_test_sources` are the texts of the test
    files of the test patch by path. `python` (`3.9`) overrides the choice of the interpreter.
    `project_version` is given to version tools that would ask version control.
    """
    effective = effective_date(candidate.cutoff, base_time)
    pythons = _pythons(facts, interpreters, effective, python)
    planner = _Planner(facts, effective, changed_test_sources, project_version)
    plans = [planner.recipe(minor) for minor in pythons]
    if not plans:
        return ()
    best, others = plans[0], plans[1:]
    unlocked = planner.unlocked(best)
    tries = [best, unlocked, planner.narrowed(best), replace(unlocked, optional=()), planner.loosened(best)]
    tries += [*planner.isolated(best), *planner.other_runners(unlocked), *others[:1]]
    tries += [*planner.other_installs(unlocked), *others[1:]]
    return tuple(dict.fromkeys(tries))


def _pythons(
    facts: ProjectFacts, interpreters: Sequence[Interpreter], effective: datetime, python: str | None
) -> tuple[str, ...]:
    if python is not None:
        return tuple(v for v in [minor_of(python)] if v in {minor_of(i.version) for i in interpreters})
    return choose_interpreters(
        interpreters,
        requires_python=facts.requires_python,
        supported=facts.versions(),
        effective=effective,
    )


class _Planner:
    def __init__(
        self,
        facts: ProjectFacts,
        effective: datetime,
        changed_tests: Mapping[str, str],
        project_version: str | None,
    ) -> None:
        self._facts = facts
        self._effective = effective
        self._changed_tests = changed_tests
        self._project_version = project_version

    def recipe(self, python: str) -> Recipe:
        """The recipe for a Python, with the runner that most likely runs the tests."""
        return self._with_runner(self._recipe(python), "django" if self._runs_by_script() else RUNNER)

    def _recipe(self, python: str) -> Recipe:
        cutoff = shifted_date(self._effective, python)
        needs = self._needs(python, runner_pins=cutoff == self._effective)
        cap = setuptools_bound(python, cutoff, self._facts.build_requires)
        outdated = outdated_backends(self._facts.build_requires, cap)
        beside = self._unpinned_build_requires() if outdated else self._built_beside()
        recipe = Recipe(
            python=python,
            cutoff=cutoff,
            project_name=self._facts.name,
            install=self._install(python),
            extras=needs.extras,
            requirements=self._with_build_tools(needs.requirements),
            optional=needs.optional,
            constraints=needs.constraints,
            build_constraints=(cap,),
            build_requirements=beside,
            build_isolation=not beside,
            build_cutoff=max(cutoff, BUILD_WINDOW_OPENS),
            exempt=_exempt(cutoff),
            local_packages=needs.local,
            variables=self._variables(),
        )
        return self._on_path(recipe) if recipe.install == "path" else recipe

    def _runs_by_script(self) -> bool:
        """Whether the project's own script runs its tests, and nothing in the tree mentions pytest."""
        return self._facts.runner.framework == "django" and self._facts.runner.script is not None

    def _with_runner(self, recipe: Recipe, framework: str) -> Recipe:
        """The recipe, which is made for pytest, with another framework; pytest stays where it's mentioned."""
        runner = self._facts.runner
        if framework == RUNNER:
            return recipe
        command: tuple[str, ...] = ("python", "-m", framework)
        if framework == "django" and runner.script is not None:
            command = ("python", runner.script, *runner.options)
        recipe = replace(recipe, test_framework=framework, test_command=command)
        if runner.framework == RUNNER:
            return recipe
        kept = tuple(text for text in recipe.requirements if name_of(text) != RUNNER)
        if framework == "django" and self._chooses_services(recipe):
            return replace(recipe, requirements=(), optional=unique([*kept, *recipe.optional]))
        return replace(recipe, requirements=kept)

    def _chooses_services(self, recipe: Recipe) -> bool:
        """Whether what a package's files ask for is for services that its script could be pointed to.

        That is often nothing to install without them, and the suite skips what isn't there. A package that
        depends on Django is another matter: its files bound which Django it is tested with.
        """
        depends = "django" in {name_of(text) for text in self._facts.dependencies}
        return self._facts.is_package and recipe.install != "path" and not depends

    def other_runners(self, best: Recipe) -> list[Recipe]:
        """The same environment with the runner to fall back to.

        A project's own script after pytest, pytest after that, and unittest where nothing else is
        mentioned: pytest runs nearly all such suites, but it can't collect all of them.
        """
        runner = self._facts.runner
        if best.test_framework == "django":
            return [replace(self._recipe(best.python), optional=())]
        if runner.script is not None:
            return [self._with_runner(best, "django")]
        return [self._with_runner(best, "unittest")] if runner.framework == "unittest" else []

    def _needs(self, python: str, *, runner_pins: bool) -> TestNeeds:
        return choose_needs(self._facts, python, self._changed_tests, runner_pins=runner_pins)

    def unlocked(self, best: Recipe) -> Recipe:
        """The same without the pins of a lock file, which can be behind the tree or not fit together here."""
        locked = set(self._facts.locked)
        kept = tuple(line for line in best.constraints if line not in locked)
        return replace(best, constraints=kept)

    def narrowed(self, best: Recipe) -> Recipe:
        """The same without extras that only collect others: one dead feature of many would rule all out."""
        pins = shifted_date(self._effective, best.python) == self._effective
        needs = choose_needs(
            self._facts, best.python, self._changed_tests, runner_pins=pins, wide_extras=False
        )
        if needs.extras == best.extras or best.install == "path":
            return self.unlocked(best)
        first = self._with_build_tools(needs.requirements)
        return self.unlocked(replace(best, extras=needs.extras, requirements=first, optional=needs.optional))

    def loosened(self, best: Recipe) -> Recipe:
        """The same with nothing in the first tier but the runner and the core, and no exact pins."""
        needs = self._needs(best.python, runner_pins=False)
        names = {*needs.essential, RUNNER}
        first = tuple(text for text in best.requirements if name_of(text) in names)
        rest = [text for text in best.requirements if text not in first]
        return replace(
            best,
            requirements=unique(unpinned(text) for text in first),
            optional=unique(unpinned(text) for text in [*rest, *best.optional]),
            constraints=(),
        )

    def _install(self, python: str) -> str:
        """Setuptools of Python 3.6 can't build editable wheels; a tree without metadata isn't installed."""
        if not self._facts.is_package:
            return "path"
        uses_setuptools = (self._facts.build_backend or "setuptools").startswith("setuptools")
        if version_key(python) >= (3, 7) or not uses_setuptools:
            return "editable"
        return "legacy-editable" if self._facts.has_setup_py else "path"

    def _on_path(self, recipe: Recipe) -> Recipe:
        """A project that isn't installed brings no requirements of its own: they are named instead."""
        declared: dict[str, tuple[str, ...]] = {
            canonicalize_name(n): texts for n, texts in self._facts.extras().items()
        }
        own = [*self._facts.dependencies, *(t for e in recipe.extras for t in declared.get(e, ()))]
        texts = tidy([*recipe.requirements, *own])
        name = canonicalize_name(self._facts.name) if self._facts.name else ""
        kept = tuple(text for text in texts if name_of(text) != name)
        return replace(
            recipe, install="path", extras=(), requirements=kept, build_isolation=True, build_requirements=()
        )

    def other_installs(self, best: Recipe) -> list[Recipe]:
        """Other ways to put the same project in place, without the optional tier."""
        plain = replace(best, optional=())
        found = []
        if best.install == "editable" and self._facts.has_setup_py and self._facts.build_backend is None:
            found.append(replace(plain, install="legacy-editable"))
        if best.install != "path" and (self._facts.dependencies or self._facts.layout.modules):
            found.append(self._on_path(plain))
        return found

    def _unpinned_build_requires(self) -> tuple[str, ...]:
        names = (name_of(text) for text in self._facts.build_requires)
        return tuple(dict.fromkeys(name for name in names if name))

    def _built_beside(self) -> tuple[str, ...]:
        """What the build asks for, where it has to be built against what is there at run time."""
        against = {name_of(text) for text in self._facts.build_requires} & at_run_time().keys()
        if self._facts.build_backend in tools_on_import() or (against and self._facts.layout.compiled):
            return loose_build_requires(self._facts)
        return ()

    def isolated(self, best: Recipe) -> list[Recipe]:
        """The same built apart from its dependencies, with the versions that the build asks for."""
        if best.build_isolation or not self._facts.layout.compiled:
            return []
        return [replace(self.unlocked(best), build_isolation=True, build_requirements=())]

    def _with_build_tools(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """What a project with extension modules is built with stays at hand: changed sources are built again.

        Without exact pins, which are those of another environment; numpy as the tests have it.
        """
        if not self._facts.layout.compiled or not self._facts.is_package:
            return texts
        tools = [at_run_time().get(name_of(t), unpinned(t)) for t in self._facts.build_requires]
        present = {name_of(text) for text in (*texts, *self._facts.dependencies)} | _SEEDS
        return unique([*texts, *(tool for tool in tools if name_of(tool) not in present)])

    def _variables(self) -> tuple[tuple[str, str], ...]:
        """The version for this distribution alone: a general variable would reach its dependencies too."""
        if not self._project_version or not self._facts.name:
            return ()
        if self._facts.version_source not in _SCM_BY_DISTRIBUTION:
            return ()
        suffix = re.sub(r"[-_.]+", "_", self._facts.name).upper()
        return ((f"SETUPTOOLS_SCM_PRETEND_VERSION_FOR_{suffix}", self._project_version),)


def loose_build_requires(facts: ProjectFacts) -> tuple[str, ...]:
    """Return what building a project asks for, without exact pins, for a build beside its dependencies."""
    same = {**at_run_time(), **{name: name for name in _SEEDS}}
    texts = [same.get(name_of(text), unpinned(text)) for text in facts.build_requires if name_of(text)]
    return unique([*texts, *tools_on_import().get(facts.build_backend or "", ())])


def setuptools_bound(python: str, cutoff: datetime, build_requires: Sequence[str]) -> str:
    """Return the bound on setuptools in builds.

    64 is the first with editable wheels (PEP 660), 66 the first that refuses versions that aren't PEP 440,
    66.2 the first that runs on 3.12, 59 the last for 3.6. A project that asks for more gets it.
    """
    minor = version_key(python)
    if minor < (3, 7):
        return "setuptools<60"
    if minor >= (3, 12):
        return "setuptools>=66.2"
    if cutoff >= MODERN or _asks_beyond(build_requires, "65.7"):
        return "setuptools>=64"
    return "setuptools>=64,<66"


def _asks_beyond(build_requires: Sequence[str], version: str) -> bool:
    """Whether a lower bound on setuptools lies above a version."""
    lower = [
        specifier.version
        for text in build_requires
        if name_of(text) == "setuptools"
        for specifier in Requirement(text).specifier
        if specifier.operator in {">=", ">", "==", "~="}
    ]
    return any(version_key(bound) > version_key(version) for bound in lower)


def outdated_backends(build_requires: Sequence[str], setuptools_cap: str) -> tuple[str, ...]:
    """Return back-ends that the project pins below the first version with editable wheels.

    They are then taken unpinned, and the project is built without isolation.
    """
    if "<60" in setuptools_cap:
        return ()
    found = []
    for text in build_requires:
        rule = build_backends().get(name_of(text))
        if rule is None:
            continue
        specifier = Requirement(text).specifier
        if specifier and not _reaches(specifier, rule.first_editable):
            found.append(rule.distribution)
    return tuple(found)


def _reaches(specifier: SpecifierSet, first: str) -> bool:
    """Whether some version from `first` on is allowed: upper bounds and exact pins decide."""
    for bound in specifier:
        version = bound.version.rstrip(".*")
        if bound.operator in {"<", "<="} and version_key(version) <= version_key(first):
            return bound.operator == "<=" and version_key(version) == version_key(first)
        if bound.operator in {"==", "===", "~="} and version_key(version) < version_key(first):
            prefix = version_key(version)[: -1 if bound.operator == "~=" else None]
            if bound.operator != "~=" or version_key(first)[: len(prefix)] > prefix:
                return False
    return True


def _exempt(cutoff: datetime) -> tuple[tuple[str, datetime], ...]:
    return tuple(sorted((name, day) for name, day in late_uploads().items() if day > cutoff))
