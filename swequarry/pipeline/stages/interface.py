"""Stage `interface`: what FAIL_TO_PASS tests demand that nobody wrote down, and what the policy does."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from swequarry.config import meaning_of
from swequarry.git.trees import TreeWorkbench
from swequarry.ledger.keys import StoredOutcome
from swequarry.outcome import Accepted
from swequarry.pipeline.stage import StageContext, StageItem
from swequarry.pipeline.stages.house import House, stored
from swequarry.records import (
    Candidate,
    ContentHash,
    Environment,
    InterfaceAction,
    InterfaceRecord,
    Verification,
)
from swequarry.verify.states import state_trees
from testwriter.interface_block import demands_of
from testwriter.interface_policy import block_of, decide, is_dropped
from testwriter.write import Assignment, subject_of


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceInput:
    """A candidate with the lists that its runs gave."""

    candidate: Candidate
    environment: Environment
    verification: Verification


@dataclass(frozen=True, slots=True)
class InterfaceStage:
    """Looks for names, parameters and messages that tests demand; runs nothing."""

    house: House
    name: ClassVar[str] = "interface"
    version: ClassVar[int] = 1

    @property
    def settings_hash(self) -> ContentHash:
        """The policy."""
        return meaning_of(self.house.settings.interface)

    def run(self, item: StageItem[InterfaceInput], context: StageContext) -> Sequence[StoredOutcome]:
        """Return the record, or UNDERSPECIFIED where the policy rejects."""
        known = item.value
        candidate, get_blob = known.candidate, context.blobs.get
        with TreeWorkbench(self.house.repository(candidate.repo)) as bench:
            before, after = state_trees(bench, candidate, get_blob)
            given = Assignment(
                candidate=candidate,
                recipe=known.environment.recipe,
                base=candidate.base_tree,
                before=before,
                after=after,
            )
            demands = demands_of(subject_of(bench, given, get_blob))
        found = decide(demands, known.verification.fail_to_pass, self.house.settings.interface.policy)
        return [stored(item.key, found.rejected or Accepted(value=found.record))]


def told(candidate: Candidate, record: InterfaceRecord) -> Candidate:
    """Return a candidate whose statement has the interface block, where the policy adds one."""
    if record.action is not InterfaceAction.ADDED:
        return candidate
    statement = candidate.statement
    text = f"{statement.text.rstrip()}\n\n{block_of(record.demands)}\n"
    return replace(candidate, statement=replace(statement, text=text, revision=statement.revision + 1))


def without_dropped(verification: Verification, record: InterfaceRecord) -> Verification:
    """Return the lists without the tests that the policy drops."""
    if not record.dropped:
        return verification
    kept = tuple(test for test in verification.fail_to_pass if not is_dropped(record, test))
    return replace(verification, fail_to_pass=kept)
