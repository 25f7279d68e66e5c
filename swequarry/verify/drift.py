"""Whether a verified task still does what it did, and why not where it doesn't.

Asked are the grading core, with the gold patch and with nothing, and further runs with other seeds. Where
tests end otherwise than the lists say, runs decide why: outcomes that differ between runs are a flake; those
that come right when the clock is put back, and not when it is merely faked, are the clock's; a world whose
interpreter or packages aren't those of the record is the environment. What none of these shows stays unknown.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from swequarry.errors import SandboxError
from swequarry.records import State, TestId, TestOutcome
from swequarry.verify.candidate import Case
from swequarry.verify.grade import Reason, Verdict, grade
from swequarry.verify.passes import RunProblem
from swequarry.verify.perturbations import Conditions, at_moment, find_clock
from swequarry.verify.rig import Rig
from swequarry.verify.runner import RunOptions, RunResult
from swequarry.verify.stability import steady_kind

_SEED = 90_000
_TRIES = 3
_REPEATS = 2
"""Runs of a state in which something ended otherwise, before a cause is looked for."""
_MEASURED = frozenset({Reason.ALL_PASSED, Reason.TESTS, Reason.LIMIT})
"""Reasons of grades that name every hidden test that didn't pass."""
_SHOWN = 3
Outcomes = Mapping[TestId, TestOutcome]


class DriftReason(StrEnum):
    """Why a task doesn't do any more what it did."""

    ENVIRONMENT = "environment"
    CLOCK = "clock"
    FLAKE = "flake"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What changed: the state in which it shows, why, what was seen, and the tests that end otherwise."""

    state: State
    reason: DriftReason
    detail: str
    tests: tuple[TestId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a search for the cause may use.

    `moments` are times at which the task did what its lists say; `differences` tell how the world differs
    from the record, and are asked for where nothing else explains what is seen.
    """

    now: datetime
    moments: Sequence[datetime] = ()
    differences: Callable[[], Sequence[str]] = tuple


def find_drift(rig: Rig, case: Case, gold: bytes, known: Known, rounds: int = 2) -> Drift | None:
    """Return what changed of a task, None if nothing did; `case` has no checks beside the hidden tests.

    Raises:
        SandboxError: the machinery broke, or a limit was met, again and again; nothing is known.
        GitError, PatchError, ObjectMissingError, StorageError: the trees can't be made.
    """
    for state, patch in ((State.AFTER, gold), (State.BEFORE, b"")):
        found = _State(rig, case, state, known).look(patch, rounds)
        if found is not None:
            return found
    return None


@dataclass(slots=True)
class _State:
    """One state of a task, and what each of its runs showed."""

    rig: Rig
    case: Case
    state: State
    known: Known
    seen: list[Outcomes] = field(default_factory=list)

    def look(self, patch: bytes, rounds: int) -> Drift | None:
        said = self._graded(patch)
        if said is not None:
            return said
        for number in range(1, rounds):
            if any(map(self._odd, self.seen)):
                break
            self.seen.append(self._run(Conditions(seed=_SEED + number)))
        return self._explain() if any(map(self._odd, self.seen)) else None

    def _graded(self, patch: bytes) -> Drift | None:
        """Grade as users do; return what the core says beside outcomes of tests."""
        done = grade(self.rig, self.case, patch)
        for _ in range(_TRIES - 1):
            if done.verdict is not Verdict.INFRA_FAILED:
                break
            done = grade(self.rig, self.case, patch)
        if done.verdict is Verdict.INFRA_FAILED:
            raise SandboxError(done.message)
        if done.reason not in _MEASURED:
            detail = f"grading says {done.verdict.value} ({done.reason.value}): {done.message}"
            return Drift(state=self.state, reason=DriftReason.UNKNOWN, detail=detail)
        self.seen.append(self._outcomes(dict(done.failed)))
        return None

    def _outcomes(self, failed: Outcomes) -> Outcomes:
        judged = (*self.case.fail_to_pass, *self.case.pass_to_pass)
        return {test: failed.get(test, TestOutcome.PASSED) for test in judged}

    def _odd(self, outcomes: Outcomes) -> frozenset[TestId]:
        """Return the tests that end otherwise than the lists say of this state."""
        must_fail = frozenset(self.case.fail_to_pass) if self.state is State.BEFORE else frozenset()
        passed = {test for test, outcome in outcomes.items() if outcome is TestOutcome.PASSED}
        return frozenset(test for test in outcomes if (test in passed) is (test in must_fail))

    def _run(self, conditions: Conditions) -> Outcomes:
        tree = self.case.after if self.state is State.AFTER else self.case.before
        delta = self.rig.bench.delta(self.case.base, tree)
        recipe = conditions.recipe(self.case.recipe)
        more = RunOptions(taps=conditions.taps)
        run = self.rig.run(delta, self.case.test_files, recipe, conditions.seed, more)
        seen = {result.id: result.outcome for result in run.report.results}
        judged = (*self.case.fail_to_pass, *self.case.pass_to_pass)
        outcomes = {test: seen.get(test, TestOutcome.MISSING) for test in judged}
        if self._odd(outcomes) and (limits := _limits(run)):
            raise SandboxError(f"the tests met a limit ({limits}); check again when there is room")
        return outcomes

    # --- why ---------------------------------------------------------------------------------------------

    def _explain(self) -> Drift:
        for number in range(_REPEATS):
            self.seen.append(self._run(Conditions(seed=_SEED + 100 + number)))
        kinds = {test: {steady_kind(seen[test]) for seen in self.seen} for test in self.seen[0]}
        flaky = sorted(test for test, found in kinds.items() if len(found) > 1)
        odd = sorted(frozenset().union(*map(self._odd, self.seen)))
        if flaky:
            detail = f"{len(flaky)} tests end differently in {len(self.seen)} runs: {self._told(flaky)}"
            return Drift(state=self.state, reason=DriftReason.FLAKE, detail=detail, tests=tuple(flaky))
        reason, why = self._by_the_clock() or self._by_the_world()
        detail = f"{self._told(odd)} in each of {len(self.seen)} runs; {why}"
        return Drift(state=self.state, reason=reason, detail=detail, tests=tuple(odd))

    def _told(self, tests: Sequence[TestId]) -> str:
        def outcomes(test: TestId) -> str:
            return "/".join(dict.fromkeys(seen[test].value for seen in self.seen))

        shown = ", ".join(f"{test} {outcomes(test)}" for test in tests[:_SHOWN])
        return shown + (f" and {len(tests) - _SHOWN} more" if len(tests) > _SHOWN else "")

    def _by_the_clock(self) -> tuple[DriftReason, str] | None:
        """Say that it's the clock, if tests end as they did at a moment of then and not at a faked now."""
        clock = find_clock(self.rig.backend, self.rig.world, self.rig.limits, self.known.now)
        for moment in self.known.moments:
            if self._odd(self._run(at_moment(clock, moment, _SEED))):
                continue
            if not self._odd(self._run(at_moment(clock, self.known.now, _SEED))):
                return None  # the faking itself changes what the tests do
            return DriftReason.CLOCK, f"with the clock at {moment:%Y-%m-%d} they end as they did"
        return None

    def _by_the_world(self) -> tuple[DriftReason, str]:
        differences = self.known.differences()
        if differences:
            more = f" and {len(differences) - _SHOWN} more" if len(differences) > _SHOWN else ""
            shown = "; ".join(differences[:_SHOWN])
            return DriftReason.ENVIRONMENT, f"the world isn't that of the record: {shown}{more}"
        return DriftReason.UNKNOWN, "neither the clock nor interpreter and packages explain it"


def _limits(run: RunResult) -> str:
    met = [problem.value for problem in run.problems if problem in _LIMITS]
    return ", ".join(met)


_LIMITS = frozenset(
    {
        RunProblem.WALL_LIMIT,
        RunProblem.MEMORY_LIMIT,
        RunProblem.PROCESS_LIMIT,
        RunProblem.OUTPUT_LIMIT,
        RunProblem.DISK_LIMIT,
    }
)
