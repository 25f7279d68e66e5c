"""What a person says about one repository, laid over every recipe that the evidence gave.

It holds for all tries alike. Names that the project hasn't got are left out and said so in the evidence.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from packaging.utils import canonicalize_name

from reconstruct.environment.evidence.model import Origin
from reconstruct.environment.evidence.requirement_lines import name_of
from reconstruct.environment.facts import ProjectFacts
from reconstruct.environment.requirement_sets import RUNNER, unique
from swequarry.config import EnvironmentOverride
from swequarry.records import Evidence, Recipe

EVIDENCE_KEY = "override"


def overridden(
    recipes: Sequence[Recipe], override: EnvironmentOverride, facts: ProjectFacts
) -> tuple[Recipe, ...]:
    """Return recipes with an override laid over each; those that became equal once.

    `override.python` isn't looked at: the plan is made with it.
    """
    wanted = override.install
    fitting = [recipe for recipe in recipes if wanted in (None, recipe.install)]
    if not fitting and wanted is not None:
        fitting = [replace(recipe, install=wanted) for recipe in recipes]
    return tuple(dict.fromkeys(_one(recipe, override, facts) for recipe in fitting))


def override_evidence(
    pattern: str, override: EnvironmentOverride, facts: ProjectFacts
) -> tuple[Evidence, ...]:
    """Return an override as evidence, one entry for each thing that it says."""
    said = override.model_dump(mode="json", exclude_defaults=True)
    place = f"settings: environment.overrides.{pattern}"
    found = [
        Evidence(key=EVIDENCE_KEY, value=f"{name}: {_text(value)}", path=place)
        for name, value in sorted(said.items())
    ]
    known = {canonicalize_name(group.name) for group in facts.groups if group.origin is not Origin.EXTRA}
    unknown = [name for name in override.groups if canonicalize_name(name) not in known]
    if unknown:
        value = f"groups: the project has none called {', '.join(unknown)} at this commit"
        found.append(Evidence(key=EVIDENCE_KEY, value=value, path=place))
    return tuple(found)


def _text(value: object) -> str:
    match value:
        case list():
            return ", ".join(map(str, value))
        case dict():
            return ", ".join(f"{name}={text}" for name, text in sorted(value.items()))
        case _:
            return str(value)


def _one(recipe: Recipe, override: EnvironmentOverride, facts: ProjectFacts) -> Recipe:
    extras = recipe.extras if override.extras is None else override.extras
    added = [*override.requirements, *_of_groups(facts, override.groups)]
    if recipe.install == "path":  # nothing is installed whose extras the resolver would see
        declared = {canonicalize_name(name): texts for name, texts in facts.extras().items()}
        added += [text for name in extras for text in declared.get(canonicalize_name(name), ())]
        extras = ()
    dropped = {canonicalize_name(name) for name in override.without}
    named_first = {name_of(text) for text in added}
    return replace(
        recipe,
        extras=extras,
        requirements=_laid_over(recipe.requirements, added, dropped),
        optional=_laid_over(recipe.optional, override.optional, dropped | named_first),
        constraints=_laid_over(recipe.constraints, override.constraints, dropped),
        build_constraints=_laid_over(recipe.build_constraints, override.build_constraints, set()),
        build_requirements=_laid_over(recipe.build_requirements, override.build_requirements, set()),
        build_isolation=recipe.build_isolation and not override.build_requirements,
        exempt=tuple(sorted((dict(recipe.exempt) | dict(override.exempt)).items())),
        local_packages=unique([*recipe.local_packages, *override.local_packages]),
        variables=tuple((dict(recipe.variables) | dict(override.variables)).items()),
        test_framework=_framework(recipe, override),
        test_command=override.test_command or recipe.test_command,
    )


def _framework(recipe: Recipe, override: EnvironmentOverride) -> str:
    if override.test_command is None:
        return recipe.test_framework
    return override.test_framework or RUNNER


def _laid_over(found: Iterable[str], said: Iterable[str], dropped: Iterable[str]) -> tuple[str, ...]:
    """Return what was found without what is dropped or said otherwise, then what is said."""
    said = [text for text in said if name_of(text) not in dropped]
    gone = {name_of(text) for text in said} | set(dropped)
    return unique([*(text for text in found if name_of(text) not in gone), *said])


def _of_groups(facts: ProjectFacts, names: Iterable[str]) -> list[str]:
    wanted = {canonicalize_name(name) for name in names}
    return [
        text
        for group in facts.groups
        if group.origin is not Origin.EXTRA and canonicalize_name(group.name) in wanted
        for text in group.requirements
    ]
