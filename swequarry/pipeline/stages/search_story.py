"""What was seen while an environment was looked for: kept beside the result, whatever came of it."""

from dataclasses import dataclass
from datetime import datetime

from swequarry.records import EnvironmentTry, Evidence, Recipe, Record

OBSERVED = "search"
"""Where an attempt's observations name the blob with the story."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldTry(Record):
    """A try with the recipe that it tried."""

    recipe: Recipe
    attempt: EnvironmentTry


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStory(Record):
    """A search from its evidence to its last try.

    `interpreters` are the versions that were there, `requires_python` the alternatives that the project
    allows, `named_pythons` those that it names; `planned` are the recipes in the order of the plan. The
    cut-off is made from `candidate_cutoff` and `base_committed_at`.
    """

    candidate_cutoff: datetime
    base_committed_at: datetime
    interpreters: tuple[str, ...] = ()
    requires_python: tuple[str, ...] = ()
    named_pythons: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    planned: tuple[Recipe, ...] = ()
    tries: tuple[ToldTry, ...] = ()
