"""Stage `environment`: interpreter and dependencies as of the cut-off, found from evidence in the tree."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from reconstruct.environment.builder import Built, Workshop, build
from reconstruct.environment.facts import ProjectFacts, collect_facts
from reconstruct.environment.plan import plan_recipes
from reconstruct.environment.repair_context import repair_context
from reconstruct.environment.search import FoundEnvironment, find_environment
from swequarry.config import meaning_of
from swequarry.delta import TreeDelta
from swequarry.errors import ObjectMissingError, SandboxError
from swequarry.git.trees import TreeWorkbench
from swequarry.ledger.keys import StoredOutcome
from swequarry.outcome import Accepted, Failed, Outcome, Rejected
from swequarry.pipeline.stage import StageContext, StageItem
from swequarry.pipeline.stages.house import House, stored
from swequarry.pipeline.stages.snapshot import base_key, base_world, scratch_folder
from swequarry.pipeline.stages.trial import Trial
from swequarry.pipeline.stages.worlds import deltas_of, environment_key, missing_objects
from swequarry.records import (
    Candidate,
    ContentHash,
    Environment,
    Snapshot,
    State,
)
from swequarry.sandbox.contract import World
from swequarry.sandbox.index_proxy import IndexSource
from swequarry.verify.targets import path_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentInput:
    """A candidate with its snapshot."""

    candidate: Candidate
    snapshot: Snapshot


def workshop_of(house: House) -> Workshop:
    """Return what all builds of a run share."""
    settings = house.settings.environment
    source = IndexSource(
        cache=house.workspace.index, index_url=settings.index_url, ca_bundle=settings.ca_bundle
    )
    return Workshop(
        backend=house.backend,
        index=source,
        put_blob=house.workspace.blobs.put,
        limits=house.build_limits,
    )


def facts_of(house: House, candidate: Candidate) -> ProjectFacts:
    """Return what the tree at the base commit says about its environment."""
    repository = house.locator.locate(candidate.repo)
    with scratch_folder(house) as folder, TreeWorkbench(repository) as workbench:
        tree = folder / "tree"
        workbench.materialise(candidate.base_tree, tree, partial=True)
        return collect_facts(tree)


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
        SandboxError: what the lock names can't be had any more, or gives another environment.
    """
    world = World(backend=house.backend.name, key=environment_key(base_key(snapshot), environment))
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
        what = f"lock {built.lock}" if isinstance(built, Built) else f"a failed build ({built.cause})"
        raise SandboxError(
            f"the environment of {candidate.instance_id} can't be rebuilt as it was locked "
            f"({environment.lock}): the index now gives {what}"
        )
    return world


@dataclass(frozen=True, slots=True)
class EnvironmentStage:
    """Looks for an environment in which the candidate's tests run."""

    house: House
    name: ClassVar[str] = "environment"
    version: ClassVar[int] = 1

    @property
    def settings_hash(self) -> ContentHash:
        """The index, the backend and the limits; where the certificates lie isn't part of it."""
        settings = self.house.settings
        environment = settings.environment.model_copy(update={"ca_bundle": None})
        return meaning_of(environment, settings.sandbox)

    def run(self, item: StageItem[EnvironmentInput], context: StageContext) -> Sequence[StoredOutcome]:
        """Return the first environment that works, or why there is none."""
        house, candidate = self.house, item.value.candidate
        try:
            deltas = deltas_of(house, candidate)
        except ObjectMissingError as error:
            return [stored(item.key, missing_objects(error))]
        found = _search(house, item.value, deltas)
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


def _search(
    house: House, known: EnvironmentInput, deltas: Mapping[State, TreeDelta]
) -> Outcome[FoundEnvironment]:
    candidate = known.candidate
    facts = facts_of(house, candidate)
    interpreters = house.backend.interpreters()
    recipes = plan_recipes(
        facts,
        candidate,
        interpreters,
        house.locator.locate(candidate.repo).commit_time(candidate.base_commit),
        changed_sources(candidate.test_files, deltas[State.BEFORE]),
        python=house.settings.environment.python,
    )
    return find_environment(
        recipes,
        base_world(house, candidate, known.snapshot),
        workshop_of(house),
        Trial(house.backend, candidate, deltas, house.settings.verify, house.test_limits),
        interpreters=interpreters,
        context=repair_context(facts),
        evidence=facts.evidence,
        max_tries=house.settings.environment.max_tries,
    )
