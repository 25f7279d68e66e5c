"""What repair rules do: each action takes a recipe and values from the log, and gives a recipe.

Pure. An action that changes nothing returns the recipe as it is; None means that another interpreter is
needed. Nothing here ever makes a distribution out of an unknown import name: it may be somebody else's.
"""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from packaging.requirements import InvalidRequirement, Requirement

from reconstruct.environment.knowledge import import_distributions, is_not_needed, plugin_table
from swequarry.records import Recipe
from swequarry.sandbox.index_pages import normalise

REUPLOAD_BURST = timedelta(days=7)
"""Files that were deleted and uploaded again come back within this time."""
_RUNNER = "pytest"
T = TypeVar("T")


def _as_it_is(recipe: Recipe) -> Recipe:
    """Nobody said anything about this repository."""
    return recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairContext:
    """What a repair may build on.

    `named` are the normalised names of distributions in the repository's own files, `imported` the modules
    that its tests import, `own_modules` what an import finds in the tree, `build_requires` what its build
    asks for. `into_optional` says that what is required goes to the second tier, which can't change what
    works already. `hold` lays a person's word over a proposal again: no rule loosens that.
    """

    named: frozenset[str] = frozenset()
    imported: frozenset[str] = frozenset()
    own_modules: frozenset[str] = frozenset()
    build_requires: tuple[str, ...] = ()
    into_optional: bool = False
    hold: Callable[[Recipe], Recipe] = _as_it_is


Values = Mapping[str, str]
Action = Callable[[Recipe, Values, RepairContext], Recipe | None]


def distribution_name(requirement: str) -> str:
    """Return the normalised name in a requirement, or nothing where it isn't one."""
    try:
        return normalise(Requirement(requirement).name)
    except InvalidRequirement:
        return ""


def drop(recipe: Recipe, values: Values, _: RepairContext) -> Recipe:
    """Remove a requirement from whichever tier names it; the test runner stays."""
    name = normalise(values["name"])
    if name == _RUNNER:
        return recipe
    return replace(
        recipe,
        requirements=_without(recipe.requirements, name),
        optional=_without(recipe.optional, name),
        constraints=_without(recipe.constraints, name),
    )


def unpin(recipe: Recipe, values: Values, _: RepairContext) -> Recipe:
    """Take the version from a requirement."""
    name = normalise(values["name"])
    return replace(
        recipe,
        requirements=tuple(
            _bare(line) if distribution_name(line) == name else line for line in recipe.requirements
        ),
        constraints=_without(recipe.constraints, name),
    )


def loosen_mentioned(recipe: Recipe, values: Values, context: RepairContext) -> Recipe:
    """Give way where requirements contradict: exact pins first, then other bounds, then a requirement."""
    mentioned = {normalise(word) for word in re.findall(r"[A-Za-z0-9][A-Za-z0-9._-]*", values["text"])}
    lines = [line for line in recipe.requirements if distribution_name(line) in mentioned]
    constraints = [line for line in recipe.constraints if distribution_name(line) in mentioned]
    if constraints:
        return replace(recipe, constraints=_without(recipe.constraints, distribution_name(constraints[0])))
    pinned = [line for line in lines if "==" in line]
    bounded = [line for line in lines if Requirement(line).specifier]
    for line in (*pinned, *bounded):
        return unpin(recipe, {"name": distribution_name(line)}, context)
    for line in lines:
        if distribution_name(line) != _RUNNER:
            return drop(recipe, {"name": distribution_name(line)}, context)
    return recipe


def constrain(recipe: Recipe, values: Values, _: RepairContext) -> Recipe:
    """Bound a distribution."""
    return replace(recipe, constraints=_added(recipe.constraints, values["requirement"]))


def build_constrain(recipe: Recipe, values: Values, _: RepairContext) -> Recipe:
    """Bound a build back-end in place of the bound that was there."""
    name = distribution_name(values["requirement"])
    kept = _without(recipe.build_constraints, name)
    return replace(recipe, build_constraints=(*kept, values["requirement"]))


def build_without_isolation(recipe: Recipe, _: Values, __: RepairContext) -> Recipe:
    """Build the project against the environment, with its build requirements unpinned."""
    return replace(recipe, build_isolation=False)


def require_for_build(recipe: Recipe, values: Values, context: RepairContext) -> Recipe:
    """Build the project beside its dependencies, with a module at hand that set-up code imports unasked."""
    name = _distribution_of(values["module"], context)
    if name is None or any(distribution_name(line) == name for line in recipe.build_requirements):
        return recipe
    asked = recipe.build_requirements or context.build_requires
    return replace(recipe, build_isolation=False, build_requirements=_added(asked, name))


def install_as(recipe: Recipe, values: Values, _: RepairContext) -> Recipe:
    """Put the project in place in another way, each less faithful than the one before."""
    order = ("editable", "legacy-editable", "path")
    mode = values["mode"]
    if recipe.install in order and order.index(mode) <= order.index(recipe.install):
        return recipe
    return replace(recipe, install=mode)


def exempt_from(recipe: Recipe, values: Values, _: RepairContext) -> Recipe:
    """Show a distribution as it was uploaded again: the files of its first days."""
    return _exempt(recipe, values["name"], datetime.fromisoformat(values["time"]) + REUPLOAD_BURST)


def exempt_now(recipe: Recipe, values: Values, _: RepairContext) -> Recipe:
    """Show a distribution that the index gives no dates for."""
    return _exempt(recipe, values["name"], recipe.cutoff)


def exempt_days(recipe: Recipe, values: Values, _: RepairContext) -> Recipe:
    """Show a distribution some days past the cut-off: development heads ask for releases to come."""
    return _exempt(recipe, values["name"], recipe.cutoff + timedelta(days=int(values["days"])))


def pretend_version(recipe: Recipe, values: Values, _: RepairContext) -> Recipe:
    """Tell version tools the version, for this distribution alone."""
    if recipe.project_name is None:
        return recipe
    suffix = re.sub(r"[-_.]+", "_", recipe.project_name).upper()
    variable = (f"SETUPTOOLS_SCM_PRETEND_VERSION_FOR_{suffix}", values["version"])
    return replace(recipe, variables=_added(recipe.variables, variable))


def next_interpreter(_: Recipe, __: Values, ___: RepairContext) -> None:
    """Give this interpreter up."""


def drop_or_next_interpreter(recipe: Recipe, values: Values, context: RepairContext) -> Recipe | None:
    """Drop a requirement that wants a younger interpreter; where it isn't one of ours, give up."""
    changed = drop(recipe, values, context)
    return None if changed == recipe else changed


def require_module(recipe: Recipe, values: Values, context: RepairContext) -> Recipe:
    """Require the distribution of a module that the project's files name, or that is known for certain."""
    return _required(recipe, _distribution_of(values["module"], context), context)


def require_well_known(recipe: Recipe, values: Values, context: RepairContext) -> Recipe:
    """Require what prose names, where it is a known module that tests import: most words aren't modules."""
    module = next((m for m in context.imported if m.lower() == values["module"].lower()), None)
    if module is None or module in context.own_modules:
        return recipe
    return _required(recipe, import_distributions().get(module), context)


def require_fixture(recipe: Recipe, values: Values, context: RepairContext) -> Recipe:
    """Require the plugin of a fixture."""
    return _required(recipe, plugin_table().fixtures.get(values["fixture"]), context)


def require_options(recipe: Recipe, values: Values, context: RepairContext) -> Recipe:
    """Require the plugins of command-line options."""
    table = plugin_table()
    for word in values["options"].split():
        option = word.partition("=")[0]
        recipe = _required(recipe, table.options.get(option) or table.short_options.get(option), context)
    return recipe


def require_plugins(recipe: Recipe, values: Values, context: RepairContext) -> Recipe:
    """Require plugins that the settings of the runner demand."""
    for text in re.split(r",\s*", values["names"].strip()):
        if distribution_name(text) in plugin_table().distributions:
            recipe = _required(recipe, text, context)
    return recipe


def require_setting(recipe: Recipe, values: Values, context: RepairContext) -> Recipe:
    """Require the plugin of a setting."""
    return _required(recipe, plugin_table().settings.get(values["setting"]), context)


def require_marker(recipe: Recipe, values: Values, context: RepairContext) -> Recipe:
    """Require the plugin of a marker."""
    return _required(recipe, plugin_table().markers.get(values["marker"]), context)


def require_extras(recipe: Recipe, values: Values, context: RepairContext) -> Recipe:
    """Take extras of a distribution along that a message asks for, where the recipe has the distribution."""
    name, extras = normalise(values["name"]), {normalise(extra) for extra in values["extras"].split(",")}
    lines = [line for line in (*recipe.requirements, *recipe.optional) if distribution_name(line) == name]
    if not lines or extras <= {normalise(extra) for line in lines for extra in Requirement(line).extras}:
        return recipe
    widened = {line: _with_extras(line, extras) for line in lines}
    optional = tuple(widened.get(line, line) for line in recipe.optional)
    if not context.into_optional:
        requirements = tuple(widened.get(line, line) for line in recipe.requirements)
        return replace(recipe, requirements=requirements, optional=optional)
    return replace(
        recipe, optional=optional if optional != recipe.optional else (*optional, widened[lines[0]])
    )


def set_test_option(recipe: Recipe, values: Values, _: RepairContext) -> Recipe:
    """Overrule a setting of the test runner."""
    if values["option"] in recipe.test_command:
        return recipe
    return replace(recipe, test_command=(*recipe.test_command, "-o", values["option"]))


def _distribution_of(dotted: str, context: RepairContext) -> str | None:
    """Return the distribution of a module, if it's known for certain; None for the project's and Python's."""
    module = dotted.partition(".")[0]
    if module in sys.stdlib_module_names or module in context.own_modules:
        return None
    known = plugin_table().modules.get(dotted) or import_distributions().get(module)
    return normalise(module) if known is None and normalise(module) in context.named else known


def _required(recipe: Recipe, requirement: str | None, context: RepairContext) -> Recipe:
    name = distribution_name(requirement or "")
    own = normalise(recipe.project_name) if recipe.project_name else ""
    if not requirement or not name or name == own or (is_not_needed(name) and name not in _plugins()):
        return recipe
    present = {distribution_name(line) for line in recipe.requirements}
    if name in present:
        return recipe
    if context.into_optional:
        known = any(distribution_name(line) == name for line in recipe.optional)
        return recipe if known else replace(recipe, optional=(*recipe.optional, requirement))
    optional = _without(recipe.optional, name)
    return replace(recipe, requirements=(*recipe.requirements, requirement), optional=optional)


def _plugins() -> frozenset[str]:
    return plugin_table().distributions


def _without(lines: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(line for line in lines if distribution_name(line) != name)


def _added(values: tuple[T, ...], value: T) -> tuple[T, ...]:
    return values if value in values else (*values, value)


def _with_extras(line: str, extras: set[str]) -> str:
    requirement = Requirement(line)
    requirement.extras |= extras
    return str(requirement)


def _bare(line: str) -> str:
    requirement = Requirement(line)
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    marker = f" ; {requirement.marker}" if requirement.marker else ""
    return f"{requirement.name}{extras}{marker}"


def _exempt(recipe: Recipe, name: str, moment: datetime) -> Recipe:
    known = {normalise(n): when for n, when in recipe.exempt}
    key = normalise(name)
    if key in known and known[key] >= moment:
        return recipe
    return replace(recipe, exempt=tuple(sorted((known | {key: moment}).items())))


ACTIONS: Mapping[str, Action] = {
    action.__name__: action
    for action in (
        drop, unpin, loosen_mentioned, constrain, build_constrain, build_without_isolation, require_for_build,
        install_as,
        exempt_from, exempt_now, exempt_days, pretend_version, next_interpreter, drop_or_next_interpreter,
        require_module, require_well_known, require_fixture, require_options, require_plugins,
        require_setting, require_marker, require_extras, set_test_option,
    )
}  # fmt: skip
"""Every action by the name that rules call it."""
