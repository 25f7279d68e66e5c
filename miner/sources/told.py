"""Candidates of a clone whose pull requests and issues somebody else tells of: an API, or dumps of events."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from miner.candidates import PutBlob, never
from miner.licence import LicenceReader
from miner.policy import Policy
from miner.sources.dates import is_within
from miner.sources.facts import PullFacts, RepoFacts
from miner.sources.git import GitSource, PullFilter
from miner.sources.interface import Informant, MinedItem
from miner.sources.issues import IssueBook
from swequarry.config import Settings
from swequarry.git.history import Landed, merged_pulls
from swequarry.git.mirrors import MirrorLocator
from swequarry.outcome import RejectCode, Rejected
from swequarry.records import RepoRef


class Teller(Informant, Protocol):
    """An informant that also knows where pull requests were merged."""

    landings: dict[int, PullFacts]
    """Merged pull requests by number, as far as `ask_landed` came across them."""

    def ask_landed(
        self, chosen: PullFilter, silent: Sequence[int], *, complete: bool
    ) -> Mapping[int, Landed]:
        """Say where pull requests were merged that left no trace in the history (`git.history.AskLanded`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What mining one repository needs beside its clone. `remark` hears what is odd, and what it cost."""

    repo: RepoRef
    settings: Settings
    put_blob: PutBlob
    policy: Policy
    issues: IssueBook
    remark: Callable[[str], None]
    writable: Callable[[str], bool] = never


def told_items(
    room: Room, locator: MirrorLocator, teller: Teller, chosen: PullFilter, facts: RepoFacts | None = None
) -> Iterator[MinedItem]:
    """Yield one item for every merged pull request that is chosen.

    Raises:
        RepositoryError: the repository can't be cloned.
        SourceError, AuthenticationError: the teller can't be asked.
        GitError, StorageError: as `GitSource.items`.
    """

    def ask_landed(silent: Sequence[int], complete: bool) -> Mapping[int, Landed]:  # noqa: FBT001 - `AskLanded`
        return teller.ask_landed(chosen, silent, complete=complete)

    repository = locator.locate(room.repo)
    # With a limit the newest will do, and what git shows is newest first.
    ask = ask_landed if chosen.limit is None else None
    history = merged_pulls(repository, room.repo, room.settings.source.branch, ask)
    shown = frozenset(pull.record.number for pull in history.pulls)
    pulls = GitSource(
        repository=repository,
        repo=room.repo,
        history=history,
        curate=room.settings.curate,
        issues=room.issues,
        put_blob=room.put_blob,
        policy=room.policy,
        licences=LicenceReader(repository),
        informant=teller,
        complete=locator.complete,
        source=room.settings.source.kind,
        stars=facts.stars if facts else None,
        reported_licence=facts.licence if facts else None,
        writable=room.writable,
    )
    yield from pulls.items(replace(chosen, absent=frozenset(teller.landings) - shown))
    yield from _elsewhere(room.repo, teller.landings, shown, chosen)


def _elsewhere(
    repo: RepoRef, landings: Mapping[int, PullFacts], shown: frozenset[int], chosen: PullFilter
) -> Iterator[MinedItem]:
    """Yield merged pull requests that aren't on the branch that is mined."""
    for number, facts in sorted(landings.items(), reverse=True):
        asked = not chosen.numbers or number in chosen.numbers
        if number in shown or not asked or not is_within(facts.merged_at, chosen.since, chosen.until):
            continue
        yield MinedItem(
            item=repo.instance_id(number),
            outcome=Rejected(
                code=RejectCode.NOT_ON_BRANCH,
                message=f"#{number} was merged into `{facts.base_branch}`, and isn't on the branch",
                evidence=(f"merge_commit={facts.merge_commit}",),
            ),
        )
