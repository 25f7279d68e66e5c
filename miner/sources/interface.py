"""What a source of candidates yields: one item per pull request or row, none lost, each with a stable key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from swequarry.outcome import Outcome
from swequarry.records import Candidate, IssueRecord, PullRecord, RepoRef


class Informant(Protocol):
    """What a source knows beside git about the pull requests and issues of one repository."""

    def pulls(self, records: Sequence[PullRecord]) -> Mapping[int, PullRecord]:
        """Return the records with what the source says of them; those that it can't tell are left out.

        Raises:
            SourceError, AuthenticationError: it can't be asked now.
        """

    def issues(self, numbers: Sequence[int]) -> Mapping[int, IssueRecord]:
        """Return what is known of issues; those that aren't there, or can't be told, are left out.

        Raises:
            SourceError, AuthenticationError: it can't be asked now.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class MineUnit:
    """A piece of mining that is done and remembered as a whole.

    `git`, `github` and `gharchive` give one unit per repository; `rows` gives one for the file, since a row
    names its own repository.
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
