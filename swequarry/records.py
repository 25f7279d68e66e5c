"""The frozen records that stages exchange.

Every record is immutable and hashed by meaning: `content_hash` covers its kind, its version and its
fields in canonical JSON with defaults left out, so a field added later with a default changes no old
hash. What was merely observed (durations, hosts, time of day) isn't in a record; it is stored beside
it in the ledger. Bytes of patches and logs are kept in the blob store and named here by hash. Paths are
text: UTF-8 where the bytes are valid UTF-8, else git's C-quoted form.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, NewType, Self

from pydantic import ConfigDict, TypeAdapter

CommitSha = NewType("CommitSha", str)
"""40 lower-case hex digits that name a commit."""
TreeSha = NewType("TreeSha", str)
"""40 lower-case hex digits that name a git tree."""
BlobHash = NewType("BlobHash", str)
"""SHA-256 (64 hex digits) of bytes in the blob store."""
ContentHash = NewType("ContentHash", str)
"""SHA-256 (64 hex digits) of a record's canonical JSON."""
TestId = NewType("TestId", str)
"""Canonical id of one test, as the framework names it: never cut, never normalised."""


def canonical_json(value: object) -> bytes:
    """Return the one JSON text of a value: sorted keys, no blanks, ASCII only, no NaN."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii")


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of some bytes as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


_ADAPTERS: dict[type, TypeAdapter[Any]] = {}


def _adapter(cls: type) -> TypeAdapter[Any]:
    if cls not in _ADAPTERS:
        _ADAPTERS[cls] = TypeAdapter(cls)
    return _ADAPTERS[cls]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Base of all records; gives them JSON and a content hash."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    record_version: ClassVar[int] = 1

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data with defaults left out."""
        data: dict[str, Any] = _adapter(type(self)).dump_python(self, mode="json", exclude_defaults=True)
        return data

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Read what `to_json` wrote.

        Raises:
            pydantic.ValidationError: a field is unknown, missing or of the wrong type.
        """
        record: Self = _adapter(cls).validate_python(data)
        return record

    def content_hash(self) -> ContentHash:
        """Return the hash of kind, version and fields."""
        named = {"kind": type(self).__name__, "version": self.record_version, "fields": self.to_json()}
        return ContentHash(sha256_hex(canonical_json(named)))


# --- facts as the source gave them; None is "unknown", an empty tuple is "known to be none" ---------


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


# --- candidate ---------------------------------------------------------------------------------------


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
    """The licence at the base commit; `spdx` None means that none could be told."""

    spdx: str | None = None
    files: tuple[str, ...] = ()
    evidence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Record):
    """A merged pull request with its base commit and its two patches.

    `gold_patch` and `test_patch` name blobs: `git diff --binary --full-index` between trees, such that
    base tree + test patch = before tree and before tree + gold patch = after tree. `gold_files` and
    `test_files` are the paths that each patch touches, sorted. `cutoff` is the day as of which the
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


# --- world -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosureAudit(Record):
    """What the closure audit of a snapshot checked; empty `findings` means sealed."""

    objects: int
    checks: tuple[str, ...]
    findings: tuple[str, ...] = ()
    missing_blobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot(Record):
    """The repository at the base commit with no way forward."""

    repo: RepoRef
    base_commit: CommitSha
    base_tree: TreeSha
    history: str
    tags: tuple[str, ...] = ()
    audit: ClosureAudit
    lfs_pointers: tuple[str, ...] = ()
    submodules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Record):
    """One finding about how a project wants to be built: a key, a value, and its place."""

    key: str
    value: str
    path: str
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe(Record):
    """How an environment is built; data, whoever proposed it.

    `requirements` must install and are resolved together with the project; `optional` may lose any
    member and never change the first tier. `python` is `3.9`. `build_constraints` bound the build
    back-ends. `exempt` maps a distribution to the later cut-off that it needs. `install` says how the
    project itself is installed: `editable`, `legacy-editable`, `path` (only put on sys.path).
    `test_command` runs inside the world and ends where test files are appended.
    """

    python: str
    cutoff: datetime
    project_name: str | None = None
    install: str = "editable"
    extras: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    build_constraints: tuple[str, ...] = ()
    build_requirements: tuple[str, ...] = ()
    build_isolation: bool = True
    build_cutoff: datetime | None = None
    exempt: tuple[tuple[str, datetime], ...] = ()
    local_packages: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    test_framework: str = "pytest"
    test_command: tuple[str, ...] = ("python", "-m", "pytest")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentTry(Record):
    """One attempt at a recipe: what it was, how it ended, which rule proposed the next."""

    recipe: ContentHash
    result: str
    rule: str | None = None
    decisive_lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment(Record):
    """Interpreter and locked dependencies as of the cut-off.

    `lock` names a blob: hashed requirement lines of everything that is installed. `python_version` is
    the full version that ran. `evidence` is what the recipe was made from.
    """

    backend: str
    python_version: str
    recipe: Recipe
    lock: BlobHash
    project_version: str | None = None
    evidence: tuple[Evidence, ...] = ()
    tries: tuple[EnvironmentTry, ...] = ()

    def identity(self) -> ContentHash:
        """Return the hash that addresses the environment: lock + recipe + interpreter + backend."""
        named = {
            "backend": self.backend,
            "python": self.python_version,
            "lock": self.lock,
            "recipe": self.recipe.to_json(),
        }
        return ContentHash(sha256_hex(canonical_json(named)))


# --- verification ------------------------------------------------------------------------------------


class State(StrEnum):
    """The three states in which tests run."""

    BASE = "base"
    BEFORE = "before"
    AFTER = "after"


class TestOutcome(StrEnum):
    """How one test ended in one run; the worst phase wins."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    NOT_RUN = "not_run"
    MISSING = "missing"

    __test__ = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult(Record):
    """The outcome of one test, with the last line of its error where it has one."""

    id: TestId
    outcome: TestOutcome
    detail: str = ""

    __test__: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TestReport(Record):
    """What one test run reported through its private channel.

    `complete` is false when the report has no end record that agrees with the exit status. `exit_status`
    is None when the process was killed. `collection_errors` are (path, last line of the error),
    `collection_skips` are modules that skip themselves as (path, reason).
    """

    framework: str
    results: tuple[TestResult, ...] = ()
    collected: tuple[TestId, ...] = ()
    collection_errors: tuple[tuple[str, str], ...] = ()
    collection_skips: tuple[tuple[str, str], ...] = ()
    complete: bool = False
    exit_status: int | None = None
    ended_by: str = "exited"

    __test__: ClassVar[bool] = False

    def outcome_of(self, test: TestId) -> TestOutcome:
        """Return the outcome of a test; MISSING where the report doesn't name it."""
        return next((r.outcome for r in self.results if r.id == test), TestOutcome.MISSING)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedTest(Record):
    """A test that isn't stable, the reason, and its outcomes in each state, run by run."""

    id: TestId
    reason: str
    before: tuple[TestOutcome, ...] = ()
    after: tuple[TestOutcome, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Record):
    """What the runs measured. `matrix` names a blob: every test's outcome in every run, as JSON."""

    backend: str
    scope: str
    test_command: tuple[str, ...]
    test_files: tuple[str, ...]
    runs_before: int
    runs_after: int
    fail_to_pass: tuple[TestId, ...]
    pass_to_pass: tuple[TestId, ...]
    quarantined: tuple[QuarantinedTest, ...] = ()
    causes: tuple[tuple[TestId, str], ...] = ()
    matrix: BlobHash | None = None


# --- task and release --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialState(Record):
    """Where a solver starts: the sealed snapshot."""

    repo: RepoRef
    base_commit: CommitSha
    base_tree: TreeSha
    history: str
    snapshot: ContentHash


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifier(Record):
    """The hidden suite: the test patch by hash, the ids, and the command that runs them."""

    test_patch: BlobHash
    test_files: tuple[str, ...]
    test_command: tuple[str, ...]
    fail_to_pass: tuple[TestId, ...]
    pass_to_pass: tuple[TestId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget(Record):
    """What a solver may spend; None is unlimited. Cost in US dollars."""

    time_s: int
    tokens: int | None = None
    calls: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance(Record):
    """The parents of a task, by hash."""

    candidate: ContentHash
    snapshot: ContentHash
    environment: ContentHash
    verification: ContentHash
    swequarry_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Record):
    """Instruction + initial state + environment + verifier + budget."""

    instance_id: str
    instruction: Statement
    initial_state: InitialState
    environment: Environment
    verifier: Verifier
    budget: Budget
    provenance: Provenance
    candidate: Candidate
    verification: Verification
