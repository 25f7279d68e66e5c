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
class IssueRecord(Record):
    """An issue as its source gave it."""

    number: int
    title: str | None = None
    body: str | None = None
    created_at: datetime | None = None
    is_pull_request: bool | None = None
    comments: tuple[str, ...] | None = None


class LinkPlace(StrEnum):
    """Where the reference from a pull request to an issue was found."""

    TITLE = "title"
    BODY = "body"
    COMMIT_MESSAGE = "commit_message"
    SOURCE = "source"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueLink(Record):
    """One piece of evidence that a pull request resolves an issue."""

    number: int
    place: LinkPlace
    quote: str
    repo: str | None = None
    ambiguous: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRecord(Record):
    """A merged pull request; `commits` are those it brought, oldest first."""

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
