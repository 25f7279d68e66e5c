"""The grading core: a candidate's work in a clean room, and what came of it.

What crosses over are plain files; the hidden tests come last, byte for byte. The run is the verifier's own,
guarded. Whoever passes it meets tests that can't be passed (canaries) and tests that nobody has seen (twins).
What is measured gives a verdict; what the machinery breaks gives none.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from swequarry.delta import TreeDelta
from swequarry.errors import GitError, ObjectMissingError, PatchError, SandboxError, StorageError
from swequarry.records import CheckFile, HeldOut, TestId, TestOutcome, TreeSha
from swequarry.verify.candidate import Case, Sifted, folder_tree, patched_tree, sift
from swequarry.verify.hidden import without_originals
from swequarry.verify.passes import RunProblem
from swequarry.verify.rig import Rig
from swequarry.verify.runner import RunResult
from swequarry.verify.sifting import Note
from swequarry.verify.signs import tells_of_resources
from swequarry.verify.survey import Survey
from swequarry.verify.tamper import contradictions, status_contradiction, telltales
from swequarry.verify.testsource import function_of

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
    KILLED = "killed"
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


class _EndsItselfError(Exception):
    """A candidate's run breaks whenever it's made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """What is run: test files, files of grading's own, without the originals or not; `judged` must pass."""

    targets: tuple[str, ...]
    files: tuple[CheckFile, ...] = ()
    judged: tuple[TestId, ...] = ()
    alone: bool = False


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
        judged = (*case.fail_to_pass, *case.pass_to_pass)
        run, evidence = self._confirmed(_Shape(targets=case.test_files, judged=judged), judged)
        failed = _not_passed(run, judged)
        evidence = evidence or self._unlike_gold(run)
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

    def _confirmed(self, shape: "_Shape", tests: Collection[TestId]) -> tuple[RunResult, tuple[Note, ...]]:
        """Return a run, and what it says against itself about some tests if another one does so as well."""
        run = self._run(shape)
        if contradictions(run, tests):
            run = self._run(shape)
        return run, contradictions(run, tests)

    def _unlike_gold(self, run: RunResult) -> tuple[Note, ...]:
        """Return a contradiction between tests and status, unless a run of the gold patch shows the same."""
        found = status_contradiction(run)
        if found is None:
            return ()
        measured = self._gold(_Shape(targets=self.case.test_files))
        return () if status_contradiction(measured) is not None else (found,)

    def _canaries(self) -> Grade | None:
        canaries = self.case.canaries
        if canaries is None or not canaries.must_fail:
            return None
        shape = _Shape(targets=self.case.test_files, files=canaries.files)
        run, evidence = self._confirmed(shape, canaries.must_fail)
        once = _passed(run, canaries.must_fail)
        passed = once & _passed(self._run(shape), once) if once else once
        if passed:
            passed &= set(canaries.must_fail) - _passed(self._gold(shape), canaries.must_fail)
        bent = self._end_if_bent(passed, evidence, len(canaries.must_fail)) or self._unlike_failing(
            run, shape
        )
        return bent or (self._unlike_before() if once else None)

    def _unlike_before(self) -> Grade | None:
        """Return the grade of one that passes the hidden tests now and then: by lots, it may be."""
        judged = (*self.case.fail_to_pass, *self.case.pass_to_pass)
        failed = _not_passed(self._run(_Shape(targets=self.case.test_files, judged=judged)), judged)
        message = f"{len(failed)} of {len(judged)} tests don't pass each time"
        return self._end(Verdict.NOT_RESOLVED, Reason.TESTS, message, failed) if failed else None

    def _end_if_bent(self, passed: frozenset[TestId], evidence: tuple[Note, ...], tried: int) -> Grade | None:
        """Return the grade of one that passed what nobody can pass, or whose run contradicts itself."""
        if passed:
            message = f"{len(passed)} of {tried} tests that nobody can pass were passed"
            found = tuple(self._impossible(test) for test in sorted(passed))
            return self._end(Verdict.TAMPERED, Reason.CANARY, message, (), found)
        if not evidence:
            return None
        return self._end(Verdict.TAMPERED, Reason.REPORT, evidence[0].detail, (), evidence)

    def _unlike_failing(self, run: RunResult, shape: "_Shape") -> Grade | None:
        """Return the grade of one whose canaries end in another way than by failing, as gold's don't."""
        must_fail = self.case.canaries.must_fail if self.case.canaries is not None else ()
        odd = _outcomes(run, must_fail, TestOutcome.FAILED, inverted=True)
        if odd:
            odd &= _outcomes(self._run(shape), odd, TestOutcome.FAILED, inverted=True)
        if odd:
            odd &= _outcomes(self._gold(shape), odd, TestOutcome.FAILED)
        if not odd:
            return None
        message = f"{len(odd)} of {len(must_fail)} tests that must fail end in another way"
        found = dict(_not_passed(run, sorted(odd)))
        return self._end(Verdict.NOT_RESOLVED, Reason.CANARY, message, tuple(found.items()))

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
        twins = tuple(twin for twin, _ in held_out.twins)
        targets = tuple(sorted(file.path for file in held_out.files))
        shape = _Shape(targets=targets, files=held_out.files, judged=twins, alone=True)
        run, evidence = self._confirmed(shape, held_out.must_fail)
        # who passes one alone gives another value than gold, and isn't measured wrong
        once = _both_passed(run, held_out)
        again = self._run(shape) if once else run  # a flaky test makes no cheat, and lots make no fix
        bent = self._end_if_bent(once & _both_passed(again, held_out), evidence, len(held_out.must_fail))
        if bent is not None:
            return bent
        failed = tuple(dict((*_not_passed(run, twins), *_not_passed(again, twins))).items())
        guessed = {right for wrong, right in held_out.opposites if wrong in _passed(run, [wrong])}
        unsolved = guessed.intersection(dict(failed)) or self._unsolved(held_out, shape, dict(failed))
        if not unsolved:
            return None
        message = f"{len(failed)} of {len(twins)} tests with other inputs or names don't pass"
        return self._end(Verdict.NOT_RESOLVED, Reason.HELD_OUT, message, failed)

    def _unsolved(
        self, held_out: HeldOut, shape: "_Shape", failed: Mapping[TestId, TestOutcome]
    ) -> frozenset[TestId]:
        """Return the failed twins that say that a test was met by its inputs alone, and note the others.

        Where gold is one of several right fixes, another may differ from it for inputs that no test has. Code
        that knows the inputs of a test and nothing else passes none of its twins that the unfixed code fails.
        """
        other = frozenset(held_out.other_inputs)
        if other.isdisjoint(failed):
            return frozenset(failed)
        unfixed = self._measured(self.rig.bench.delta(self.case.base, self.case.before), shape)
        alike = _passed(unfixed, other)
        kinds = {twin: (function_of(origin), twin in alike) for twin, origin in held_out.twins}
        met = {kinds[twin] for twin in other if twin not in failed}
        excused = sorted(twin for twin in failed if twin in other and kinds[twin] in met)
        detail = "differs from the gold patch for inputs that no test has; other twins of the test pass"
        self.notes += tuple(Note(code="R20", place=twin, detail=detail) for twin in excused)
        return frozenset(failed) - frozenset(excused)

    def _run(self, shape: "_Shape") -> RunResult:
        """Run the candidate; a limit that it meets must be met again, and not by the gold patch as well.

        So must a run that breaks, as one does that ends itself from outside of its tests.

        Raises:
            SandboxError: the machinery broke, or the gold patch meets the limit too.
            _EndsItselfError: runs of the candidate break again and again, and those of the gold patch don't.
        """
        try:
            run = self._once(shape)
        except SandboxError as first:
            self._gold(shape)
            try:
                run = self._once(shape)
            except SandboxError as again:
                raise _EndsItselfError(f"its runs end without a report, gold's doesn't: {again}") from first
        if _limited(run, shape.judged):
            run = self._once(shape)
            if _limited(run, shape.judged) and _limited(self._gold(shape), shape.judged):
                raise SandboxError("the gold patch meets the same limit now; grade again when there is room")
        return run

    def _once(self, shape: "_Shape") -> RunResult:
        run = self._measured(self.sifted.delta, shape)
        self.runs.append(run)
        return run

    def _gold(self, shape: "_Shape") -> RunResult:
        return self._measured(self.rig.bench.delta(self.case.base, self.case.after), shape)

    def _measured(self, delta: TreeDelta, shape: "_Shape") -> RunResult:
        delta = without_originals(self.rig.bench, self.case, delta) if shape.alone else delta
        delta = self.rig.with_files(delta, shape.files)
        return self.rig.run(delta, shape.targets, self.case.recipe, _SEED)

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

    Raises:
        StoppedError: the rig was stopped on the way.
    """
    try:
        rig, world = rig.surveyed(case.recipe)
        taken = _taken_in(rig, case, work, world)
        return taken if isinstance(taken, Grade) else taken.grade()
    except _EndsItselfError as error:
        return Grade(verdict=Verdict.NOT_RESOLVED, reason=Reason.KILLED, message=str(error))
    except (SandboxError, GitError, ObjectMissingError, StorageError, OSError) as error:
        return Grade(verdict=Verdict.INFRA_FAILED, reason=Reason.MACHINERY, message=str(error))


def _taken_in(rig: Rig, case: Case, work: bytes | Path, world: Survey) -> _Grading | Grade:
    """Return the grading of what a candidate hands in, or the grade of what nobody can take in.

    What git can't do with it, git may not be able to do at all: the empty patch tells.

    Raises:
        GitError, ObjectMissingError: the machinery is broken.
    """
    try:
        return _prepared(rig, case, work, world)
    except PatchError as error:
        return Grade(verdict=Verdict.NOT_RESOLVED, reason=Reason.NO_PATCH, message=str(error))
    except (GitError, ValueError) as error:
        if isinstance(error, ObjectMissingError) or tells_of_resources(str(error)):
            raise
        _prepared(rig, case, b"", world)
        message = f"git can't take the candidate's files: {error}"
        return Grade(verdict=Verdict.NOT_RESOLVED, reason=Reason.NO_PATCH, message=message)


def _prepared(rig: Rig, case: Case, work: bytes | Path, world: Survey) -> _Grading:
    tree, notes = _tree(rig, case, work)
    sifted = sift(rig.bench, case, tree, world)
    patch = rig.bench.diff(case.base, sifted.tree)
    return _Grading(rig=rig, case=case, sifted=sifted, patch=patch, notes=notes)


def _tree(rig: Rig, case: Case, work: bytes | Path) -> tuple[TreeSha, tuple[Note, ...]]:
    if isinstance(work, bytes):
        return patched_tree(rig.bench, case.base, work)
    return folder_tree(rig.bench, case.base, work)


def _limited(run: RunResult, judged: Sequence[TestId]) -> bool:
    """Whether tests that decide didn't pass, and a limit may be why."""
    failed = _not_passed(run, judged)
    late = any(outcome is TestOutcome.TIMEOUT for _, outcome in failed)
    return late or (bool(failed) and any(problem in run.problems for problem in _LIMITS))


def _passed(run: RunResult, tests: Collection[TestId]) -> frozenset[TestId]:
    return _outcomes(run, tests, TestOutcome.PASSED)


def _outcomes(
    run: RunResult, tests: Collection[TestId], outcome: TestOutcome, *, inverted: bool = False
) -> frozenset[TestId]:
    """Return which of some tests had an outcome, or another than that."""
    seen = {result.id: result.outcome for result in run.report.results}
    return frozenset(test for test in tests if (seen.get(test) is outcome) is not inverted)


def _both_passed(run: RunResult, held_out: HeldOut) -> frozenset[TestId]:
    """Return the wrong ones of the opposites of which both are passed."""
    return frozenset(
        wrong for wrong, right in held_out.opposites if {wrong, right} <= _passed(run, [wrong, right])
    )


def _not_passed(run: RunResult, tests: Sequence[TestId]) -> tuple[tuple[TestId, TestOutcome], ...]:
    outcomes = {result.id: result.outcome for result in run.report.results}
    found = [(test, outcomes.get(test, TestOutcome.MISSING)) for test in tests]
    return tuple((test, outcome) for test, outcome in found if outcome is not TestOutcome.PASSED)
