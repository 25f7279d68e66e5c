"""What a source of candidates yields: one item per pull request or row, none lost, each with a stable key."""

from dataclasses import dataclass

from swequarry.outcome import Outcome
from swequarry.records import Candidate, RepoRef


@dataclass(frozen=True, slots=True, kw_only=True)
class MineUnit:
    """A piece of mining that is done and remembered as a whole.

    `git` gives one unit per repository; `rows` gives one for the file, since a row names its own repository.
    """

    key: str
    repo: RepoRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedItem:
    """How one pull request or row ended.

    `item` is its key, unique within the unit: the instance id, made unique where a row repeats one or has
    none. `notes` are sentences for the user about what was odd but not fatal (unknown fields, converted
    lists), each starting with its place.
    """

    item: str
    outcome: Outcome[Candidate]
    notes: tuple[str, ...] = ()
