"""Facts as the source gave them: None is unknown, an empty tuple is known to be none."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from swequarry.records.base import CommitSha, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoRef(Record):
    """A repository by owner and name."""

    owner: str
    name: str

    @property
    def full_name(self) -> str:
        """`owner/name`, as GitHub writes it."""
        return f"{self.owner}/{self.name}"

    def instance_id(self, pull_number: int) -> str:
        """`owner__name-<number>`, the id that SWE-bench style datasets use."""
        return f"{self.owner}__{self.name}-{pull_number}"


class MergeKind(StrEnum):
    """How a pull request reached its base branch."""

    MERGE = "merge"
    SQUASH = "squash"
    REBASE = "rebase"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextVersion(Record):
    """A text as it was from `at` on, until the next version; `text` None is a version that is gone."""

    at: datetime
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueComment(Record):
    """One comment of an issue; `created_at` and `edited_at` None are unknown and never."""

    text: str
    created_at: datetime | None = None
    edited_at: datetime | None = None
    author: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueClosing(Record):
    """That an issue was closed, as its timeline says: by a pull request, a commit, or by hand.

    `repo` is that of the pull request; None is the issue's own.
    """

    at: datetime | None = None
    pull: int | None = None
    commit: CommitSha | None = None
    repo: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueRecord(Record):
    """An issue as its source gave it, with title and body as they are now.

    `body_versions` and `title_versions` are what they were, oldest first; None is unknown, and an empty
    tuple an issue that was never edited. `edited_at` is the last edit, where only that is known. `closings`
    and `reopened_at` come from its timeline.
    """

    number: int
    title: str | None = None
    body: str | None = None
    author: str | None = None
    created_at: datetime | None = None
    is_pull_request: bool | None = None
    comments: tuple[IssueComment, ...] = ()
    edited_at: datetime | None = None
    title_versions: tuple[TextVersion, ...] | None = None
    body_versions: tuple[TextVersion, ...] | None = None
    closings: tuple[IssueClosing, ...] | None = None
    reopened_at: tuple[datetime, ...] | None = None


class LinkPlace(StrEnum):
    """Where the reference from a pull request to an issue was found."""

    CLOSING_REFERENCE = "closing_reference"
    TIMELINE = "timeline"
    TITLE = "title"
    BODY = "body"
    COMMIT_MESSAGE = "commit_message"
    SOURCE = "source"


class Confidence(StrEnum):
    """How sure it is that a pull request resolves an issue, where nothing speaks against it."""

    CONFIRMED = "confirmed"
    STATED = "stated"
    INFERRED = "inferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueRef(Record):
    """An issue by number; `repo` None is the repository of who refers to it."""

    number: int
    repo: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueLink(Record):
    """That a pull request resolves an issue, by its strongest piece of evidence.

    `confidence`: confirmed by GitHub (a closing reference, or the timeline of the issue), stated with a
    keyword, or inferred (the next member of a list behind a keyword). `ambiguous` says what speaks against
    it; such a link makes no statement. `quote` is the text that it was read from, and `notes` are the other
    pieces of evidence, each a phrase.
    """

    number: int
    place: LinkPlace
    quote: str
    repo: str | None = None
    ambiguous: str | None = None
    confidence: Confidence = Confidence.STATED
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRecord(Record):
    """A merged pull request; `commits` are those it brought, oldest first.

    `closing_references` are the issues that GitHub says it closes: None is unknown, an empty tuple none.
    `author` None is unknown or gone.
    """

    repo: RepoRef
    number: int
    merge_kind: MergeKind
    merge_commit: CommitSha
    base_commit: CommitSha
    head_commit: CommitSha | None = None
    title: str | None = None
    body: str | None = None
    merged_at: datetime | None = None
    commit_messages: tuple[str, ...] = ()
    commits: tuple[CommitSha, ...] = ()
    author: str | None = None
    author_is_bot: bool | None = None
    created_at: datetime | None = None
    first_commit_at: datetime | None = None
    labels: tuple[str, ...] | None = None
    base_branch: str | None = None
    default_branch: str | None = None
    head_branch: str | None = None
    closing_references: tuple[IssueRef, ...] | None = None
