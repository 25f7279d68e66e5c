"""Stage `assess`: what was frozen, built and measured becomes a task."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from swequarry import __version__
from swequarry.config import meaning_of
from swequarry.git.paths import path_text
from swequarry.ledger.keys import StoredOutcome
from swequarry.outcome import Accepted
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
    """Puts the task together; the budget is policy, so that equal input gives equal bytes."""

    house: House
    name: ClassVar[str] = "assess"
    version: ClassVar[int] = 4

    @property
    def settings_hash(self) -> ContentHash:
        """The budget's policy."""
        return meaning_of(self.house.settings.verify.timeout_s)

    def run(self, item: StageItem[AssessInput], context: StageContext) -> Sequence[StoredOutcome]:
        """Return the task."""
        del context
        task = assemble(item.value, Budget(time_s=self.house.settings.verify.timeout_s))
        return [stored(item.key, Accepted(value=task))]


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
