"""Tasks: instruction, initial state, environment, verifier and budget."""

from dataclasses import dataclass, replace

from swequarry.records.base import BlobHash, CommitSha, ContentHash, Record, TestId, TreeSha
from swequarry.records.candidate import Candidate, Statement
from swequarry.records.checks import Canaries, HeldOut
from swequarry.records.interface import InterfaceRecord
from swequarry.records.review import Reviewed
from swequarry.records.seal import Seal
from swequarry.records.sources import RepoRef
from swequarry.records.stability import Stability
from swequarry.records.strength import Strength
from swequarry.records.verification import Verification
from swequarry.records.world import Environment
from swequarry.records.written import AddedTest, TestOrigin


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
    """The hidden suite: the test patch by hash, the ids, and the command that runs them.

    Canaries and held-out twins are None where none were made. `added` are the files of the test patch that
    aren't the pull request's own, each with its proof.
    """

    test_patch: BlobHash
    test_files: tuple[str, ...]
    test_command: tuple[str, ...]
    fail_to_pass: tuple[TestId, ...]
    pass_to_pass: tuple[TestId, ...]
    canaries: Canaries | None = None
    held_out: HeldOut | None = None
    added: tuple[AddedTest, ...] = ()

    def origin_of(self, test: TestId) -> TestOrigin:
        """Return who wrote a hidden test."""
        return next((file.origin for file in self.added if test in file.tests), TestOrigin.UPSTREAM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget(Record):
    """What a solver may spend; None is unlimited. Cost in US dollars.

    `test_time_s` bounds one run of the hidden tests; None where nothing was filled in from measured runs.
    """

    time_s: int
    test_time_s: int | None = None
    tokens: int | None = None
    calls: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance(Record):
    """The parents of a task, by hash; None where there is no such parent."""

    candidate: ContentHash
    snapshot: ContentHash
    environment: ContentHash
    verification: ContentHash
    swequarry_version: str
    checks: ContentHash | None = None
    seal: ContentHash | None = None
    stability: ContentHash | None = None
    strength: ContentHash | None = None
    writing: ContentHash | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Record):
    """Instruction + initial state + environment + verifier + budget.

    `verification` is without the tests that `stability` showed to be unstable; the parent that `provenance`
    names still lists them. Stability and strength are None where they weren't measured, and no part of the
    content hash: they are about the task's tests, and how far they go depends on how fast a machine is.
    Nor is `review`, what the rules say of the task, None where nobody asked: a new rule makes no new task.
    `interface` is None where the tests demand nothing that isn't written down.
    """

    instance_id: str
    instruction: Statement
    initial_state: InitialState
    environment: Environment
    verifier: Verifier
    budget: Budget
    provenance: Provenance
    candidate: Candidate
    verification: Verification
    seal: Seal | None = None
    stability: Stability | None = None
    strength: Strength | None = None
    review: Reviewed | None = None
    interface: InterfaceRecord | None = None

    def content_hash(self) -> ContentHash:
        """Return the hash of what makes the task, without what was measured or said of its tests."""
        parents = replace(self.provenance, stability=None, strength=None)
        bare = replace(self, stability=None, strength=None, review=None, provenance=parents)
        return Record.content_hash(bare)
