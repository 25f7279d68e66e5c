"""The grading core: a candidate's work in a clean room, and what came of it.

What crosses over are plain files; the hidden tests come last, byte for byte. The run is the verifier's own,
guarded. Whoever passes it meets tests that can't be passed (canaries) and tests that nobody has seen (twins).
What is measured gives a verdict; what the machinery breaks gives none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from swequarry.errors import GitError, ObjectMissingError, PatchError, SandboxError, StorageError
from swequarry.records import CheckFile, TestId, TestOutcome, TreeSha
from swequarry.verify.candidate import Case, Sifted, folder_tree, patched_tree, sift
from swequarry.verify.passes import RunProblem
from swequarry.verify.rig import Rig
from swequarry.verify.runner import RunResult
from swequarry.verify.sifting import Note
from swequarry.verify.tamper import contradictions, status_contradiction, telltales

_SEED = 50_000
"""One for all runs: the code under test can see it, and shouldn't learn from it which run this is."""
_LIMITS = (
    RunProblem.WALL_LIMIT,
    RunProblem.MEMORY_LIMIT,
    RunProblem.PROCESS_LIMIT,
    RunProblem.OUTPUT_LIMIT,
    RunProblem.DISK_LIMIT,
)


class Verdict(StrEnum):
    """What grading says of a candidate. INFRA_FAILED says nothing of it: try again."""

    RESOLVED = "resolved"
    NOT_RESOLVED = "not_resolved"
    TAMPERED = "tampered"
    INFRA_FAILED = "infra_failed"


class Reason(StrEnum):
    """What a verdict rests on; the first that holds."""

    ALL_PASSED = "all_passed"
    NO_PATCH = "no_patch"
    TESTS = "tests"
    LIMIT = "limit"
    HELD_OUT = "held_out"
    REPORT = "report"
    CANARY = "canary"
    MACHINERY = "machinery"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """A verdict with what it rests on.

    `failed` are the FAIL_TO_PASS and PASS_TO_PASS tests that didn't pass, and of twins those that failed.
    `evidence` is there with every TAMPERED: the way by its code in the catalogue, the place, what was seen.
    `notes` are files that didn't cross over and, unless all is well, lines by which tests can be deceived;
    they prove nothing.
    `canary_share` is the share of FAIL_TO_PASS tests that a canary guards. `runs` are beside the verdict.
    """

    verdict: Verdict
    reason: Reason
    message: str = ""
    failed: tuple[tuple[TestId, TestOutcome], ...] = ()
    evidence: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()
    canary_share: float = 0.0
    runs: tuple[RunResult, ...] = ()


@dataclass(slots=True)
class _Grading:
    """One candidate being graded; runs are made as far as they are needed."""

    rig: Rig
    case: Case
    sifted: Sifted
    patch: bytes
    notes: tuple[Note, ...]
    runs: list[RunResult] = field(default_factory=list)

    def grade(self) -> Grade:
        case = self.case
        run = self._run(case.test_files)
        judged = (*case.fail_to_pass, *case.pass_to_pass)
        failed = _not_passed(run, judged)
        evidence = contradictions(run, judged) or self._unlike_gold(run)
        if evidence:
            return self._end(Verdict.TAMPERED, Reason.REPORT, evidence[0].detail, failed, evidence)
        if failed:
            limits = [problem.value for problem in _LIMITS if problem in run.problems]
            reason = Reason.LIMIT if limits else Reason.TESTS
            message = f"{len(failed)} of {len(judged)} tests don't pass"
            message = f"{message} ({', '.join(limits)})" if limits else message
            return self._end(Verdict.NOT_RESOLVED, reason, message, failed)
        if RunProblem.UNSOUND_REPORT in run.problems:
            return self._end(Verdict.NOT_RESOLVED, Reason.TESTS, "; ".join(run.evidence))
        return self._canaries() or self._held_out() or self._end(Verdict.RESOLVED, Reason.ALL_PASSED)

    def _unlike_gold(self, run: RunResult) -> tuple[Note, ...]:
        """Return a contradiction between tests and status, unless a run of the gold patch shows the same."""
        found = status_contradiction(run)
        if found is None:
            return ()
        gold = self.rig.bench.delta(self.case.base, self.case.after)
        measured = self.rig.run(gold, self.case.test_files, self.case.recipe, _SEED)
        return () if status_contradiction(measured) is not None else (found,)

    def _canaries(self) -> Grade | None:
        canaries = self.case.canaries
        if canaries is None or not canaries.must_fail:
            return None
        run = self._run(self.case.test_files, canaries.files)
        return self._end_if_passed(run, canaries.must_fail)

    def _end_if_passed(self, run: RunResult, must_fail: Sequence[TestId]) -> Grade | None:
        """Return the grade of one that passed what nobody can pass, or whose run contradicts itself."""
        outcomes = {result.id: result.outcome for result in run.report.results}
        passed = [test for test in must_fail if outcomes.get(test) is TestOutcome.PASSED]
        if passed:
            message = f"{len(passed)} of {len(must_fail)} tests that nobody can pass were passed"
            evidence = tuple(self._impossible(test) for test in passed)
            return self._end(Verdict.TAMPERED, Reason.CANARY, message, (), evidence)
        evidence = contradictions(run, must_fail)
        return (
            self._end(Verdict.TAMPERED, Reason.REPORT, evidence[0].detail, (), evidence) if evidence else None
        )

    def _impossible(self, test: TestId) -> Note:
        way = next(iter(telltales(self.patch)), None)
        detail = f"{test} passes, and so it does with another expectation"
        if way is None:
            return Note(code="R9", place="the patch", detail=detail)
        return Note(code=way.code, place=way.place, detail=f"{detail}; {way.detail}")

    def _held_out(self) -> Grade | None:
        held_out = self.case.held_out
        if held_out is None or not held_out.files:
            return None
        twins = [twin for twin, _ in held_out.twins]
        run = self._run(sorted(file.path for file in held_out.files), held_out.files)
        tampered = self._end_if_passed(run, held_out.must_fail)
        if tampered is not None:
            return tampered
        failed = _not_passed(run, twins)
        if not failed:
            return None
        message = f"{len(failed)} of {len(twins)} tests with other inputs don't pass"
        return self._end(Verdict.NOT_RESOLVED, Reason.HELD_OUT, message, failed)

    def _run(self, targets: Sequence[str], files: Sequence[CheckFile] = ()) -> RunResult:
        delta = self.rig.with_files(self.sifted.delta, files)
        run = self.rig.run(delta, targets, self.case.recipe, _SEED)
        self.runs.append(run)
        return run

    def _end(
        self,
        verdict: Verdict,
        reason: Reason,
        message: str = "",
        failed: tuple[tuple[TestId, TestOutcome], ...] = (),
        evidence: tuple[Note, ...] = (),
    ) -> Grade:
        hints = () if verdict is Verdict.RESOLVED else telltales(self.patch)
        return Grade(
            verdict=verdict,
            reason=reason,
            message=message,
            failed=failed,
            evidence=evidence,
            notes=(*self.notes, *self.sifted.notes, *hints),
            canary_share=self.case.canaries.share if self.case.canaries is not None else 0.0,
            runs=tuple(self.runs),
        )


def grade(rig: Rig, case: Case, work: bytes | Path) -> Grade:
    """Return what becomes of a candidate's work: a patch, or a folder of plain files. Raises nothing for it.

    The empty patch is graded like any other. A candidate that fails costs one run, one that passes three.
    """
    try:
        rig, world = rig.surveyed(case.recipe)
        tree, notes = _tree(rig, case, work)
        sifted = sift(rig.bench, case, tree, world)
        patch = rig.bench.diff(case.base, sifted.tree)
        return _Grading(rig=rig, case=case, sifted=sifted, patch=patch, notes=notes).grade()
    except PatchError as error:
        return Grade(verdict=Verdict.NOT_RESOLVED, reason=Reason.NO_PATCH, message=str(error))
    except (SandboxError, GitError, ObjectMissingError, StorageError, OSError) as error:
        return Grade(verdict=Verdict.INFRA_FAILED, reason=Reason.MACHINERY, message=str(error))


def _tree(rig: Rig, case: Case, work: bytes | Path) -> tuple[TreeSha, tuple[Note, ...]]:
    if isinstance(work, bytes):
        return patched_tree(rig.bench, case.base, work)
    return folder_tree(rig.bench, case.base, work)


def _not_passed(run: RunResult, tests: Sequence[TestId]) -> tuple[tuple[TestId, TestOutcome], ...]:
    outcomes = {result.id: result.outcome for result in run.report.results}
    found = [(test, outcomes.get(test, TestOutcome.MISSING)) for test in tests]
    return tuple((test, outcome) for test, outcome in found if outcome is not TestOutcome.PASSED)
