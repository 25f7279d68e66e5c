"""What an API or an event dump says of a pull request or repository that git doesn't hold.

None is unknown, `()` is known to be none. Texts are as they are now; times are aware and in UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from swequarry.records import CommitSha, IssueRecord, IssueRef

GHOST = "ghost"
"""GitHub's name for the author of what a deleted account wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullFacts:
    """A pull request. `merged` False: it was closed without, or is open.

    `closing` are GitHub's own closing references: keywords in the description, and links made by hand; it
    gives none for pull requests that aren't aimed at the default branch. `commit_count` is the true number,
    also above the 250 that REST lists. `is_bot` is GitHub's word, not a guess from the name.
    """

    number: int
    merged: bool | None = None
    merged_at: datetime | None = None
    merge_commit: CommitSha | None = None
    head_commit: CommitSha | None = None
    base_branch: str | None = None
    title: str | None = None
    body: str | None = None
    author: str | None = None
    is_bot: bool | None = None
    created_at: datetime | None = None
    edited_at: datetime | None = None
    commit_count: int | None = None
    labels: tuple[str, ...] | None = None
    closing: tuple[IssueRef, ...] | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of some pull requests and issues of one repository; absent keys are unknown."""

    pulls: Mapping[int, PullFacts] = field(default_factory=dict)
    issues: Mapping[int, IssueRecord] = field(default_factory=dict)
