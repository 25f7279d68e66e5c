"""Says in sentences why a recipe is as it is; derived again from what the plan was made from."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime

from packaging.utils import canonicalize_name

from reconstruct.environment.evidence.requirement_lines import name_of
from reconstruct.environment.evidence.versions import allows, version_key
from reconstruct.environment.interpreters import SETTLING, SHIFT, effective_date, minor_of
from reconstruct.environment.knowledge import python_releases
from reconstruct.environment.requirement_sets import RUNNER
from swequarry.records import Evidence, Recipe

_NO_REQUIREMENT = frozenset(
    {"requires_python", "classifier", "name", "layout", "test_framework", "lock_file", "locked_versions"}
)
_COMMANDS = ("ci_install", "nox_install", "tox_install", "override")
"""Keys of evidence whose value is a line with several names in it."""


def why_python(
    python: str,
    *,
    here: Sequence[str],
    requires_python: tuple[str, ...],
    named: tuple[str, ...],
    moments: tuple[datetime, datetime],
    said_by: str | None = None,
) -> str:
    """Return why an interpreter was chosen. `here` are full versions, `said_by` is a setting that names it.

    `moments` are the candidate's cut-off and the time of the base commit.
    """
    if said_by is not None:
        return f"{said_by} asks for it"
    day = effective_date(*moments)
    minors = sorted({minor_of(v) for v in here}, key=version_key, reverse=True)
    parts = [f"of {', '.join(minors)} here"]
    if requires_python:
        allowed = {minor_of(v) for v in here if allows(requires_python, v)}
        barred = [minor for minor in minors if minor not in allowed]
        bound = " or ".join(requires_python)
        parts.append(f"`{bound}` " + (f"rules out {', '.join(barred)}" if barred else "allows all"))
    names = [version for version in named if version_key(version) >= (3,)]
    parts.append(f"the project names {', '.join(names)}" if names else "the project names none")
    released = python_releases().get(python)
    if released is not None:
        parts.append(f"{python} came out on {released:%Y-%m-%d}, {_age(released, day)}")
    return "; ".join(parts)


def _age(released: datetime, day: datetime) -> str:
    if released > day:
        return f"after {day:%Y-%m-%d}, but none that fits is older"
    if released + SETTLING > day:
        return f"less than {SETTLING.days} days before {day:%Y-%m-%d}, but none that fits better had settled"
    return f"more than {SETTLING.days} days before {day:%Y-%m-%d}, so its wheels were there"


def why_cutoff(recipe: Recipe, moments: tuple[datetime, datetime]) -> str:
    """Return why packages are resolved as of the recipe's cut-off."""
    day = effective_date(*moments)
    what = "the pull request's day" if moments[0] >= moments[1] else "the base commit, younger than its merge"
    if recipe.cutoff == day:
        return f"{what}, and one day"
    return (
        f"Python {recipe.python} came out after {day:%Y-%m-%d} ({what}): "
        f"moved to {SHIFT.days} days after its release"
    )


def origins_of(text: str, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Return the places that name the distribution of a requirement, best first: `path:line (key)`.

    Empty where no line names it: files import it, the lock file bounds it, or a repair rule asked for it.
    """
    name = name_of(text)
    exact = [entry for entry in evidence if _speaks_of(entry, name) and entry.value == text]
    others = [entry for entry in evidence if _speaks_of(entry, name) and entry.value != text]
    found = [place_of(entry) for entry in (*exact, *others)]
    if not found and name == RUNNER:
        return ("the test runner, which is always installed",)
    return tuple(dict.fromkeys(found))


def extra_origins(name: str, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Return the places that declare or ask for an extra."""
    wanted = canonicalize_name(name)
    found = []
    for entry in evidence:
        key, _, rest = entry.key.partition(":")
        declared = key == "extra" and canonicalize_name(rest) == wanted
        asked = entry.key == "tox_extra" and canonicalize_name(entry.value) == wanted
        said = entry.key == "override" and entry.value.startswith("extras: ")
        if declared or asked or said or f"[{name}]" in entry.value:
            found.append(place_of(entry))
    return tuple(dict.fromkeys(found))


def place_of(entry: Evidence) -> str:
    """Return `path:line (key)` of an evidence."""
    line = f":{entry.line}" if entry.line else ""
    return f"{entry.path}{line} ({entry.key})"


def _speaks_of(entry: Evidence, name: str) -> bool:
    if not name or entry.key in _NO_REQUIREMENT or entry.key.endswith("_python"):
        return False
    words = entry.value.replace(",", " ").split() if entry.key in _COMMANDS else [entry.value]
    return any(name_of(word.strip("'\"")) == name for word in words)


def recipe_changes(before: Recipe, after: Recipe) -> tuple[str, ...]:
    """Return what another try changed: `requirements: + a, - b`, `install: editable -> path`."""
    found = []
    for field in fields(Recipe):
        old, new = getattr(before, field.name), getattr(after, field.name)
        if old == new:
            continue
        if isinstance(old, tuple) and isinstance(new, tuple):
            added = [f"+ {_word(item)}" for item in new if item not in old]
            gone = [f"- {_word(item)}" for item in old if item not in new]
            found.append(f"{field.name}: {', '.join([*added, *gone]) or 'in another order'}")
        else:
            found.append(f"{field.name}: {_word(old)} -> {_word(new)}")
    return tuple(found)


def _word(value: object) -> str:
    match value:
        case tuple():
            return " ".join(map(_word, value))
        case datetime():
            return f"{value:%Y-%m-%d}"
        case _:
            return str(value)
