"""Candidates from GitHub: commits, files and messages from a clone, everything else from its API.

What a clone can tell never costs a request. Asked for are: the repository (once, conditionally); of pull
requests that pass by their paths, their texts, authors, labels and closing references; of the issues that
these name, their texts, edits, comments and timeline; and where those pull requests landed that left no trace
in the history.
"""

import logging
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from miner.sources.facts import RepoFacts
from miner.sources.git import PullFilter
from miner.sources.githubapi.batches import Asker
from miner.sources.githubapi.client import Clock, GithubClient, Patience, RealClock
from miner.sources.githubapi.informant import GithubInformant
from miner.sources.githubapi.memory import Memory
from miner.sources.githubapi.parse import parse_repo
from miner.sources.githubapi.tokens import read_tokens
from miner.sources.interface import MinedItem
from miner.sources.told import Room, told_items
from swequarry.config import GithubSettings
from swequarry.errors import ConfigError, SourceError, SourceGoneError
from swequarry.git.mirrors import MirrorLocator
from swequarry.outcome import RejectCode, Rejected
from swequarry.records import RepoRef, sha256_hex

_LOG = logging.getLogger("swequarry.github")
MEMORY_FOLDER = "github"


def memory_of(settings: GithubSettings, cache: Path) -> Memory:
    """Open what is remembered of an API.

    Raises:
        StorageError: it can't be opened.
    """
    return Memory(cache / MEMORY_FOLDER / f"{sha256_hex(settings.api.encode('utf-8'))[:12]}.sqlite")


def open_client(
    settings: GithubSettings,
    cache: Path,
    clock: Clock | None = None,
    tell: Callable[[str], None] | None = None,
) -> GithubClient:
    """Return a client for the API of the settings, with the tokens of the environment.

    Raises:
        AuthenticationError: there is no token.
        ConfigError: `ca_bundle` names no file.
        StorageError: the memory can't be opened.
    """
    if settings.ca_bundle is not None and not settings.ca_bundle.is_file():
        raise ConfigError(
            f"source.github.ca_bundle: there is no file {settings.ca_bundle}; correct or leave out the path"
        )
    client = GithubClient(
        api=settings.api.rstrip("/"),
        tokens=read_tokens(),
        memory=memory_of(settings, cache),
        ca_bundle=settings.ca_bundle,
        patience=Patience(
            timeout_s=settings.timeout_s, longest_wait_s=settings.longest_wait_s, tries=settings.tries
        ),
        clock=clock or RealClock(),
    )
    if tell is not None:
        client.tell = tell
    return client


def read_repo(client: GithubClient, repo: RepoRef, *, as_kept: bool = False) -> RepoFacts:
    """Return what GitHub says of a repository, or said once; one that was renamed is found by its old name.

    Raises:
        SourceGoneError: it is removed, private or blocked.
        SourceError, AuthenticationError: GitHub can't be asked.
    """
    body, _ = client.get(f"/repos/{repo.full_name}", as_kept=as_kept)
    return parse_repo(body)


def informant_of(client: GithubClient, repo: RepoRef, settings: GithubSettings) -> GithubInformant:
    """Return who tells of a repository.

    Raises:
        SourceGoneError: it is removed or blocked, or private and not to be taken.
        SourceError, AuthenticationError: GitHub can't be asked.
    """
    facts = read_repo(client, repo, as_kept=True)
    if facts.is_private and settings.private == "refuse":
        raise SourceGoneError(
            f"{repo.full_name} is private; set source.github.private to `take` if you may use it", status=404
        )
    return GithubInformant(asker=asker_of(client, facts, settings), repo=repo, facts=facts)


def asker_of(client: GithubClient, facts: RepoFacts, settings: GithubSettings) -> Asker:
    """Return who asks about the numbers of a repository, by its name of today."""
    owner, _, name = facts.full_name.partition("/")
    named = RepoRef(owner=owner, name=name)
    return Asker(client=client, repo=named, size=settings.batch, largest=settings.batch)


def state_of(client: GithubClient, repo: RepoRef, settings: GithubSettings) -> str:
    """Return what changes when what GitHub says of a repository did, as far as it was looked at.

    Raises:
        SourceError, AuthenticationError: nothing is remembered of it, and GitHub can't be asked.
    """
    try:
        facts = read_repo(client, repo, as_kept=True)
        return f"{facts.full_name} {refresh(asker_of(client, facts, settings), settings)}"
    except SourceGoneError as error:
        return f"gone {error.status}"


def refresh(asker: Asker, settings: GithubSettings) -> int:
    """Forget what changed on GitHub since it was last looked at, and return how often that was so.

    The number is part of what a unit's result depends on. One conditional request for 100 changes.

    Raises:
        AuthenticationError: GitHub accepts no token.
    """
    memory, scope, now = asker.client.memory, asker.scope, asker.client.clock.now()
    known = memory.nodes(scope, "state", [0]).get(0)
    if known is None:
        memory.keep_nodes(scope, "state", {0: {"looked_at": now.isoformat(), "changes": 0}}, now)
        return 0
    looked, changes = datetime.fromisoformat(known["looked_at"]), int(known["changes"])
    if settings.refresh_hours is None or now < looked + timedelta(hours=settings.refresh_hours):
        return changes
    try:
        read_repo(asker.client, asker.repo)
        changed = list(_changed_since(asker, looked))
    except SourceError as error:
        _LOG.warning("can't see what changed in %s: %s", asker.repo.full_name, error)
        return changes
    if changed:
        changes += 1
        memory.forget_nodes(scope, changed)
        memory.forget_pages(scope)
    memory.keep_nodes(scope, "state", {0: {"looked_at": now.isoformat(), "changes": changes}}, now)
    return changes


def _changed_since(asker: Asker, since: datetime) -> Iterator[int]:
    parameters = {"state": "all", "sort": "updated", "direction": "asc", "per_page": "100"}
    parameters["since"] = f"{since:%Y-%m-%dT%H:%M:%SZ}"
    page, link = 1, ""
    while page == 1 or 'rel="next"' in link:
        found, more = asker.client.get(
            f"/repos/{asker.repo.full_name}/issues", parameters | {"page": str(page)}
        )
        yield from (int(one["number"]) for one in found)
        page, link = page + 1, more or ""


def github_items(
    room: Room, client: GithubClient, locator: MirrorLocator, chosen: PullFilter
) -> Iterator[MinedItem]:
    """Yield one item for every merged pull request that is chosen; a gone repository is one item.

    Raises:
        RepositoryError: the repository can't be cloned.
        SourceError, AuthenticationError: GitHub can't be asked; what it said is remembered.
        GitError, StorageError: as `GitSource.items`.
    """
    try:
        informant = informant_of(client, room.repo, room.settings.source.github)
    except SourceGoneError as error:
        gone = Rejected(
            code=RejectCode.REPOSITORY_GONE, message=str(error), evidence=(f"status={error.status}",)
        )
        yield MinedItem(item=f"github:{room.repo.full_name}", outcome=gone)
        return
    if informant.facts.full_name.lower() != room.repo.full_name.lower():
        room.remark(f"{room.repo.full_name} is named {informant.facts.full_name} today")
    yield from told_items(room, locator, informant, chosen, informant.facts)
    room.remark(f"{room.repo.full_name}: {client.spent}")
