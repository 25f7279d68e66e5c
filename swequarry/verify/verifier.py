"""The Execution Verifier: run a candidate's tests in every state, more than once; say what was measured."""

import dataclasses
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from swequarry.config import VerifySettings
from swequarry.delta import TreeDelta
from swequarry.errors import SandboxError
from swequarry.outcome import Accepted, Boundary, Failed, Outcome, RejectCode, Rejected
from swequarry.records import (
    BlobHash,
    Candidate,
    Environment,
    State,
    TestId,
    Verification,
    canonical_json,
)
from swequarry.sandbox.contract import Limits, SandboxBackend, World
from swequarry.verify.classify import Classification, Reason, classify
from swequarry.verify.passes import FAILING, RunProblem
from swequarry.verify.runner import RunOptions, RunResult, run_tests
from swequarry.verify.scope import Scope
from swequarry.verify.signs import tells_of_network
from swequarry.verify.targets import select_targets

SEED_BASE = {State.BASE: 30_000, State.BEFORE: 10_000, State.AFTER: 20_000}
"""Each run has its own seed, by state and number: the same whenever it is done again."""
_EARLY = 2
"""Runs of each state after which a candidate without any test that turns is let go."""
_LONG_RUN_S = 60.0
"""From this on a run isn't repeated with the tests that failed after the fix: no list can have them any more,
and tests that download something wait and try again for minutes when there is no network."""
_EVIDENCE = 20


@dataclasses.dataclass(slots=True)
class _Runs:
    """The runs of one verification, made as they are asked for."""

    start: Callable[[State, int, frozenset[TestId]], RunResult]
    left_out: frozenset[TestId] = frozenset()
    done: dict[State, list[RunResult]] = dataclasses.field(default_factory=lambda: {s: [] for s in State})

    def add(self, state: State) -> Rejected | None:
        number = len(self.done[state])
        first_before = state is State.BEFORE and number == 0
        run = self.start(state, number, frozenset() if first_before else self.left_out)
        self.done[state].append(run)
        if state is State.AFTER and number == 0 and run.duration_s > _LONG_RUN_S:
            failed = (result.id for result in run.report.results if result.outcome in FAILING)
            self.left_out = frozenset(failed)
        return _unusable(run, state)

    def classify(self) -> Classification:
        return classify(self.done[State.BEFORE], self.done[State.AFTER], self.left_out)


def verify(  # noqa: PLR0913 - `widen` only adds test files
    candidate: Candidate,
    world: World,
    environment: Environment,
    deltas: Mapping[State, TreeDelta],
    backend: SandboxBackend,
    settings: VerifySettings,
    limits: Limits,
    put_blob: Callable[[bytes], BlobHash],
    *,
    widen: Callable[[tuple[str, ...]], Scope] = lambda targets: Scope(name="touched", targets=targets),
) -> tuple[Outcome[Verification], dict[str, Any]]:
    """Return the outcome, and beside it what was observed: durations, problems, last lines of errors.

    `world` is the candidate's snapshot with its environment, `deltas` come from `state_deltas`; `widen` adds
    test files to those of the pull request. Machinery that breaks gives `Failed`; nothing is raised for it.
    """
    targets = select_targets(candidate.test_files, deltas[State.BEFORE])
    if not targets:
        return _no_targets(candidate), {}
    watch = tuple(path for path in candidate.gold_files if path.endswith(".py"))
    bounded = dataclasses.replace(limits, wall_s=float(settings.timeout_s))

    try:
        scope = widen(targets)
    except SandboxError as error:
        return Failed(boundary=Boundary.SANDBOX, message=str(error)), {}

    def start(state: State, number: int, left_out: frozenset[TestId]) -> RunResult:
        options = RunOptions(
            seed=SEED_BASE[state] + number,
            test_timeout_s=settings.test_timeout_s,
            watch=watch,
            leave_out=left_out,
        )
        return run_tests(backend, world, deltas[state], scope.targets, environment.recipe, options, bounded)

    runs = _Runs(start=start)
    try:
        verdict = _measure(runs, settings.runs)
    except SandboxError as error:
        outcome: Outcome[Verification] = Failed(boundary=Boundary.SANDBOX, message=str(error))
    else:
        outcome = (
            verdict
            if isinstance(verdict, Rejected)
            else Accepted(value=_verification(verdict, runs, scope, environment, backend.name, put_blob))
        )
    return outcome, _observed(runs)


def _no_targets(candidate: Candidate) -> Rejected:
    message = "no Python file of the test patch defines tests"
    evidence = candidate.test_files[:_EVIDENCE]
    return Rejected(code=RejectCode.NO_TESTS_FOUND, message=message, evidence=evidence)


def _measure(runs: _Runs, wanted: int) -> Classification | Rejected:
    for number in range(wanted):
        for state in (State.AFTER, State.BEFORE):
            rejected = runs.add(state)
            if rejected is not None:
                return rejected
        if number + 1 in (min(_EARLY, wanted), wanted):
            found = runs.classify()
            if not found.fail_to_pass and (number + 1 == wanted or not found.turning):
                return _no_fail_to_pass(found, runs)
    runs.add(State.BASE)
    return runs.classify()


def _unusable(run: RunResult, state: State) -> Rejected | None:
    """Return the rejection that a run means by itself, before any test is looked at."""
    where = f"in the state {state.value}"
    evidence = run.evidence[:_EVIDENCE]
    if state is State.BASE:
        return None
    if run.foreign_modules:
        message = "the project is imported from elsewhere than its checkout, so the states can't differ"
        places = tuple(f"{origin.name}: {origin.file}" for origin in run.foreign_modules)
        return Rejected(code=RejectCode.BUILD_FAILED, message=message, evidence=places[:_EVIDENCE])
    if RunProblem.WALL_LIMIT in run.problems:
        message = f"the tests didn't end within the time limit of a run {where}"
        return Rejected(code=RejectCode.TEST_TIMEOUT, message=message, evidence=evidence)
    if RunProblem.OUTPUT_LIMIT in run.problems or RunProblem.DISK_LIMIT in run.problems:
        what = "print" if RunProblem.OUTPUT_LIMIT in run.problems else "write to disk"
        message = f"the tests {what} more than the limit allows {where}"
        return Rejected(code=RejectCode.RESOURCE_LIMIT, message=message, evidence=evidence)
    if RunProblem.UNSOUND_REPORT in run.problems:
        message = f"the report of the tests can't be trusted {where}"
        return Rejected(code=RejectCode.UNSTABLE, message=message, evidence=evidence)
    return _nothing_ran(run) if state is State.AFTER and not run.report.collected else None


def _nothing_ran(run: RunResult) -> Rejected:
    """Return the rejection for a run after the fix in which no test was collected."""
    errors = run.report.collection_errors
    found = (*errors, *run.report.collection_skips)
    evidence = tuple(f"{path or run.report.framework}: {detail}" for path, detail in found)[:_EVIDENCE]
    if RunProblem.MEMORY_LIMIT in run.problems or RunProblem.PROCESS_LIMIT in run.problems:
        message = "the tests can't be collected within the limits"
        return Rejected(code=RejectCode.RESOURCE_LIMIT, message=message, evidence=run.evidence + evidence)
    if errors and all(tells_of_network(detail) for _, detail in errors):
        message = "the tests can't be collected without a network"
        return Rejected(code=RejectCode.NEEDS_NETWORK, message=message, evidence=evidence)
    if errors:
        message = "the tests can't be collected, even after the fix"
        return Rejected(code=RejectCode.BUILD_FAILED, message=message, evidence=evidence)
    message = "the changed test files hold no test that can be collected"
    return Rejected(code=RejectCode.NO_TESTS_FOUND, message=message, evidence=evidence)


def _no_fail_to_pass(found: Classification, runs: _Runs) -> Rejected:
    turning = tuple(f"{entry.id}: {entry.reason}" for entry in found.turning[:_EVIDENCE])
    reasons = {entry.reason for entry in found.turning}
    if Reason.RESOURCE_LIMIT in reasons:
        message = "what the tests that turn say may come from a limit"
        return Rejected(code=RejectCode.RESOURCE_LIMIT, message=message, evidence=turning)
    if turning:
        message = "every test that fails before and passes after in some run differs between runs"
        return Rejected(code=RejectCode.UNSTABLE, message=message, evidence=turning)
    if found.fail_after and found.fail_after == found.need_network:
        message = "no test turns, and all that fail after the fix need the network"
        return Rejected(
            code=RejectCode.NEEDS_NETWORK, message=message, evidence=found.need_network[:_EVIDENCE]
        )
    after = runs.done[State.AFTER][0].report
    errors = [f"{path or after.framework}: {detail}" for path, detail in after.collection_errors]
    failing = {result.id: result.detail for result in after.results}
    errors += [f"{test}: {failing.get(test, '')}" for test in found.fail_after]
    message = (
        f"no test fails before the fix and passes after it; {len(found.pass_to_pass)} pass in both, "
        f"{len(found.fail_after)} fail in both"
    )
    return Rejected(code=RejectCode.NO_FAIL_TO_PASS, message=message, evidence=tuple(errors[:_EVIDENCE]))


def _verification(
    found: Classification,
    runs: _Runs,
    scope: Scope,
    environment: Environment,
    backend: str,
    put_blob: Callable[[bytes], BlobHash],
) -> Verification:
    return Verification(
        backend=backend,
        scope=scope.name,
        test_command=_test_command(environment, runs.done[State.AFTER][0]),
        test_files=scope.targets,
        runs_before=len(runs.done[State.BEFORE]),
        runs_after=len(runs.done[State.AFTER]),
        fail_to_pass=found.fail_to_pass,
        pass_to_pass=found.pass_to_pass,
        quarantined=found.quarantined,
        causes=found.causes,
        matrix=put_blob(canonical_json(_matrix(found, runs))),
        left_out_files=scope.left_out,
    )


def _test_command(environment: Environment, run: RunResult) -> tuple[str, ...]:
    """Return the command by which anybody gets these outcomes, up to the test files."""
    if environment.recipe.test_framework != "pytest":
        return environment.recipe.test_command
    words = (*environment.recipe.test_command, "-p", "no:cacheprovider", "--continue-on-collection-errors")
    if run.addopts_found != run.addopts_kept:
        return (*words, "-o", f"addopts={shlex.join(run.addopts_kept)}")
    return words


def _matrix(found: Classification, runs: _Runs) -> dict[str, Any]:
    """Return {"version", "tests": {id: {state: [outcome by run]}}}, without ids that no second run knows."""
    base = {result.id: result.outcome for run in runs.done[State.BASE] for result in run.report.results}
    tests: dict[str, dict[str, list[str]]] = {}
    for test, (was, became) in found.matrix.items():
        tests[test] = {
            State.BEFORE.value: [outcome.value for outcome in was],
            State.AFTER.value: [outcome.value for outcome in became],
        }
        if test in base and not set(became) <= FAILING:
            tests[test][State.BASE.value] = [base[test].value]
    return {"version": 1, "tests": tests}


def _observed(runs: _Runs) -> dict[str, Any]:
    """Return JSON data about each run, for the ledger and the report; it is no part of any record."""
    return {"runs": [_observed_run(state, run) for state in State for run in runs.done[state]]}


def _observed_run(state: State, run: RunResult) -> dict[str, Any]:
    counts: dict[str, int] = {}
    for result in run.report.results:
        counts[result.outcome.value] = counts.get(result.outcome.value, 0) + 1
    return {
        "state": state.value,
        "duration_s": round(run.duration_s, 3),
        "passes": run.passes,
        "outcomes": dict(sorted(counts.items())),
        "collection_errors": [list(pair) for pair in run.report.collection_errors],
        "problems": [problem.value for problem in run.problems],
        "evidence": list(run.evidence),
        "memory_events": run.memory_events,
        "process_events": run.process_events,
        "addopts": {"found": list(run.addopts_found), "kept": list(run.addopts_kept)},
        "origins": {origin.name: origin.inside for origin in run.origins},
        "details": {r.id: r.detail for r in run.report.results if r.detail},
    }
