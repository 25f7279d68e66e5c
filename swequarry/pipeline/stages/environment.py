"""Stage `environment`: interpreter and dependencies as of the cut-off, found from evidence in the tree."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from reconstruct.environment.build_session import BuildCause
from reconstruct.environment.builder import BuildResult, Built, Workshop, build
from reconstruct.environment.facts import ProjectFacts
from reconstruct.environment.overrides import overridden, override_evidence
from reconstruct.environment.plan import plan_recipes
from reconstruct.environment.repair_context import repair_context
from reconstruct.environment.search import FoundEnvironment, find_environment
from swequarry.config import EnvironmentOverride, Settings, meaning_of
from swequarry.delta import TreeDelta
from swequarry.errors import ObjectMissingError, SandboxError, WorldChangedError
from swequarry.ledger.keys import StoredOutcome
from swequarry.outcome import Accepted, Failed, Outcome, Rejected
from swequarry.pipeline.stage import StageContext, StageItem
from swequarry.pipeline.stages.house import House, stored
from swequarry.pipeline.stages.search_story import OBSERVED, SearchStory, ToldTry
from swequarry.pipeline.stages.snapshot import base_world
from swequarry.pipeline.stages.trees import facts_of, standing_tests
from swequarry.pipeline.stages.trial import Trial
from swequarry.pipeline.stages.worlds import deltas_of, missing_objects, world_named
from swequarry.records import (
    Candidate,
    ContentHash,
    Environment,
    EnvironmentTry,
    Recipe,
    RepoRef,
    Snapshot,
    State,
    canonical_json,
    sha256_hex,
)
from swequarry.sandbox.contract import Interpreter, World
from swequarry.verify.targets import path_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentInput:
    """A candidate with its snapshot."""

    candidate: Candidate
    snapshot: Snapshot


def with_override(input_hash: ContentHash, settings: Settings, repo: RepoRef) -> ContentHash:
    """Return the input hash of the stage for a repository: another one where an override is for it.

    So that an override invalidates what it is about, and nothing of other repositories.
    """
    found = settings.environment.override_for(repo.full_name)
    if found is None:
        return input_hash
    return ContentHash(sha256_hex(canonical_json([input_hash, meaning_of(found[1])])))


def workshop_of(house: House) -> Workshop:
    """Return what all builds of a run share."""
    return Workshop(
        backend=house.backend,
        index=house.index,
        put_blob=house.workspace.blobs.put,
        limits=house.build_limits,
    )


def changed_sources(paths: Iterable[str], before: TreeDelta) -> dict[str, str]:
    """Return the texts of the test patch's Python files by path."""
    found = {}
    for name in paths:
        content = before.files.get(path_bytes(name))
        if content is not None and name.endswith(".py"):
            found[os.fsdecode(path_bytes(name))] = content.data.decode("utf-8", "replace")
    return found


def environment_world(
    house: House, candidate: Candidate, snapshot: Snapshot, environment: Environment
) -> World:
    """Return the world of an environment, built again from its lock where it isn't stored any more.

    Raises:
        WorldChangedError: what the lock names can't be had any more, or gives another environment.
        SandboxError: its interpreter isn't on this machine, a limit was met, or the sandbox broke.
    """
    world = world_named(house, snapshot, environment)
    if house.backend.has_world(world.key):
        return world
    by_minor = {i.version.rpartition(".")[0]: i for i in reversed(house.backend.interpreters())}
    interpreter = by_minor.get(environment.recipe.python)
    if interpreter is None:
        raise SandboxError(f"Python {environment.recipe.python} of the environment isn't here any more")
    base = base_world(house, candidate, snapshot)
    lock = house.workspace.blobs.get(environment.lock)
    built = build(environment.recipe, base, interpreter, workshop_of(house), lock=lock)
    if not isinstance(built, Built) or built.world != world:
        raise _not_rebuilt(candidate, environment, interpreter, built)
    return world


def _not_rebuilt(
    candidate: Candidate, environment: Environment, interpreter: Interpreter, built: BuildResult
) -> SandboxError:
    """Return the error of a world that isn't rebuilt: whether this machine is why, or what the lock names."""
    if interpreter.version != environment.python_version:
        return SandboxError(
            f"{candidate.instance_id} was verified with Python {environment.python_version}, and "
            f"{interpreter.version} is what this machine has; install that one"
        )
    what = f"lock {built.lock}" if isinstance(built, Built) else f"a failed build ({built.cause})"
    message = (
        f"the environment of {candidate.instance_id} can't be rebuilt as it was locked "
        f"({environment.lock}): the index now gives {what}"
    )
    limited = not isinstance(built, Built) and built.cause is BuildCause.LIMIT
    return SandboxError(message) if limited else WorldChangedError(message)


@dataclass(frozen=True, slots=True)
class EnvironmentStage:
    """Looks for an environment in which the candidate's tests run."""

    house: House
    name: ClassVar[str] = "environment"
    version: ClassVar[int] = 4

    @property
    def settings_hash(self) -> ContentHash:
        """The index, the backend and the limits; neither where certificates lie nor overrides.

        An override is part of the input of the repository that it is for: see `with_override`.
        """
        settings = self.house.settings
        environment = settings.environment.model_copy(update={"ca_bundle": None, "overrides": {}})
        return meaning_of(environment, settings.sandbox)

    def run(self, item: StageItem[EnvironmentInput], context: StageContext) -> Sequence[StoredOutcome]:
        """Return the first environment that works, or why there is none."""
        house, candidate = self.house, item.value.candidate
        try:
            deltas = deltas_of(house, candidate)
        except ObjectMissingError as error:
            return [stored(item.key, missing_objects(error))]
        search = _Search(house, item.value, deltas)
        try:
            found = search.run()
        finally:
            context.observe(**{OBSERVED: context.blobs.put(canonical_json(search.story.to_json()))})
        match found:
            case Accepted(value=value):
                context.observe(
                    build_s=dict(value.built.durations_s),
                    lost=[list(pair) for pair in value.built.lost],
                    notes=list(value.built.notes),
                )
                outcome: Outcome[Environment] = Accepted(value=value.environment)
            case Rejected() | Failed():
                outcome = found
        return [stored(item.key, outcome)]


class _Search:
    """Looks for the environment of one candidate, and keeps the story of it."""

    def __init__(self, house: House, known: EnvironmentInput, deltas: Mapping[State, TreeDelta]) -> None:
        self._house = house
        self._known = known
        self._deltas = deltas
        repository = house.repository(known.candidate.repo)
        self.story = SearchStory(
            candidate_cutoff=known.candidate.cutoff,
            base_committed_at=repository.commit_time(known.candidate.base_commit),
        )

    def _tell(self, recipe: Recipe, attempt: EnvironmentTry) -> None:
        told = ToldTry(recipe=recipe, attempt=attempt)
        self.story = replace(self.story, tries=(*self.story.tries, told))

    def _plan(self, facts: ProjectFacts, interpreters: Sequence[Interpreter]) -> tuple[Recipe, ...]:
        """Return the recipes, with the person's word where the settings have one for this repository."""
        settings, candidate = self._house.settings.environment, self._known.candidate
        found = settings.override_for(candidate.repo.full_name)
        pattern, override = found or ("", EnvironmentOverride())
        recipes = plan_recipes(
            facts,
            candidate,
            interpreters,
            self.story.base_committed_at,
            changed_sources(candidate.test_files, self._deltas[State.BEFORE]),
            python=override.python or settings.python,
        )
        if found is not None:
            recipes = overridden(recipes, override, facts)
        said = override_evidence(pattern, override, facts)
        self.story = replace(
            self.story,
            evidence=facts.evidence + said,
            planned=recipes,
            interpreters=tuple(python.version for python in interpreters),
            requires_python=facts.requires_python,
            named_pythons=facts.versions(),
        )
        return recipes

    def run(self) -> Outcome[FoundEnvironment]:
        """Return the environment, or why there is none."""
        house, candidate = self._house, self._known.candidate
        facts = facts_of(house, candidate)
        interpreters = house.backend.interpreters()
        recipes = self._plan(facts, interpreters)
        context = repair_context(facts)
        said = house.settings.environment.override_for(candidate.repo.full_name)
        if said is not None:
            context = replace(context, hold=lambda recipe: overridden((recipe,), said[1], facts)[0])
        return find_environment(
            recipes,
            base_world(house, candidate, self._known.snapshot),
            workshop_of(house),
            Trial(
                house.backend,
                candidate,
                self._deltas,
                house.settings.verify,
                house.test_limits,
                standing_tests(house, candidate) if not candidate.test_files else (),
            ),
            interpreters=interpreters,
            context=context,
            evidence=self.story.evidence,
            max_tries=house.settings.environment.max_tries,
            tell=self._tell,
        )
