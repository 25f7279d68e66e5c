"""Issue texts from a JSONL file, one issue a line: `{repo, number, title, body, created_at, comments}`.

`comments` are texts or objects `{body, created_at}`; `pull_request`, where it isn't null, says that the
number is a pull request, as GitHub's issues endpoint does.
"""

import json
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from swequarry.errors import InputError
from swequarry.records import IssueComment, IssueRecord, RepoRef

Comment = IssueComment
KnownIssue = IssueRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueBook:
    """The issues of one repository by number, and the lines of the file that couldn't be used."""

    issues: MutableMapping[int, KnownIssue] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def learn(self, found: Mapping[int, KnownIssue]) -> None:
        """Add issues; those that are known stay as they are."""
        for number, issue in found.items():
            self.issues.setdefault(number, issue)


class _BadIssueError(Exception):
    """A line isn't an issue."""


def _moment(value: object) -> datetime | None:
    if not isinstance(value, str) or not value:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _comments(value: object) -> Iterator[Comment]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str):
            yield Comment(text=item)
        elif isinstance(item, dict) and isinstance(item.get("body"), str):
            yield Comment(text=item["body"], created_at=_moment(item.get("created_at")))


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _BadIssueError(f"field `{name}` is a {type(value).__name__}, not text")
    return value.encode("utf-8", "backslashreplace").decode("utf-8").replace("\r\n", "\n")


def _parse(raw: bytes) -> tuple[str, KnownIssue]:
    try:
        fields = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _BadIssueError(f"isn't JSON: {error}") from error
    if not isinstance(fields, dict):
        raise _BadIssueError(f"an issue is an object, not a {type(fields).__name__}")
    repo, number = fields.get("repo"), fields.get("number")
    if not isinstance(repo, str) or repo.count("/") != 1:
        raise _BadIssueError("field `repo` isn't `owner/name`")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise _BadIssueError("field `number` isn't a positive number")
    issue = KnownIssue(
        number=number,
        title=_text(fields, "title"),
        body=_text(fields, "body"),
        created_at=_moment(fields.get("created_at")),
        comments=tuple(_comments(fields.get("comments"))),
        is_pull_request=fields.get("pull_request") not in (None, False),
    )
    return repo.lower(), issue


def read_issues(path: Path, repo: RepoRef) -> IssueBook:
    """Read the issues of one repository. Broken lines are named by file and line, the others go on.

    An issue that comes twice is taken from its last line.

    Raises:
        InputError: the file is missing, empty or can't be read.
    """
    issues: dict[int, KnownIssue] = {}
    problems: list[str] = []
    number = 0
    try:
        with path.open("rb") as stream:
            for number, raw in enumerate(stream, start=1):
                if not raw.strip():
                    continue
                try:
                    named, issue = _parse(raw)
                except _BadIssueError as error:
                    problems.append(f"{path.name}:{number}: {error}")
                    continue
                if named == repo.full_name.lower():
                    issues[issue.number] = issue
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}; name a JSONL file of issues") from error
    if not number:
        raise InputError(f"{path} is empty: there is no issue in it")
    return IssueBook(issues=issues, problems=tuple(problems))
