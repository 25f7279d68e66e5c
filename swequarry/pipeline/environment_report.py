"""How an item's environment came about: evidence, plan, tries, lock, losses; for people and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from reconstruct.environment.locks import parse_lock
from reconstruct.environment.reasons import (
    extra_origins,
    origins_of,
    place_of,
    recipe_changes,
    why_cutoff,
    why_python,
)
from swequarry.outcome import Accepted, Failed, Rejected
from swequarry.pipeline.known_item import KnownItem
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.stages.search_story import SearchStory
from swequarry.records import BlobHash, EnvironmentTry, Evidence, Recipe

_IMPORTED = ("no line names it: files of the project import it",)
"""Where a requirement comes from that neither a line nor a rule asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Something that a recipe asks for, and the places that it comes from."""

    text: str
    origins: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A recipe with its reasons; `denied` is the project's own distribution, hidden in the index."""

    python: str
    why_python: str
    cutoff: datetime
    why_cutoff: str
    install: str
    denied: str | None
    extras: tuple[Asked, ...]
    requirements: tuple[Asked, ...]
    optional: tuple[Asked, ...]
    constraints: tuple[Asked, ...]
    build_constraints: tuple[str, ...]
    build_requirements: tuple[str, ...]
    build_isolation: bool
    build_window: datetime | None
    exempt: tuple[tuple[str, datetime], ...]
    local_packages: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    test_framework: str
    test_command: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedRecipe:
    """One try: the rule that proposed it, what it changed against the try before, how it ended."""

    number: int
    rule: str
    result: str
    python: str | None
    changes: tuple[str, ...]
    decisive_lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentReport:
    """All that is known of an item's environment. `packages` are (name, version) of the lock."""

    item: str
    repo: str
    base_commit: str
    verdict: str
    identity: str | None
    backend: str | None
    python_version: str | None
    evidence: tuple[Evidence, ...]
    plan: Plan | None
    tries: tuple[TriedRecipe, ...]
    lock: str | None
    packages: tuple[tuple[str, str], ...]
    lost: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    durations_s: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return plain data; moments stay moments."""
        return asdict(self)


def report_environment(house: House, known: KnownItem) -> EnvironmentReport:
    """Put together what is known.

    Raises:
        StorageError: the lock is missing from the blobs.
    """
    environment, story = known.environment, known.story
    evidence = story.evidence if story else environment.evidence if environment else ()
    recipe = _recipe_of(known)
    observed = known.observed
    return EnvironmentReport(
        item=known.item,
        repo=known.candidate.repo.full_name,
        base_commit=known.candidate.base_commit,
        verdict=_verdict(known),
        identity=environment.identity() if environment else None,
        backend=environment.backend if environment else None,
        python_version=environment.python_version if environment else None,
        evidence=evidence,
        plan=_plan(house, known, recipe, evidence) if recipe else None,
        tries=_tries(known),
        lock=environment.lock if environment else None,
        packages=_packages(house, environment.lock) if environment else (),
        lost=tuple((str(name), str(why)) for name, why in observed.get("lost", ())),
        notes=tuple(map(str, observed.get("notes", ()))),
        durations_s=observed.get("build_s", {}),
    )


def _recipe_of(known: KnownItem) -> Recipe | None:
    """The recipe that works, else the first of the plan."""
    if known.environment is not None:
        return known.environment.recipe
    return known.story.planned[0] if known.story and known.story.planned else None


def _verdict(known: KnownItem) -> str:
    match known.outcome:
        case Accepted():
            return "found"
        case Rejected(code=code, message=message):
            return f"rejected as {code.value}: {message}"
        case Failed(boundary=boundary, message=message):
            return f"failed, the {boundary.value} broke: {message}"
        case None if known.attempts:
            last = known.attempts[-1]
            return f"not decided; the last try is {last.status.value}: {last.message or 'no message'}"
        case None:
            return "not tried: the item ended before, see `swequarry why`"


def _plan(house: House, known: KnownItem, recipe: Recipe, evidence: Sequence[Evidence]) -> Plan:
    def asked(texts: Sequence[str], unnamed: Sequence[str]) -> tuple[Asked, ...]:
        return tuple(
            Asked(text=t, origins=_origins(known.story, t, evidence) or tuple(unnamed)) for t in texts
        )

    locked = [place_of(entry) for entry in evidence if entry.key == "locked_versions"]
    extras = tuple(Asked(text=name, origins=extra_origins(name, evidence)) for name in recipe.extras)
    return Plan(
        python=recipe.python,
        why_python=_why_python(house, known, recipe),
        cutoff=recipe.cutoff,
        why_cutoff=_why_cutoff(known, recipe),
        install=recipe.install,
        denied=recipe.project_name,
        extras=extras,
        requirements=asked(recipe.requirements, _IMPORTED),
        optional=asked(recipe.optional, _IMPORTED),
        constraints=asked(recipe.constraints, locked),
        build_constraints=recipe.build_constraints,
        build_requirements=recipe.build_requirements,
        build_isolation=recipe.build_isolation,
        build_window=recipe.build_cutoff,
        exempt=recipe.exempt,
        local_packages=recipe.local_packages,
        variables=recipe.variables,
        test_framework=recipe.test_framework,
        test_command=recipe.test_command,
    )


def _origins(story: SearchStory | None, text: str, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    rule = _rule_that_added(text, story) if story else None
    by_rule = () if rule is None else (f"repair rule {rule}",)
    return (*by_rule, *origins_of(text, evidence))


def _rule_that_added(text: str, story: SearchStory) -> str | None:
    """Return the rule whose try was the first to ask for what no recipe of the plan asks for."""

    def asks(recipe: Recipe) -> bool:
        return text in (*recipe.requirements, *recipe.optional, *recipe.constraints)

    if any(asks(recipe) for recipe in story.planned):
        return None
    return next((told.attempt.rule for told in story.tries if told.attempt.rule and asks(told.recipe)), None)


def _why_python(house: House, known: KnownItem, recipe: Recipe) -> str:
    if known.story is None:
        return "not kept: this environment was found by an older version"
    settings = house.settings.environment
    override = settings.override_for(known.candidate.repo.full_name)
    said_by = "setting environment.python" if settings.python else None
    if override is not None and override[1].python:
        said_by = f"setting environment.overrides.{override[0]}"
    reason = why_python(
        recipe.python,
        here=known.story.interpreters,
        requires_python=known.story.requires_python,
        named=known.story.named_pythons,
        moments=(known.story.candidate_cutoff, known.story.base_committed_at),
        said_by=said_by,
    )
    first = known.story.planned[0].python if known.story.planned else recipe.python
    return reason if first == recipe.python else f"the tries with {first} failed; {reason}"


def _why_cutoff(known: KnownItem, recipe: Recipe) -> str:
    if known.story is None:
        return "not kept: this environment was found by an older version"
    return why_cutoff(recipe, (known.story.candidate_cutoff, known.story.base_committed_at))


def _tries(known: KnownItem) -> tuple[TriedRecipe, ...]:
    if known.story is None:
        old = known.environment.tries if known.environment else ()
        return tuple(_tried(number, attempt, None, None) for number, attempt in enumerate(old, 1))
    told = known.story.tries
    return tuple(
        _tried(number, one.attempt, one.recipe, told[number - 2].recipe if number > 1 else None)
        for number, one in enumerate(told, 1)
    )


def _tried(number: int, attempt: EnvironmentTry, recipe: Recipe | None, before: Recipe | None) -> TriedRecipe:
    return TriedRecipe(
        number=number,
        rule=attempt.rule or "plan",
        result=attempt.result,
        python=recipe.python if recipe else None,
        changes=recipe_changes(before, recipe) if before and recipe else (),
        decisive_lines=attempt.decisive_lines,
    )


def _packages(house: House, lock: BlobHash) -> tuple[tuple[str, str], ...]:
    text = house.workspace.blobs.get(lock).decode("ascii", "replace")
    return tuple((package.name, package.version) for package in parse_lock(text))
