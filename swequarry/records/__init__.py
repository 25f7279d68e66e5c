"""The frozen records that stages exchange.

Every record is immutable and hashed by meaning: `content_hash` covers its kind, its version and its
fields in canonical JSON with defaults left out, so a field added later with a default changes no old
hash. What was merely observed (durations, hosts, time of day) isn't in a record; it is stored beside
it in the ledger. Bytes of patches and logs are kept in the blob store and named here by hash. Paths are
text: UTF-8 where the bytes are valid UTF-8, else git's C-quoted form.
"""

from swequarry.records.answers import AnswerKind, AnswerPlace
from swequarry.records.base import (
    BlobHash,
    CommitSha,
    ContentHash,
    Record,
    TestId,
    TreeSha,
    canonical_json,
    sha256_hex,
)
from swequarry.records.candidate import Candidate, Licence, Statement, StatementKind, TreeProof
from swequarry.records.checks import Canaries, CheckFile, Checks, HeldOut
from swequarry.records.interface import Demand, DemandKind, InterfaceAction, InterfaceRecord
from swequarry.records.review import Reviewed, ReviewFinding, ReviewSeverity
from swequarry.records.seal import LeakFinding, Seal
from swequarry.records.sources import (
    Confidence,
    IssueClosing,
    IssueComment,
    IssueLink,
    IssueRecord,
    IssueRef,
    LinkPlace,
    MergeKind,
    PullRecord,
    RepoRef,
    TextVersion,
)
from swequarry.records.stability import Perturbation, Stability, TestStability, UnstableReason
from swequarry.records.strength import Fate, GoldCoverage, Strength, WrongFix, WrongFixKind
from swequarry.records.task import Budget, InitialState, Provenance, Task, Verifier
from swequarry.records.verification import (
    QuarantinedTest,
    State,
    TestOutcome,
    TestReport,
    TestResult,
    Verification,
)
from swequarry.records.world import (
    ClosureAudit,
    Environment,
    EnvironmentTry,
    Evidence,
    FoundFix,
    Recipe,
    Snapshot,
    SubmoduleFiles,
)
from swequarry.records.written import AddedTest, RefusedTest, TestOrigin, Writing

__all__ = [
    "AddedTest",
    "AnswerKind",
    "AnswerPlace",
    "BlobHash",
    "Budget",
    "Canaries",
    "Candidate",
    "CheckFile",
    "Checks",
    "ClosureAudit",
    "CommitSha",
    "Confidence",
    "ContentHash",
    "Demand",
    "DemandKind",
    "Environment",
    "EnvironmentTry",
    "Evidence",
    "Fate",
    "FoundFix",
    "GoldCoverage",
    "HeldOut",
    "InitialState",
    "InterfaceAction",
    "InterfaceRecord",
    "IssueClosing",
    "IssueComment",
    "IssueLink",
    "IssueRecord",
    "IssueRef",
    "LeakFinding",
    "Licence",
    "LinkPlace",
    "MergeKind",
    "Perturbation",
    "Provenance",
    "PullRecord",
    "QuarantinedTest",
    "Recipe",
    "Record",
    "RefusedTest",
    "RepoRef",
    "ReviewFinding",
    "ReviewSeverity",
    "Reviewed",
    "Seal",
    "Snapshot",
    "Stability",
    "State",
    "Statement",
    "StatementKind",
    "Strength",
    "SubmoduleFiles",
    "Task",
    "TestId",
    "TestOrigin",
    "TestOutcome",
    "TestReport",
    "TestResult",
    "TestStability",
    "TextVersion",
    "TreeProof",
    "TreeSha",
    "UnstableReason",
    "Verification",
    "Verifier",
    "Writing",
    "WrongFix",
    "WrongFixKind",
    "canonical_json",
    "sha256_hex",
]
