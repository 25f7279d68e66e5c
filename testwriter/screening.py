"""Run all proposals together: what doesn't turn, or rejects nothing, needs no proof of its own.

One run before the fix, one after it, one on each wrong fix that is left. What is let through is only the more
promising for it: the proof runs each proposal by itself.
"""

from collections.abc import Callable, Iterable, Sequence

from swequarry.delta import FileContent, TreeDelta
from swequarry.records import TestOutcome, TestResult
from swequarry.verify.candidate import overlaid
from swequarry.verify.stability_runs import file_of
from testwriter.interface import Proposal
from testwriter.proof.codes import Refusal
from testwriter.proof.prover import Prover
from testwriter.proof.runs import reason_of

_SEED = 65_000
_REJECTING = frozenset({TestOutcome.FAILED, TestOutcome.ERROR})
Refuse = Callable[[Proposal, Iterable[Refusal]], None]


def promising(prover: Prover, proposals: Sequence[Proposal], refuse: Refuse) -> list[Proposal]:
    """Return the proposals that turn, those first that reject most wrong fixes; the rest is refused.

    Raises:
        SandboxError: the machinery broke.
    """
    if len(proposals) <= 1:  # one alone is proven at once
        return list(proposals)
    turning = _turning(prover, proposals, refuse)
    wanting = prover.wanting
    if not wanting.tests or not wanting.survivors or not turning:
        return turning
    kills = dict.fromkeys((one.path for one in turning), 0)
    for delta in wanting.survivors.values():
        for path, results in _together(prover, delta, turning).items():
            kills[path] += any(result.outcome in _REJECTING for result in results)
    useful = [one for one in turning if kills[one.path] or wanting.uncovered]
    for one in turning:
        if one not in useful:
            refuse(one, [Refusal.ADDS_NOTHING])
    return sorted(useful, key=lambda one: -kills[one.path])


def _turning(prover: Prover, proposals: Sequence[Proposal], refuse: Refuse) -> list[Proposal]:
    before = _together(prover, prover.stand.before, proposals)
    left = []
    for proposal in proposals:
        found = _refusals(prover, before[proposal.path])
        if found:
            refuse(proposal, found)
        else:
            left.append(proposal)
    after = _together(prover, prover.stand.after, left) if left else {}
    passing = [one for one in left if {r.outcome for r in after[one.path]} == {TestOutcome.PASSED}]
    for proposal in left:
        if proposal not in passing:
            refuse(proposal, [Refusal.FAILS_AFTER])
    return passing


def _refusals(prover: Prover, results: Sequence[TestResult]) -> list[Refusal]:
    if not results:
        return [Refusal.BROKEN_BEFORE]
    if any(result.outcome is TestOutcome.PASSED for result in results):
        return [Refusal.PASSES_BEFORE]
    told = [reason_of(r.detail, prover.subject) for r in results if r.outcome is TestOutcome.FAILED]
    return [finding[0] for finding in told if finding is not None]


def _together(
    prover: Prover, delta: TreeDelta, proposals: Sequence[Proposal]
) -> dict[str, tuple[TestResult, ...]]:
    """Return what each proposed file's tests did in one run of all of them."""
    stand = prover.stand
    files = {one.path.encode(): FileContent(data=one.text.encode()) for one in proposals}
    paths = tuple(one.path for one in proposals)
    run = stand.rig.run(overlaid(delta, TreeDelta(files=files)), paths, stand.recipe, _SEED)
    found: dict[str, list[TestResult]] = {path: [] for path in paths}
    for result in run.report.results:
        path = file_of(result.id, paths)
        if path:
            found[path].append(result)
    return {path: tuple(results) for path, results in found.items()}
