"""Candidates: a merged pull request with its base commit and its two patches."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from swequarry.records.base import BlobHash, CommitSha, Record, TreeSha
from swequarry.records.sources import IssueLink, MergeKind, RepoRef


class TreeProof(StrEnum):
    """Whether base + gold + test patch was shown to equal the merged tree."""

    PROVEN = "proven"
    NONE = "none"


class StatementKind(StrEnum):
    """Where the text of a statement came from."""

    ISSUE = "issue"
    PUBLISHED = "published"
    COMMITS = "commits"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Record):
    """One version of a task's problem statement."""

    kind: StatementKind
    text: str
    hints: str = ""
    issue_numbers: tuple[int, ...] = ()
    revision: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Licence(Record):
    """The licence at the base commit; `spdx` None means that none could be told.

    `reported` is what the source says of the repository's files of today: kept beside it, never judged by.
    """

    spdx: str | None = None
    files: tuple[str, ...] = ()
    evidence: str = ""
    reported: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Record):
    """A merged pull request with its base commit and its two patches.

    `gold_patch` and `test_patch` name blobs: `git diff --binary --full-index` between trees, such that
    base tree + test patch = before tree and before tree + gold patch = after tree. `gold_files` and
    `test_files` are the paths that each patch touches, sorted. `contamination` says what the candidate has in
    common with benchmarks and was kept for. `cutoff` is the day as of which the
    environment is resolved: the merge date, else the later of creation and base commit.
    """

    repo: RepoRef
    instance_id: str
    pull_number: int | None = None
    source: str
    base_commit: CommitSha
    base_tree: TreeSha
    before_tree: TreeSha
    after_tree: TreeSha
    gold_patch: BlobHash
    test_patch: BlobHash
    gold_files: tuple[str, ...]
    test_files: tuple[str, ...]
    cutoff: datetime
    statement: Statement
    merge_kind: MergeKind = MergeKind.UNKNOWN
    merge_commit: CommitSha | None = None
    tree_proof: TreeProof = TreeProof.NONE
    created_at: datetime | None = None
    merged_at: datetime | None = None
    links: tuple[IssueLink, ...] = ()
    licence: Licence | None = None
    language: str = "python"
    flags: tuple[str, ...] = ()
    contamination: tuple[str, ...] = ()
