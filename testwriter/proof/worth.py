"""What a proven test is good for: wrong fixes that it rejects, changed lines that it alone runs."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from swequarry.delta import TreeDelta
from swequarry.records import BlobHash, TestId, TestOutcome
from swequarry.verify.coverage_of_gold import Trace, coverage
from swequarry.verify.mutation_diff import ChangedFile
from swequarry.verify.passes import RunProblem
from testwriter.interface import Proposal
from testwriter.proof.runs import Stand, with_file

_SEED = 90_000
_REJECTING = frozenset({TestOutcome.FAILED, TestOutcome.ERROR, TestOutcome.CRASHED, TestOutcome.TIMEOUT})
_SPOILT = frozenset(
    {
        RunProblem.WALL_LIMIT,
        RunProblem.MEMORY_LIMIT,
        RunProblem.PROCESS_LIMIT,
        RunProblem.OUTPUT_LIMIT,
        RunProblem.DISK_LIMIT,
    }
)


@dataclass(slots=True)
class Wanting:
    """What a task's tests lack: `survivors` are wrong fixes, by the hash of their patch, as deltas.

    `uncovered` are changed lines that no test runs, None where that isn't known. Without `tests` there are
    none yet, and any proven one will do.
    """

    tests: bool
    survivors: dict[BlobHash, TreeDelta] = field(default_factory=dict)
    uncovered: frozenset[tuple[str, int]] | None = None

    def without(self, kills: Iterable[str], lines: Iterable[tuple[str, int]]) -> None:
        """Take away what an admitted test gives."""
        for diff in kills:
            self.survivors.pop(BlobHash(diff), None)
        if self.uncovered is not None:
            self.uncovered -= frozenset(lines)
        self.tests = True


def killed(
    stand: Stand, proposal: Proposal, tests: tuple[TestId, ...], wanting: Wanting
) -> tuple[BlobHash, ...]:
    """Return the wrong fixes that one of some tests rejects, by running them on each.

    A run that a limit spoils says nothing of the fix.

    Raises:
        SandboxError: the machinery broke.
    """
    found = []
    for diff, delta in wanting.survivors.items():
        run = stand.rig.run(with_file(delta, proposal), (proposal.path,), stand.recipe, _SEED)
        if not _SPOILT.isdisjoint(run.problems):
            continue
        outcomes = {result.id: result.outcome for result in run.report.results}
        if any(outcomes.get(test) in _REJECTING and test not in run.suspects for test in tests):
            found.append(diff)
    return tuple(found)


def newly_covered(
    files: tuple[ChangedFile, ...], trace: Trace | None, wanting: Wanting
) -> tuple[tuple[str, int], ...]:
    """Return the changed lines that a run reached and no test before it did."""
    if trace is None or not wanting.uncovered:
        return ()
    return tuple(sorted(wanting.uncovered - frozenset(coverage(files, trace).uncovered)))
