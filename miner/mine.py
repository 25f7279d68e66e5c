"""The Curator's door: which pieces of mining there are, when they must be done again, and doing one.

Deterministic: the same input gives the same items in the same order, whoever mines it.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, time
from pathlib import Path

from miner.candidates import PutBlob
from miner.decontam.shipped import benchmark_path
from miner.licence import LicenceReader
from miner.policy import check_policy, read_policy
from miner.sources.gharchive import dump_state, gharchive_items
from miner.sources.git import GitSource, PullFilter
from miner.sources.github import github_items, memory_of, open_client, state_of
from miner.sources.githubapi.client import GithubClient
from miner.sources.githubapi.tokens import read_tokens, token_id
from miner.sources.interface import MinedItem, MineUnit
from miner.sources.issues import IssueBook, read_issues
from miner.sources.published import RowFilter, RowsSource
from miner.sources.told import Room
from swequarry.config import Settings, SourceSettings
from swequarry.errors import ConfigError, InputError
from swequarry.git.history import merged_pulls
from swequarry.git.mirrors import MirrorLocator
from swequarry.records import ContentHash, RepoRef

__all__ = ["MineUnit", "MinedItem", "mine_unit", "mine_units", "read_repositories", "unit_fingerprint"]

MINER_VERSION = 2
"""Part of every unit's fingerprint: a change of rules here mines again."""

_REPOSITORY = re.compile(
    r"(?:(?:https?|ssh)://(?:[^/@\s]+@)?[^/\s]+/|git@[^:\s]+:)?"
    r"(?P<owner>[A-Za-z0-9][A-Za-z0-9._-]*)/(?P<name>[A-Za-z0-9._-]+?)(?:\.git)?/?"
)


def parse_repository(text: str) -> RepoRef | None:
    """Read `owner/name` or the URL of a repository; None where it is neither."""
    found = _REPOSITORY.fullmatch(text)
    if found is None or found["name"] in {".", ".."}:
        return None
    return RepoRef(owner=found["owner"], name=found["name"])


def read_repositories(path: Path) -> tuple[RepoRef, ...]:
    """Read a file with one repository a line; `#` begins a comment, blank lines are nothing.

    Raises:
        InputError: the file can't be read or names no repository, or lines are bad (all of them are named).
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}; name a file of repositories") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} isn't UTF-8 text: {error}") from error
    found: list[RepoRef] = []
    bad: list[str] = []
    for number, line in enumerate(lines, start=1):
        text = re.sub(r"(?:^|\s)#.*", "", line).strip()
        repo = parse_repository(text) if text else None
        if repo is not None:
            found.append(repo)
        elif text:
            bad.append(f"{path}:{number}: {text[:100]!r} isn't `owner/name`")
    if bad:
        raise InputError("\n".join(bad))
    if not found:
        raise InputError(f"{path} names no repository; write one `owner/name` a line")
    return tuple(found)


def _repositories(source: SourceSettings) -> tuple[RepoRef, ...]:
    found: list[RepoRef] = []
    for text in source.repositories:
        repo = parse_repository(text.strip())
        if repo is None:
            raise ConfigError(f"source.repositories: {text!r} isn't `owner/name`")
        found.append(repo)
    if source.repositories_file is not None:
        found.extend(read_repositories(source.repositories_file))
    unique = {repo.full_name.lower(): repo for repo in reversed(found)}
    return tuple(sorted(unique.values(), key=lambda repo: repo.full_name.lower()))


def mine_units(settings: Settings) -> tuple[MineUnit, ...]:
    """Return the pieces of mining: one per repository, but for `rows` the file.

    Raises:
        AuthenticationError: the source is `github`, and there is no token for it.
        ConfigError: the settings name no repository or no rows file, a bad one, or no licence.
        InputError: the file of repositories is missing or has bad lines, or a benchmark is missing.
    """
    source = settings.source
    check_policy(settings.curate)
    if source.kind == "rows":
        if source.rows is None:
            raise ConfigError("source.kind is rows, but source.rows names no file")
        if not source.rows.is_file():
            raise InputError(
                f"there is no file {source.rows}; set source.rows to a JSONL, JSON or parquet file"
            )
        if source.rows.stat().st_size == 0:
            raise InputError(f"{source.rows} is empty; name a JSONL, JSON or parquet file with rows")
        return (MineUnit(key=f"rows:{source.rows.name}"),)
    repositories = _repositories(source)
    if not repositories:
        raise ConfigError("no repository to mine; set source.repositories or source.repositories_file")
    if source.kind == "github":
        read_tokens()
    return tuple(MineUnit(key=f"{source.kind}:{repo.full_name}", repo=repo) for repo in repositories)


def check_source(settings: Settings, locator: MirrorLocator) -> None:
    """See that somebody can be asked, before anything is mined; it costs nothing.

    Raises:
        AuthenticationError: GitHub is to be asked, and there is no token or none that it accepts.
    """
    source = settings.source
    if source.kind == "github" or (source.kind == "gharchive" and source.gharchive.complete == "api"):
        client_of(settings, locator).check_tokens()


def waits_of(settings: Settings, cache: Path) -> Callable[[], str | None]:
    """Return what says, in a sentence, until when all tokens must rest; None where one may ask."""
    tokens = {token_id(token) for token in read_tokens()}
    memory = memory_of(settings.source.github, cache)

    def ask() -> str | None:
        resting = {}
        for pause in memory.pauses(datetime.now(UTC)):
            if pause.token in tokens and pause.token not in resting:
                resting[pause.token] = pause
        if len(resting) < len(tokens):
            return None
        first = min(resting.values(), key=lambda pause: pause.until)
        return f"waiting for GitHub until {first.until:%H:%M:%S} UTC ({first.why})"

    return ask


def client_of(settings: Settings, locator: MirrorLocator) -> GithubClient:
    """Return a client for GitHub whose memory lies beside our clones.

    Raises:
        AuthenticationError: there is no token.
        StorageError: the memory can't be opened.
    """
    return open_client(settings.source.github, locator.cache.parent)


def _file_hash(path: Path | None) -> str:
    if path is None:
        return "-"
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from error


def unit_fingerprint(unit: MineUnit, settings: Settings, locator: MirrorLocator) -> ContentHash:
    """Return a hash that changes when a unit's input does: refs of the repository, bytes of the files.

    Settings that change the outcome aren't in it; they are part of the stage's key.

    Raises:
        RepositoryError: the unit's repository is missing.
        InputError: a file can't be read.
    """
    digest = hashlib.sha256(f"miner {MINER_VERSION}\n{unit.key}\n".encode())
    against = tuple(map(benchmark_path, settings.curate.decontamination.against))
    for path in (*against, settings.curate.opt_out):
        digest.update(_file_hash(path).encode("ascii"))
    if unit.repo is None:
        digest.update(_file_hash(settings.source.rows).encode("ascii"))
        digest.update(" ".join(repo.full_name for repo in _repositories(settings.source)).encode("utf-8"))
    else:
        if settings.source.kind == "github":
            state = state_of(client_of(settings, locator), unit.repo, settings.source.github)
            digest.update(state.encode("utf-8"))
            if state.startswith("gone "):
                return ContentHash(digest.hexdigest())
        if settings.source.kind == "gharchive":
            digest.update(dump_state(settings.source.gharchive).encode("utf-8"))
        digest.update((settings.source.branch or "").encode("utf-8"))
        digest.update(locator.refs(unit.repo))
        digest.update(_file_hash(settings.source.issues).encode("ascii"))
    return ContentHash(digest.hexdigest())


def _day(text: str | None, name: str, end: time) -> datetime | None:
    """Read a date or time; a date alone means its first or last moment in UTC, so that both are inclusive."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise ConfigError(f"source.{name}: {text!r} is no ISO 8601 date such as 2024-03-01") from error
    if re.fullmatch(r"\d{4}-?\d{2}-?\d{2}", text.strip()):
        moment = datetime.combine(moment.date(), end)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def days_of(source: SourceSettings) -> tuple[datetime | None, datetime | None]:
    """Return the first and the last moment that the settings choose, both included.

    Raises:
        ConfigError: one is no date.
    """
    return _day(source.since, "since", time.min), _day(source.until, "until", time.max)


def _ignore(_remark: str) -> None:
    """Drop a remark."""


def mine_unit(
    unit: MineUnit,
    settings: Settings,
    locator: MirrorLocator,
    put_blob: PutBlob,
    remark: Callable[[str], None] = _ignore,
) -> Iterator[MinedItem]:
    """Yield every pull request or row of a unit as one item: a candidate, a rejection or a failure.

    Items of a repository come newest merge first, those of a file in its order. `limit` counts accepted
    candidates per repository; `since` and `until` are inclusive and compare the merge date (rows: creation).

    `remark` is told of broken lines of the issues file, each with its place.

    Raises:
        RepositoryError: the unit's repository is missing (a row's missing repository fails that row alone).
        InputError: a file can't be read.
        GitError: the history can't be read.
        StorageError: a patch can't be stored.
    """
    source = settings.source
    since, until = days_of(source)
    numbers = frozenset(source.pulls)
    policy = read_policy(settings.curate)
    if unit.repo is None:
        if source.rows is None:
            raise ConfigError("source.rows names no file")
        rows = RowsSource(
            path=source.rows, locator=locator, curate=settings.curate, put_blob=put_blob, policy=policy
        )
        only = frozenset(repo.full_name.lower() for repo in _repositories(source))
        row_filter = RowFilter(
            since=since, until=until, numbers=numbers, repositories=only, limit=source.limit
        )
        yield from rows.items(row_filter)
        return
    issues = read_issues(source.issues, unit.repo) if source.issues else None
    for problem in issues.problems if issues else ():
        remark(problem)
    chosen = PullFilter(since=since, until=until, numbers=numbers, limit=source.limit)
    if source.kind != "git":
        room = Room(
            repo=unit.repo,
            settings=settings,
            put_blob=put_blob,
            policy=policy,
            issues=issues or IssueBook(),
            remark=remark,
        )
        if source.kind == "github":
            yield from github_items(room, client_of(settings, locator), locator, chosen)
        else:
            yield from gharchive_items(room, locator, chosen)
        return
    repository = locator.locate(unit.repo)
    pulls = GitSource(
        repository=repository,
        repo=unit.repo,
        history=merged_pulls(repository, unit.repo, source.branch),
        curate=settings.curate,
        issues=issues,
        put_blob=put_blob,
        policy=policy,
        licences=LicenceReader(repository),
        complete=locator.complete,
    )
    yield from pulls.items(chosen)
