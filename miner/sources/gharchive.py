"""Candidates whose pull requests and issues are told of by dumps of events; commits come from a clone.

What the dumps lack is unknown, never absent: a pull request without a body in the dumps isn't one without a
text. Where the settings allow it GitHub's API is asked, but only for what decides: pull requests that pass by
their paths, and issues that they name.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from miner.sources.dumps import DumpStore, Json, dump_files, ingest
from miner.sources.facts import GHOST, PullFacts
from miner.sources.git import PullFilter
from miner.sources.github import informant_of, open_client
from miner.sources.githubapi.parse import moment, text
from miner.sources.interface import Informant, MinedItem
from miner.sources.told import Room, told_items
from swequarry.config import GharchiveSettings
from swequarry.git.history import Landed
from swequarry.git.mirrors import MirrorLocator
from swequarry.records import (
    CommitSha,
    IssueComment,
    IssueRecord,
    PullRecord,
    RepoRef,
    TextVersion,
    canonical_json,
    sha256_hex,
)

FOLDER = "gharchive"


def dump_state(settings: GharchiveSettings) -> str:
    """Return what changes when the dumps do: names, sizes and times of local files, addresses as they are.

    Raises:
        ConfigError, InputError: as `dump_files`.
    """
    told = []
    for name in dump_files(settings):
        found = Path(name).stat() if "://" not in name else None
        told.append([Path(name).name, found.st_size] if found else [name, None])
    return sha256_hex(canonical_json([told, settings.complete]))


def gharchive_items(room: Room, locator: MirrorLocator, chosen: PullFilter) -> Iterator[MinedItem]:
    """Yield one item for every merged pull request that is chosen.

    Raises:
        ConfigError, InputError, SourceError: the dumps can't be read.
        RepositoryError: the repository can't be cloned.
        GitError, StorageError: as `GitSource.items`.
    """
    settings = room.settings.source
    store = _store(room, locator.cache.parent / FOLDER)
    helper: Informant | None = None
    if settings.gharchive.complete == "api":
        client = open_client(settings.github, locator.cache.parent)
        helper = informant_of(client, room.repo, settings.github)
    teller = DumpTeller(store=store, repo=room.repo, helper=helper)
    try:
        yield from told_items(room, locator, teller, chosen)
    finally:
        store.close()
    room.remark(
        f"{room.repo.full_name}: of pull requests and issues that decide, {teller.unknown} are unknown"
    )


def _store(room: Room, folder: Path) -> DumpStore:
    """Open the store of the dumps, for this repository; who comes first reads them, whole or not at all."""
    settings = room.settings.source.gharchive
    key = sha256_hex(canonical_json([dump_state(settings), room.repo.full_name.lower()]))[:16]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key}.sqlite"
    with (folder / f"{key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            fresh = folder / f"{key}.{os.getpid()}.tmp"
            fresh.unlink(missing_ok=True)
            store = DumpStore(fresh)
            report = ingest(dump_files(settings), frozenset({room.repo.full_name.lower()}), store)
            store.close()
            fresh.rename(path)
            for sentence in report.sentences():
                room.remark(f"{room.repo.full_name}: {sentence}")
    return DumpStore(path)


@dataclass(slots=True)
class DumpTeller:
    """Tells what the dumps know, and asks `helper` for what they don't (`Teller`)."""

    store: DumpStore
    repo: RepoRef
    helper: Informant | None = None
    landings: dict[int, PullFacts] = field(default_factory=dict)
    unknown: int = 0

    def ask_landed(
        self, chosen: PullFilter, silent: Sequence[int], *, complete: bool
    ) -> Mapping[int, Landed]:
        """Say where the dumps saw pull requests merged."""
        del chosen, silent, complete
        for number, _, data in self.store.things(self.repo.full_name, "pull"):
            facts = parse_dumped_pull(number, data)
            if facts.merged:
                self.landings[number] = facts
        return {
            number: Landed(commit=facts.merge_commit, commit_count=facts.commit_count)
            for number, facts in self.landings.items()
            if facts.merge_commit
        }

    def pulls(self, records: Sequence[PullRecord]) -> Mapping[int, PullRecord]:
        """Return the records with what the dumps say; what nobody knows stays as git has it."""
        told = {record.number: self._joined(record) for record in records}
        lacking = [record for record in told.values() if record.body is None]
        if self.helper is not None and lacking:
            told |= self.helper.pulls(lacking)
        self.unknown += sum(record.body is None for record in told.values())
        return told

    def _joined(self, record: PullRecord) -> PullRecord:
        for number, _, data in self.store.things(self.repo.full_name, "pull", record.number):
            facts = parse_dumped_pull(number, data)
            record = replace(
                record,
                title=facts.title or record.title,
                body=record.body if facts.body is None else facts.body,
                author=facts.author or record.author,
                author_is_bot=record.author_is_bot if facts.is_bot is None else facts.is_bot,
                created_at=facts.created_at or record.created_at,
                merged_at=facts.merged_at or record.merged_at,
                labels=record.labels if facts.labels is None else facts.labels,
                base_branch=facts.base_branch or record.base_branch,
            )
        return record

    def issues(self, numbers: Sequence[int]) -> Mapping[int, IssueRecord]:
        """Return the issues that the dumps know with their text; others are asked for or left out."""
        found = {n: issue for n in numbers if (issue := self._issue(n)) is not None}
        lacking = [n for n in numbers if n not in found]
        if self.helper is not None and lacking:
            found |= self.helper.issues(lacking)
        self.unknown += sum(n not in found for n in numbers)
        return found

    def _issue(self, number: int) -> IssueRecord | None:
        name = self.repo.full_name
        states = [data for _, _, data in self.store.things(name, "issue", number) if "title" in data]
        if not states:
            is_pull = any(True for _ in self.store.things(name, "pull", number))
            return IssueRecord(number=number, is_pull_request=True) if is_pull else None
        comments = [data for _, _, data in self.store.things(name, "comment", number)]
        return parse_dumped_issue(number, states, comments)


def _login(thing: Json) -> str | None:
    if "user" not in thing:
        return None
    user = thing["user"]
    return str(user.get("login") or GHOST) if isinstance(user, Mapping) else GHOST


def _known_text(thing: Json, name: str) -> str | None:
    """Return a text; None where the event doesn't have the field, empty where the text is null."""
    return text(thing[name]) if name in thing else None


def parse_dumped_pull(number: int, data: Json) -> PullFacts:
    """Read the pull request of an event; fields that it lacks are unknown."""
    user, base, head = data.get("user"), data.get("base"), data.get("head")
    merged_at = moment(data.get("merged_at"))
    merged = data.get("merged")
    sha = data.get("merge_commit_sha")
    labels = data.get("labels")
    count = data.get("commits")
    landed = bool(merged) or merged_at is not None
    return PullFacts(
        number=number,
        merged=landed if "merged" in data or "merged_at" in data else None,
        merged_at=merged_at,
        merge_commit=CommitSha(sha) if isinstance(sha, str) and landed else None,
        head_commit=CommitSha(str(head["sha"])) if isinstance(head, Mapping) and head.get("sha") else None,
        base_branch=str(base["ref"]) if isinstance(base, Mapping) and base.get("ref") else None,
        title=_known_text(data, "title"),
        body=_known_text(data, "body"),
        author=_login(data),
        is_bot=user.get("type") == "Bot" if isinstance(user, Mapping) and "type" in user else None,
        created_at=moment(data.get("created_at")),
        commit_count=count if isinstance(count, int) else None,
        labels=tuple(str(one.get("name")) for one in labels if isinstance(one, Mapping))
        if isinstance(labels, list)
        else None,
    )


def parse_dumped_issue(number: int, states: Sequence[Json], comments: Sequence[Json]) -> IssueRecord:
    """Read an issue from the events that showed it, oldest first: each is a version of its text."""
    last = states[-1]
    versions: list[TextVersion] = []
    for state in states:
        at = moment(state.get("updated_at")) or moment(state.get("created_at"))
        body = text(state.get("body"))
        if at is not None and (not versions or versions[-1].text != body):
            versions.append(
                TextVersion(at=at if versions else moment(state.get("created_at")) or at, text=body)
            )
    return IssueRecord(
        number=number,
        title=text(last.get("title")),
        body=text(last.get("body")),
        author=_login(last),
        created_at=moment(last.get("created_at")),
        is_pull_request=bool(last.get("pull_request")),
        comments=tuple(
            IssueComment(
                text=text(one.get("body")), created_at=moment(one.get("created_at")), author=_login(one)
            )
            for one in comments
        ),
        body_versions=tuple(versions) if len(versions) > 1 else None,
    )
