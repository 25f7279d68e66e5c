"""What an API or an event dump says of pull requests and issues: None is unknown, `()` is known to be none.

A clone tells commits, files, base and messages; these facts are what git doesn't hold. Texts are as they are
now, together with what is known of their edits, so that a reader can go back to an earlier state.
Times are aware and in UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from swequarry.records import CommitSha

GHOST = "ghost"
"""GitHub's name for the author of what a deleted account wrote."""


class Origin(StrEnum):
    """Where facts came from."""

    API = "api"
    DUMP = "dump"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who wrote something. `is_bot` is GitHub's own word (an App), not a guess from the name."""

    login: str = GHOST
    is_bot: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEdit:
    """One state of a body: `text` is the whole body as it was from `at` on; None where GitHub withholds it.

    GitHub's GraphQL field `UserContentEdit.diff` holds that whole text, the first entry being the original.
    """

    at: datetime
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueRef:
    """An issue by number; `repo` (`owner/name`) where it isn't the pull request's own."""

    number: int
    repo: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """Somebody closed an issue: by a pull request (`pull`, with `repo` if another), a commit, or by hand."""

    at: datetime
    pull: int | None = None
    repo: str | None = None
    commit: CommitSha | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentFacts:
    """A comment of an issue, as it reads now; `edited_at` None: never edited."""

    text: str
    created_at: datetime | None = None
    edited_at: datetime | None = None
    author: Actor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullFacts:
    """A pull request.

    `closing` are GitHub's own closing references: keywords in the description, and links made by hand; for
    pull requests that weren't aimed at the default branch GitHub gives none. `edits` are the states of the
    description, oldest first. `commit_count` is the true number, also above the 250 that REST lists.
    """

    number: int
    origin: Origin
    title: str | None = None
    body: str | None = None
    author: Actor | None = None
    created_at: datetime | None = None
    merged_at: datetime | None = None
    merged: bool | None = None
    base_ref: str | None = None
    head_commit: CommitSha | None = None
    merge_commit: CommitSha | None = None
    commit_count: int | None = None
    labels: tuple[str, ...] | None = None
    closing: tuple[IssueRef, ...] | None = None
    edited_at: datetime | None = None
    edits: tuple[TextEdit, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueFacts:
    """An issue, or what was taken for one: `is_pull_request` then says so, and it has no text.

    `closings` and `reopened_at` are the events of its timeline, oldest first. `moved_to` is the repository
    that it was transferred to.
    """

    number: int
    origin: Origin
    title: str | None = None
    body: str | None = None
    is_pull_request: bool | None = None
    author: Actor | None = None
    created_at: datetime | None = None
    closed_at: datetime | None = None
    state_reason: str | None = None
    labels: tuple[str, ...] | None = None
    edited_at: datetime | None = None
    edits: tuple[TextEdit, ...] | None = None
    comments: tuple[CommentFacts, ...] | None = None
    closings: tuple[Closing, ...] | None = None
    reopened_at: tuple[datetime, ...] | None = None
    moved_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoFacts:
    """A repository by its number, which no renaming changes, and its name of today.

    `licence` is what GitHub says of today's files (an SPDX id, or `NOASSERTION`): never the word on an older
    commit.
    """

    id: int
    full_name: str
    default_branch: str
    licence: str | None = None
    stars: int | None = None
    is_fork: bool | None = None
    is_archived: bool | None = None
    is_private: bool | None = None
    pushed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of some pull requests and issues of one repository; absent keys were never asked for."""

    pulls: Mapping[int, PullFacts]
    issues: Mapping[int, IssueFacts]
    repo: RepoFacts | None = None
