"""The search for an environment: what counts as a try, and what must not eat up the tries of others."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from reconstruct.environment import search
from reconstruct.environment.build_session import BuildCause
from reconstruct.environment.builder import NotBuilt
from reconstruct.environment.search import TrialResult, find_environment
from swequarry.outcome import Rejected
from swequarry.records import Recipe
from swequarry.sandbox.contract import Interpreter, World

RECIPE = Recipe(
    python="3.9",
    cutoff=datetime(2021, 6, 1, tzinfo=UTC),
    project_name="demo",
    requirements=("pytest", *(f"dep{number}" for number in range(30))),
)
PYTHON = Interpreter(version="3.9.1", path="/x/bin/python", prefix="/x")
WORLD = World(backend="fake", key="w")


@pytest.fixture
def tries(monkeypatch):
    """Builds that fail at one requirement after the other, each with its own line."""
    made = []

    def build(recipe, *_):
        made.append(recipe)
        name = recipe.requirements[-1]
        text = f"error: Failed to build `{name}==1.0`" if name.startswith("dep") else "error: out of luck"
        return NotBuilt(cause=BuildCause.RESOLVE, step="resolve", log=text.encode(), decisive=(text,))

    monkeypatch.setattr(search, "build", build)
    return made


def _find(recipes, **options):
    def trial(*_):
        return TrialResult(ok=False, log=b"")

    return find_environment(recipes, WORLD, None, trial, interpreters=[PYTHON], **options)  # type: ignore[arg-type]


def test_repairs_that_get_further_leave_the_tries_of_the_plan_alone(tries):
    plan = [replace(RECIPE, requirements=RECIPE.requirements[:4]), replace(RECIPE, requirements=("pytest",))]
    found = _find(plan, max_tries=3)
    assert isinstance(found, Rejected)
    assert [len(recipe.requirements) for recipe in tries] == [4, 3, 2, 1]


def test_builds_stay_bounded_however_many_repairs_are_known(tries):
    _find([RECIPE], max_tries=3)
    assert len(tries) == 6


def test_repair_that_changes_nothing_of_the_failure_is_counted(monkeypatch):
    made = []

    def build(recipe, *_):
        made.append(recipe)
        log = f"error: Failed to build `{recipe.requirements[-1]}==1.0`".encode()
        return NotBuilt(cause=BuildCause.RESOLVE, step="resolve", log=log, decisive=("the same",))

    monkeypatch.setattr(search, "build", build)
    _find([RECIPE], max_tries=3)
    assert len(made) == 3
