"""Stage `assess`: what was frozen, built and measured becomes a task, with its review."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from swequarry import __version__
from swequarry.config import meaning_of
from swequarry.errors import RepositoryError
from swequarry.git.paths import path_text
from swequarry.ledger.keys import StoredOutcome
from swequarry.outcome import Accepted, RejectCode, Rejected
from swequarry.pipeline.reviewing import reviewed_task, words_of_base
from swequarry.pipeline.stage import StageContext, StageItem
from swequarry.pipeline.stages.house import House, stored
from swequarry.records import (
    Budget,
    Candidate,
    Checks,
    ContentHash,
    Environment,
    InitialState,
    InterfaceAction,
    InterfaceRecord,
    Provenance,
    Reviewed,
    ReviewSeverity,
    Seal,
    Snapshot,
    Stability,
    Strength,
    Task,
    Verification,
    Verifier,
    Writing,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessInput:
    """All that is known of a candidate that was verified.

    `measured` is what the runs of verification gave, `stable` the same without unstable tests. `writings` are
    what the TestWriter did, in order: the tests that it added are in the candidate's test patch.
    """

    candidate: Candidate
    snapshot: Snapshot
    environment: Environment
    measured: Verification
    stability: Stability
    stable: Verification
    seal: Seal
    checks: Checks
    strength: Strength
    interface: InterfaceRecord | None = None
    writings: tuple[Writing, ...] = ()


@dataclass(frozen=True, slots=True)
class AssessStage:
    """Puts the task together; the budget is policy, so that equal input gives equal bytes.

    The review stands in the task and changes nothing that was measured. Whether a task that it blocks stays
    one is a setting.
    """

    house: House
    name: ClassVar[str] = "assess"
    version: ClassVar[int] = 4

    @property
    def settings_hash(self) -> ContentHash:
        """The budget's policy, and what becomes of tasks that the review blocks."""
        settings = self.house.settings
        return meaning_of(settings.verify.timeout_s, settings.review)

    def run(self, item: StageItem[AssessInput], context: StageContext) -> Sequence[StoredOutcome]:
        """Return the task, or a rejection with the findings that block it."""
        settings = self.house.settings
        task = assemble(item.value, Budget(time_s=settings.verify.timeout_s))
        review = reviewed_task(task, context.blobs.get, self._in_base(item.value.candidate))
        if review.blocked and settings.review.blocked_tasks == "drop":
            return [stored(item.key, _blocked(review))]
        return [stored(item.key, Accepted(value=replace(task, review=review)))]

    def _in_base(self, candidate: Candidate) -> Callable[[bytes], bool] | None:
        try:
            repository = self.house.repository(candidate.repo)
        except RepositoryError:
            return None
        return words_of_base(repository, candidate.base_tree)


def _blocked(review: Reviewed) -> Rejected:
    found = [one for one in review.findings if one.severity is ReviewSeverity.BLOCK]
    evidence = tuple(f"{one.rule}: {one.message}: {one.evidence}" for one in found)
    return Rejected(code=RejectCode.REVIEW, message=found[0].message, evidence=evidence)


def _wider(candidate: Candidate, verification: Verification) -> tuple[str, ...]:
    """Return the test files that run and aren't the pull request's own, as records name paths."""
    if verification.scope == "touched":
        return ()
    own = frozenset(candidate.test_files)
    named = (path_text(os.fsencode(path)) for path in verification.test_files)
    return tuple(path for path in named if path not in own)


def _hash_of(writings: Sequence[Writing]) -> ContentHash | None:
    """Return the hash of the last writing that added tests; None where none did."""
    return next((writing.content_hash() for writing in reversed(writings) if writing.added), None)


def _told(record: InterfaceRecord | None) -> InterfaceRecord | None:
    """Return a record that has something to tell."""
    return record if record is not None and record.action is not InterfaceAction.NONE else None


def assemble(known: AssessInput, budget: Budget) -> Task:
    """Return the task that some records make together."""
    candidate, snapshot = known.candidate, known.snapshot
    environment, verification = known.environment, known.stable
    return Task(
        instance_id=candidate.instance_id,
        instruction=candidate.statement,
        initial_state=InitialState(
            repo=candidate.repo,
            base_commit=candidate.base_commit,
            base_tree=candidate.base_tree,
            history=snapshot.history,
            snapshot=snapshot.content_hash(),
        ),
        environment=environment,
        verifier=Verifier(
            test_patch=candidate.test_patch,
            test_files=tuple(dict.fromkeys((*candidate.test_files, *_wider(candidate, verification)))),
            test_command=verification.test_command,
            fail_to_pass=verification.fail_to_pass,
            pass_to_pass=verification.pass_to_pass,
            canaries=known.checks.canaries,
            held_out=known.checks.held_out,
            added=tuple(test for writing in known.writings for test in writing.added),
        ),
        budget=budget,
        provenance=Provenance(
            candidate=candidate.content_hash(),
            snapshot=snapshot.content_hash(),
            environment=environment.content_hash(),
            verification=known.measured.content_hash(),
            seal=known.seal.content_hash(),
            checks=known.checks.content_hash(),
            stability=known.stability.content_hash(),
            strength=known.strength.content_hash(),
            writing=_hash_of(known.writings),
            swequarry_version=__version__,
        ),
        candidate=candidate,
        verification=verification,
        seal=known.seal,
        stability=known.stability if known.stability.runs else None,
        strength=known.strength if known.strength.wrong_fixes else None,
        interface=_told(known.interface),
    )
