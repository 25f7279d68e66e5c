"""Ask writers for tests, let the prover judge them, and make of those that it admits a candidate with them.

Static rules come first, for they cost nothing. Then all proposals that are left are screened together; only
what is promising there is proven, one by one.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from swequarry.records import AddedTest, BlobHash, RefusedTest, TestId, TestOrigin
from swequarry.verify.runner import RunResult
from testwriter.interface import Proof, Proposal, Subject, Writer
from testwriter.proof.codes import Refusal
from testwriter.proof.prover import Prover
from testwriter.proof.text import judge_text
from testwriter.screening import promising

Put = Callable[[bytes], BlobHash]
_BATCH = 40


@dataclass(slots=True, kw_only=True)
class Engine:
    """One task's writing: `most` test files are added at most.

    No proof is begun once there are `budget_runs` runs in `made`: a number of runs is the same on every
    machine, which a time isn't.
    """

    prover: Prover
    put_blob: Put
    budget_runs: int
    made: Sequence[RunResult]
    most: int = 3
    added: list[tuple[Proposal, Proof]] = field(default_factory=list)
    refused: list[tuple[Proposal, tuple[str, ...]]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def left(self) -> bool:
        """Whether there are runs left, and room."""
        return len(self.made) < self.budget_runs and len(self.added) < self.most

    @property
    def wants_more(self) -> bool:
        """Whether another test could be of any use."""
        wanting = self.prover.wanting
        return not wanting.tests or bool(wanting.survivors) or bool(wanting.uncovered)

    def hear(self, name: str, writer: Writer) -> None:
        """Take what a writer proposes, as far as time and need go.

        Raises:
            SandboxError: the machinery broke.
        """
        if not self.left or not self.wants_more:
            self.left_out += [f"{name}: the budget is spent"] if not self.left else []
            return
        known = frozenset(self.subject.upstream_tests or ())
        waiting: list[Proposal] = []
        for proposal in writer.propose(self.subject, self.prover):
            if (proposal.path, proposal.text) in known:
                continue
            waiting.append(proposal)
            if len(waiting) >= _BATCH:
                self.prove(waiting)
                waiting = []
            if not self.left or not self.wants_more:
                return
        self.prove(waiting)

    @property
    def subject(self) -> Subject:
        """What the tests are about."""
        return self.prover.subject

    def prove(self, proposals: Sequence[Proposal]) -> None:
        """Admit or refuse some proposals, in their order."""
        said = []
        for proposal in proposals:
            found = judge_text(proposal, self.subject)
            if found:
                self.refuse(proposal, [code for code, _ in found])
            else:
                said.append(proposal)
        for proposal in promising(self.prover, said, self.refuse):
            if not self.left or not self.wants_more:
                self.left_out.append(
                    f"a proof of {proposal.method}: nothing more was wanted, or the budget spent"
                )
                return
            proof = self.prover(proposal)
            if proof.admitted:
                self.added.append((proposal, proof))
                self.prover.admit(proof)
            else:
                self.refused.append((proposal, proof.reasons))

    def refuse(self, proposal: Proposal, codes: Iterable[Refusal]) -> None:
        """Write down why a proposal isn't admitted."""
        self.refused.append((proposal, tuple(dict.fromkeys(code.value for code in codes))))

    # --- what comes of it -----------------------------------------------------------------------------------

    def records(self) -> tuple[tuple[AddedTest, ...], tuple[RefusedTest, ...]]:
        """Return what was added and what was refused, as records; texts go to the blob store."""
        added = tuple(self._added(proposal, proof) for proposal, proof in self.added)
        refused = {
            (self.put_blob(proposal.text.encode()), proposal.method): RefusedTest(
                content=self.put_blob(proposal.text.encode()),
                origin=TestOrigin(proposal.origin),
                method=proposal.method,
                reasons=reasons,
            )
            for proposal, reasons in self.refused
        }
        return added, tuple(refused.values())

    def _added(self, proposal: Proposal, proof: Proof) -> AddedTest:
        return AddedTest(
            path=proposal.path,
            content=self.put_blob(proposal.text.encode()),
            origin=TestOrigin(proposal.origin),
            method=proposal.method,
            evidence=proposal.evidence,
            public=proposal.public,
            tests=tuple(TestId(test) for test in proof.tests),
            failing=tuple((TestId(test), detail) for test, detail in proof.failing),
            good_for=proof.admitted_for,
            kills=tuple(BlobHash(diff) for diff in proof.kills),
            lines=proof.lines,
            runs_before=proof.runs_before,
            runs_after=proof.runs_after,
        )

    def observed(self) -> dict[str, Any]:
        """Return JSON data: counts by method and code, and the time that it took."""
        counts: dict[str, int] = {}
        for _, reasons in self.refused:
            for reason in reasons:
                counts[reason] = counts.get(reason, 0) + 1
        return {
            "proposed": len(self.added) + len(self.refused),
            "admitted": len(self.added),
            "refused": dict(sorted(counts.items())),
            "runs": len(self.made),
            "spent_s": round(sum(run.duration_s for run in self.made), 3),
        }
