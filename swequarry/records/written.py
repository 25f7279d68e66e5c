"""Tests that the TestWriter added to those of the pull request: where each came from, and its proof."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from swequarry.records.base import BlobHash, Record, TestId
from swequarry.records.candidate import Candidate


class TestOrigin(StrEnum):
    """Who wrote a hidden test.

    UPSTREAM: the pull request. DERIVED: rules, from the issue, the tests that are there and runs of gold.
    GENERATED: a language model. None but upstream's enters without a proof.
    """

    UPSTREAM = "upstream"
    DERIVED = "derived"
    GENERATED = "generated"

    __test__ = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedTest(Record):
    """One test file that was added, and its proof.

    `tests` fail before and pass after; `failing` are the last lines of their errors before, `good_for` are
    codes (`kills_wrong_fix`, `covers_changed_line`, `only_test`), `kills` name the blobs of the wrong fixes
    that it rejects and no other test does, `lines` are changed lines (path, line) that no other test runs.
    A `public` one shows nothing that the statement doesn't. `evidence` is what it was made from.
    """

    path: str
    content: BlobHash
    origin: TestOrigin
    method: str
    evidence: tuple[str, ...] = ()
    public: bool = False
    tests: tuple[TestId, ...]
    failing: tuple[tuple[TestId, str], ...] = ()
    good_for: tuple[str, ...] = ()
    kills: tuple[BlobHash, ...] = ()
    lines: tuple[tuple[str, int], ...] = ()
    runs_before: int = 0
    runs_after: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedTest(Record):
    """A test file that was proposed and not admitted, with the codes of the rules that it breaks."""

    content: BlobHash
    origin: TestOrigin
    method: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing(Record):
    """What the TestWriter did for a candidate.

    `candidate` is the candidate with the added tests in its test patch, None where none were added; the
    files of the pull request are in it byte for byte. `left_out` says what wasn't tried, and why.
    """

    record_version: ClassVar[int] = 1
    added: tuple[AddedTest, ...] = ()
    refused: tuple[RefusedTest, ...] = ()
    candidate: Candidate | None = None
    left_out: tuple[str, ...] = ()
