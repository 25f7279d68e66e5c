"""Hourly dumps of GitHub's public events, streamed into a store on disk; memory doesn't grow with them.

Each file is gzip with one event a line. Kept are pull requests, issues and comments of wanted repositories,
by the newest event that told of them. Three generations of events are read: those of today, whose pull
requests are mere stubs (GitHub has left out title, body and merge since October 2025), the full ones before,
and those before 2015, where the repository stands under `repository` and an issue may be a number only.
"""

import gzip
import json
import re
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from glob import glob
from itertools import pairwise
from pathlib import Path
from typing import Any

from swequarry.config import GharchiveSettings
from swequarry.errors import ConfigError, InputError, SourceError

_HOUR = re.compile(r"(\d{4})-(\d{2})-(\d{2})-(\d{1,2})(?=\.json)")
_KINDS = frozenset({"PullRequestEvent", "IssuesEvent", "IssueCommentEvent"})
_QUICK = re.compile(rb'"type" ?: ?"(?:PullRequestEvent|IssuesEvent|IssueCommentEvent)"')
_MAX_SHOWN = 20
Json = Mapping[str, Any]


@dataclass(slots=True)
class DumpReport:
    """What was read: files, events, those that came twice, broken lines, and hours that are missing."""

    files: int = 0
    events: int = 0
    kept: int = 0
    duplicates: int = 0
    problems: list[str] = field(default_factory=list)
    gaps: tuple[str, ...] = ()

    def sentences(self) -> Iterator[str]:
        """Yield what a user should know."""
        yield f"{self.files} dumps, {self.events} events, {self.kept} kept, {self.duplicates} came twice"
        if self.gaps:
            more = f" and {len(self.gaps) - _MAX_SHOWN} more" if len(self.gaps) > _MAX_SHOWN else ""
            yield f"{len(self.gaps)} hours are missing: {', '.join(self.gaps[:_MAX_SHOWN])}{more}"
        yield from self.problems[:_MAX_SHOWN]


def _parse_hour(text: str) -> datetime:
    year, month, day, hour = (int(part) for part in text.split("-"))
    try:
        return datetime(year, month, day, hour, tzinfo=UTC)
    except ValueError as error:
        raise ConfigError(f"source.gharchive: {text!r} is no hour such as 2024-03-01-0") from error


def _name_hour(hour: datetime) -> str:
    return f"{hour:%Y-%m-%d}-{hour.hour}"


def dump_files(settings: GharchiveSettings) -> tuple[str, ...]:
    """Return the files and addresses of the settings, each once, in the order of their hours.

    Raises:
        ConfigError: `{hour}` without first and last hour, or none is named.
        InputError: a pattern fits no file.
    """
    found: list[str] = []
    for text in settings.dumps:
        if "{hour}" in text:
            if settings.first_hour is None or settings.last_hour is None:
                raise ConfigError("source.gharchive: {hour} needs first_hour and last_hour")
            at, last = _parse_hour(settings.first_hour), _parse_hour(settings.last_hour)
            while at <= last:
                found.append(text.replace("{hour}", _name_hour(at)))
                at += timedelta(hours=1)
        elif "://" in text:
            found.append(text)
        else:
            fitting = sorted(glob(text))  # noqa: PTH207 - patterns may be absolute
            if not fitting:
                raise InputError(f"no file fits {text!r}; correct source.gharchive.dumps")
            found += fitting
    if not found:
        raise ConfigError("source.kind is gharchive, but source.gharchive.dumps names no file")
    return tuple(
        sorted(
            dict.fromkeys(found), key=lambda name: (hour_of(name) or datetime.max.replace(tzinfo=UTC), name)
        )
    )


def hour_of(name: str) -> datetime | None:
    """Return the hour that a file is named after."""
    match = _HOUR.search(name)
    return _parse_hour(match[0]) if match else None


def gaps_between(names: Sequence[str]) -> tuple[str, ...]:
    """Return the hours that are missing between the first and the last file."""
    hours = sorted({hour for name in names if (hour := hour_of(name))})
    missing: list[str] = []
    for before, after in pairwise(hours):
        at = before + timedelta(hours=1)
        while at < after:
            missing.append(_name_hour(at))
            at += timedelta(hours=1)
    return tuple(missing)


def read_events(name: str, report: DumpReport) -> Iterator[Json]:
    """Yield the events of a dump that are of use; broken lines, and an end that comes too soon, are reported.

    Raises:
        InputError: a local file isn't there.
        SourceError: an address can't be opened.
    """
    import fsspec  # noqa: PLC0415 - only this source opens addresses

    line = 0
    try:
        with fsspec.open(name, "rb") as raw, gzip.GzipFile(fileobj=raw) as stream:
            for line, data in enumerate(stream, start=1):
                report.events += 1
                if not _QUICK.search(data):
                    continue
                try:
                    event = json.loads(data)
                except (ValueError, RecursionError):
                    report.problems.append(f"{name}:{line}: isn't JSON")
                    continue
                if isinstance(event, dict) and event.get("type") in _KINDS:
                    yield event
    except FileNotFoundError as error:
        if "://" not in name:
            raise InputError(f"there is no dump {name}") from error
        report.problems.append(f"{name}: isn't there")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        report.problems.append(f"{name}:{line}: the file is cut or broken: {error}")
    except (OSError, ValueError, ImportError) as error:
        raise SourceError(f"{name} can't be read: {error}; check the address, and fsspec's extras") from error


class DumpStore:
    """The facts of some dumps in one SQLite file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path)
        self._db.execute("PRAGMA journal_mode=MEMORY")
        self._db.execute("PRAGMA cache_size=-8000")
        self._db.executescript(
            "CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY) WITHOUT ROWID;"
            "CREATE TABLE IF NOT EXISTS things (repo TEXT, kind TEXT, number INTEGER, part TEXT, at TEXT,"
            " data TEXT, PRIMARY KEY (repo, kind, number, part)) WITHOUT ROWID;"
        )

    def close(self) -> None:
        """Write everything down."""
        self._db.commit()
        self._db.close()

    def is_new(self, event_id: str) -> bool:
        """Take note of an event; False where it came before."""
        return self._db.execute("INSERT OR IGNORE INTO seen VALUES (?)", (event_id,)).rowcount > 0

    def keep(self, repo: str, kind: str, number: int, part: str, at: str, data: Json) -> None:
        """Keep what an event told, in place of what an older one did."""
        self._db.execute(
            "INSERT INTO things VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at,"
            " data = excluded.data WHERE excluded.at >= at",
            (repo.lower(), kind, number, part, at, json.dumps(data, sort_keys=True)),
        )

    def things(self, repo: str, kind: str, number: int | None = None) -> Iterator[tuple[int, str, Json]]:
        """Yield number, part and data of what is kept, sorted."""
        one = "" if number is None else " AND number = ?"
        values: list[Any] = [repo.lower(), kind, *([] if number is None else [number])]
        where = f"repo = ? AND kind = ?{one} ORDER BY number, at, part"
        query = f"SELECT number, part, data FROM things WHERE {where}"  # noqa: S608 - fixed text
        for found, part, data in self._db.execute(query, values):
            yield found, part, json.loads(data)


def repo_name(event: Json) -> str:
    """Return `owner/name` of an event of any generation."""
    repo = event.get("repo")
    if isinstance(repo, Mapping):
        return str(repo.get("name") or "")
    old = event.get("repository")
    if isinstance(old, Mapping):
        return f"{old.get('owner')}/{old.get('name')}"
    return ""


def ingest(names: Sequence[str], wanted: frozenset[str], store: DumpStore) -> DumpReport:
    """Read dumps into a store. `wanted` are full names in lower case.

    Raises:
        InputError, SourceError: a dump can't be opened.
    """
    report = DumpReport(gaps=gaps_between(names))
    for name in names:
        report.files += 1
        for event in read_events(name, report):
            if repo_name(event).lower() not in wanted:
                continue
            identity = str(event.get("id") or json.dumps(event, sort_keys=True))
            if not store.is_new(identity):
                report.duplicates += 1
                continue
            report.kept += _keep(event, store)
    return report


def _keep(event: Json, store: DumpStore) -> bool:
    repo, at = repo_name(event), str(event.get("created_at") or "")
    payload = event.get("payload")
    if not isinstance(payload, Mapping):
        return False
    pull, issue, comment = (payload.get(name) for name in ("pull_request", "issue", "comment"))
    number = _number(pull) or _number(issue) or payload.get("number")
    if not isinstance(number, int):
        return False
    action = str(payload.get("action"))
    if event["type"] == "PullRequestEvent" and isinstance(pull, Mapping):
        store.keep(repo, "pull", number, action, at, pull)
    elif isinstance(issue, Mapping):
        store.keep(repo, "issue", number, action, at, issue)
    else:
        return False
    if isinstance(comment, Mapping) and comment.get("id") is not None:
        store.keep(repo, "comment", number, str(comment["id"]), at, comment)
    return True


def _number(thing: object) -> int | None:
    found = thing.get("number") if isinstance(thing, Mapping) else None
    return found if isinstance(found, int) else None
