"""The prover: a proposal in, a proof out. Nothing enters a task without it, whoever wrote it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from swequarry.records import sha256_hex
from testwriter.interface import Proof, Proposal, Subject
from testwriter.proof.codes import Refusal, Worth
from testwriter.proof.runs import Seen, Stand, Trials
from testwriter.proof.text import Finding, judge_text
from testwriter.proof.worth import Wanting, killed, newly_covered

_SHOWN = 40


@dataclass(slots=True, kw_only=True)
class Prover:
    """Proves proposals for one subject; what they are worth is held against what the task's tests lack.

    `left` says whether there is time to try wrong fixes on one more proposal. The same text is run once.
    """

    stand: Stand
    subject: Subject
    wanting: Wanting
    known: dict[str, Proof] = field(default_factory=dict)
    left: Callable[[], bool] = lambda: True

    def __call__(self, proposal: Proposal) -> Proof:
        """Return the proof of a proposal.

        Raises:
            SandboxError: the machinery broke; nothing is known of the proposal.
        """
        key = sha256_hex(f"{proposal.path}\n{proposal.text}".encode())
        if key not in self.known:
            self.known[key] = self._proof(proposal)
        return self.known[key]

    def admit(self, proof: Proof) -> None:
        """Count an admitted test among those that the task has: what it gives, another needn't give again."""
        self.wanting.without(proof.kills, proof.lines)
        self.known = {key: old for key, old in self.known.items() if not old.admitted}

    def _proof(self, proposal: Proposal) -> Proof:
        if found := judge_text(proposal, self.subject):
            return _refused(found, Seen())
        trials = Trials(stand=self.stand, proposal=proposal, subject=self.subject)
        seen = trials.seen
        if found := trials.turns():
            return _refused(found, seen)
        kills = killed(self.stand, proposal, seen.tests, self.wanting) if self.left() else ()
        lines = newly_covered(self.stand.files, seen.trace, self.wanting)
        good_for = [Worth.KILLS_WRONG_FIX] if kills else []
        good_for += [Worth.COVERS_CHANGED_LINE] if lines else []
        good_for += [Worth.ONLY_TEST] if not self.wanting.tests else []
        if not good_for:
            return _refused([(Refusal.ADDS_NOTHING, "")], seen)
        if found := trials.holds():
            return _refused(found, seen)
        return Proof(
            admitted=True,
            admitted_for=tuple(good_for),
            tests=seen.tests,
            failing=seen.failing,
            runs_before=seen.before,
            runs_after=seen.after,
            kills=kills,
            lines=lines,
        )


def _refused(found: Sequence[Finding], seen: Seen) -> Proof:
    reasons = tuple(dict.fromkeys(code.value for code, _ in found))
    told = [f"{code.value}: {what}" if what else code.value for code, what in found[:_SHOWN]]
    return Proof(
        admitted=False,
        reasons=reasons,
        tests=seen.tests,
        failing=seen.failing,
        runs_before=seen.before,
        runs_after=seen.after,
        output="\n".join([*told, seen.output]).strip(),
    )
