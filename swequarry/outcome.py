"""How an item ends at a stage: Accepted, Rejected or Failed, never silence.

A rejection is a final statement about the item, with a code and evidence. A failure is a statement about
our machinery, names the boundary that broke, and is retried a bounded number of times. The two are never
mixed: broken machinery doesn't become a verdict.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class RejectCode(StrEnum):
    """Why a candidate isn't a task; final until a setting or a rule changes."""

    MALFORMED_ROW = "malformed_row"
    DUPLICATE_ROW = "duplicate_row"
    BAD_TEST_ID = "bad_test_id"
    REPOSITORY_GONE = "repository_gone"
    NOT_ON_BRANCH = "not_on_branch"
    NO_LINKED_ISSUE = "no_linked_issue"
    EMPTY_PROBLEM_STATEMENT = "empty_problem_statement"
    BASE_UNREACHABLE = "base_unreachable"
    BASE_UNKNOWN = "base_unknown"
    MERGED_TOGETHER = "merged_together"
    CORRUPT_PATCH = "corrupt_patch"
    BINARY_WITHOUT_DATA = "binary_without_data"
    TREE_MISMATCH = "tree_mismatch"
    SUBMODULE_CHANGED = "submodule_changed"
    RENAME_ACROSS_BORDER = "rename_across_border"
    REVERTED = "reverted"
    NO_TEST_CHANGE = "no_test_change"
    NO_SOURCE_CHANGE = "no_source_change"
    NOT_PYTHON = "not_python"
    TOO_LARGE = "too_large"
    OPTED_OUT = "opted_out"
    SECRET = "secret"
    SHORT_STATEMENT = "short_statement"
    LONG_STATEMENT = "long_statement"
    OTHER_SCRIPT = "other_script"
    OTHER_LANGUAGE = "other_language"
    FOREIGN_CODE = "foreign_code"
    LICENCE = "licence"
    CONTAMINATED = "contaminated"
    VARIANT = "variant"
    BOT = "bot"
    DEPENDENCY_UPDATE = "dependency_update"
    BRINGS_OTHERS = "brings_others"
    PERSONAL_DATA = "personal_data"
    REPOSITORY_HEALTH = "repository_health"
    LEAK = "leak"
    LFS_MISSING = "lfs_missing"
    MISSING_OBJECTS = "missing_objects"
    NO_INTERPRETER = "no_interpreter"
    BUILD_FAILED = "build_failed"
    NO_TESTS_FOUND = "no_tests_found"
    NO_FAIL_TO_PASS = "no_fail_to_pass"
    NEEDS_NETWORK = "needs_network"
    UNSTABLE = "unstable"
    RESOURCE_LIMIT = "resource_limit"
    TEST_TIMEOUT = "test_timeout"
    REVIEW = "review"
    NOT_TRIED = "not_tried"
    UNDERSPECIFIED = "underspecified"


REJECT_MEANING: dict[RejectCode, str] = {
    RejectCode.MALFORMED_ROW: "the row isn't valid JSON or lacks a field that every row needs",
    RejectCode.DUPLICATE_ROW: "an earlier row of the same input has the same instance id",
    RejectCode.BAD_TEST_ID: "a listed test id was cut short or isn't a string",
    RejectCode.REPOSITORY_GONE: "the repository isn't to be had: removed, private, or blocked",
    RejectCode.NOT_ON_BRANCH: "it was merged, but its merge commit never reached the branch that is mined",
    RejectCode.NO_LINKED_ISSUE: "no issue is linked, and the settings don't allow a statement from commits",
    RejectCode.EMPTY_PROBLEM_STATEMENT: "the linked issues have no text",
    RejectCode.BASE_UNREACHABLE: "the base commit isn't in the repository, nor in its pull request refs",
    RejectCode.BASE_UNKNOWN: "the history doesn't show where the pull request began",
    RejectCode.MERGED_TOGETHER: "one commit brought several pull requests, whose parts can't be told apart",
    RejectCode.CORRUPT_PATCH: "a patch can't be parsed or doesn't apply to the base commit",
    RejectCode.BINARY_WITHOUT_DATA: "a patch names a binary file but doesn't carry its data",
    RejectCode.TREE_MISMATCH: "base + test patch + gold patch isn't the merged tree",
    RejectCode.SUBMODULE_CHANGED: "the change moves a submodule, whose content the repository doesn't hold",
    RejectCode.RENAME_ACROSS_BORDER: "a file moved between source and tests and can't be split",
    RejectCode.REVERTED: "a later commit of the base branch reverts the pull request",
    RejectCode.NO_TEST_CHANGE: "the pull request changes no test",
    RejectCode.NO_SOURCE_CHANGE: "the pull request changes tests or documentation only",
    RejectCode.NOT_PYTHON: "the changed sources or tests aren't Python",
    RejectCode.TOO_LARGE: "the change is larger than the settings allow",
    RejectCode.OPTED_OUT: "the repository is on the list of those that don't want to be used",
    RejectCode.SECRET: "the text of the issue or pull request holds a key or token",
    RejectCode.SHORT_STATEMENT: "the statement has fewer words than the settings ask for",
    RejectCode.LONG_STATEMENT: "the statement has more words than the settings allow",
    RejectCode.OTHER_SCRIPT: "the statement is mostly written in another script than the Latin one",
    RejectCode.OTHER_LANGUAGE: "the statement is written in another language than English",
    RejectCode.FOREIGN_CODE: "every changed source is vendored or generated",
    RejectCode.LICENCE: "the licence at the base commit isn't one that the settings allow, or can't be told",
    RejectCode.CONTAMINATED: "the pull request is in a benchmark that the settings name",
    RejectCode.VARIANT: "another pull request of the repository makes the same change, and is kept",
    RejectCode.BOT: "a program opened the pull request",
    RejectCode.DEPENDENCY_UPDATE: "the pull request only moves the versions of dependencies",
    RejectCode.BRINGS_OTHERS: "the pull request brings others that were merged before it, as a release does",
    RejectCode.PERSONAL_DATA: "the text of the issue or pull request holds personal data",
    RejectCode.REPOSITORY_HEALTH: "the repository lacks CI, activity or stars that the settings ask for",
    RejectCode.LEAK: "the answer can be reached from the world",
    RejectCode.LFS_MISSING: "tests need Git LFS content that the repository doesn't hold",
    RejectCode.MISSING_OBJECTS: "files that the tests need are missing from the mirror",
    RejectCode.NO_INTERPRETER: "no interpreter that the project supports is on this machine",
    RejectCode.BUILD_FAILED: "no recipe gave an environment in which the tests can run",
    RejectCode.NO_TESTS_FOUND: "the changed test files hold no test that can be collected",
    RejectCode.NO_FAIL_TO_PASS: "no test fails before the fix and passes after it",
    RejectCode.NEEDS_NETWORK: "every test that the fix turns needs the network",
    RejectCode.UNSTABLE: "every test that the fix turns is unstable",
    RejectCode.RESOURCE_LIMIT: "the tests need more memory, processes or disk than the limits allow",
    RejectCode.TEST_TIMEOUT: "the tests don't end within the time limit",
    RejectCode.REVIEW: "a finding of the task's review blocks it, and the settings drop such tasks",
    RejectCode.NOT_TRIED: "nothing was spent on it: its repository failed as often as the policy allows",
    RejectCode.UNDERSPECIFIED: "the hidden tests use names or messages of the fix that nobody wrote down",
}
"""One sentence per code, for `why`, the report and the docs."""


class Boundary(StrEnum):
    """Which part of the machinery broke."""

    GIT = "git"
    SANDBOX = "sandbox"
    INDEX = "index"
    SOURCE = "source"
    MODEL = "model"
    STORAGE = "storage"
    WORKER = "worker"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted(Generic[T_co]):
    """The item passed the stage; `value` is what the stage made of it."""

    value: T_co


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """The item is unfit: a code, one sentence, and the evidence (paths, ids, decisive log lines)."""

    code: RejectCode
    message: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Our machinery broke at a boundary; nothing is known about the item."""

    boundary: Boundary
    message: str
    retryable: bool = True
    evidence: tuple[str, ...] = ()


Outcome: TypeAlias = Accepted[T] | Rejected | Failed
