"""Measure the stability of a verified candidate's tests, and say what that makes of its lists."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from swequarry.delta import TreeDelta
from swequarry.errors import SandboxError
from swequarry.outcome import Accepted, Boundary, Failed, Outcome
from swequarry.records import (
    BlobHash,
    Perturbation,
    QuarantinedTest,
    Recipe,
    Stability,
    State,
    TestId,
    TestOutcome,
    TestStability,
    UnstableReason,
    Verification,
    canonical_json,
)
from swequarry.verify.perturbations import BURNERS, Clock, conditions
from swequarry.verify.rig import Rig
from swequarry.verify.runner import RunOptions, RunResult
from swequarry.verify.stability import Observation
from swequarry.verify.stability_runs import DEFAULT, NOTHING, Budget, Known, Setting
from swequarry.verify.stability_search import Search, find_unstable
from swequarry.verify.verifier import SEED_BASE
from swequarry.verify.waits import WAITING


def starter(
    rig: Rig, recipe: Recipe, deltas: Mapping[State, TreeDelta], clock: Clock
) -> Callable[[Setting], RunResult]:
    """Return what makes the runs of a search, each in a fresh copy of the rig's world.

    A run under load may take as many times longer as it has processes beside it.
    """
    slow = BURNERS + 1
    patient = replace(
        rig,
        limits=replace(rig.limits, wall_s=slow * rig.limits.wall_s),
        test_timeout_s=slow * rig.test_timeout_s,
    )

    def start(setting: Setting) -> RunResult:
        how = conditions(
            setting.perturbations,
            clock,
            SEED_BASE[setting.state],
            setting.turn,
            named_in_ascii=all(path.isascii() for path in setting.targets),
        )
        more = RunOptions(taps=(*how.taps, WAITING), leave_out=setting.leave_out)
        own = patient if Perturbation.LOAD in setting.perturbations else rig
        return own.run(deltas[setting.state], setting.targets, how.recipe(recipe), how.seed, more)

    return start


def known_runs(matrix: Mapping[str, Any], states: Sequence[State]) -> tuple[Observation, ...]:
    """Return what the runs of verification showed: the first of a state is bare, others have other seeds.

    `matrix` is the blob that a verification names.
    """
    found = []
    for state in states:
        rows = {TestId(test): row.get(state.value, ()) for test, row in matrix["tests"].items()}
        for number in range(max(map(len, rows.values()), default=0)):
            outcomes = {
                test: TestOutcome(row[number])
                for test, row in rows.items()
                if number < len(row) and row[number] != TestOutcome.NOT_RUN
            }
            given = (Perturbation.SEED,) if number else ()
            found.append(Observation(state=state, perturbations=given, outcomes=outcomes, turn=-number))
    return tuple(found)


def measure_stability(
    rig: Rig,
    recipe: Recipe,
    deltas: Mapping[State, TreeDelta],
    targets: Sequence[str],
    clock: Clock,
    put_blob: Callable[[bytes], BlobHash],
    budget: Budget = DEFAULT,
    known: Known = NOTHING,
) -> tuple[Outcome[Stability], dict[str, Any]]:
    """Return how stable the tests of some files are, and beside it what was observed.

    `deltas` are of the states to look at, the most important first. Machinery that breaks gives `Failed`.
    """
    start = starter(rig, recipe, deltas, clock)
    try:
        search = find_unstable(start, dict.fromkeys(deltas, targets), budget, known)
    except SandboxError as error:
        return Failed(boundary=Boundary.SANDBOX, message=str(error)), {}
    observed = {
        "bare_s": round(search.bare_s, 3),
        "spent_s": round(search.spent_s, 3),
        "bare_runs": round(search.units, 2),
        "clock": clock.library or "python",
    }
    return Accepted(value=stability_of(search, put_blob)), observed


def stability_of(search: Search, put_blob: Callable[[bytes], BlobHash]) -> Stability:
    """Return what a search found, as a record."""
    judged = search.known.judged
    verdicts = _named_once([each for each in search.verdicts() if judged is None or each.id in judged])
    states = sorted({verdict.state for verdict in verdicts})
    return Stability(
        unstable=_named_alike([verdict for verdict in verdicts if verdict.reason is not None]),
        stable=tuple((s, sum(v.state is s and v.reason is None for v in verdicts)) for s in states),
        tried=tuple((s, tuple(sorted({o.label for o in search.seen if o.state is s}))) for s in states),
        spoilt=tuple(sorted(search.spoilt)),
        runs=search.runs,
        table=put_blob(canonical_json([verdict.to_json() for verdict in verdicts])),
        complete=search.complete and not search.spoilt,
    )


def _named_once(verdicts: Sequence[TestStability]) -> list[TestStability]:
    """Give a test that is unstable in several states the name that was found in one of them."""
    names = {test.id: test.reason for test in verdicts if test.reason not in (None, UnstableReason.UNKNOWN)}
    return [
        replace(test, reason=names.get(test.id, test.reason)) if test.reason is not None else test
        for test in verdicts
    ]


def _named_alike(unstable: Sequence[TestStability]) -> tuple[TestStability, ...]:
    """Return the tests with one entry for all ids of a function that are other ones in each run.

    Such ids (addresses, times, random values) can't be named in a record.
    """
    changing = {
        (test.state, _function(test.id))
        for test in unstable
        if "[" in test.id
        and any(TestOutcome.MISSING in dict(test.outcomes).get(label, ()) for label in ("none", "spread"))
    }
    found: dict[tuple[State, TestId], TestStability] = {}
    for test in unstable:
        name = _function(test.id)
        if (test.state, name) in changing:
            blank = TestStability(id=name, state=test.state, runs=0, passes=0, reason=UnstableReason.UNKNOWN)
            found[test.state, name] = blank
        else:
            found[test.state, test.id] = test
    return tuple(found.values())


def _function(test: TestId) -> TestId:
    return TestId(test.partition("[")[0])


# --- what it makes of the lists -----------------------------------------------------------------------------


def without_unstable(
    verification: Verification, stability: Stability, matrix: Mapping[str, Any]
) -> Verification:
    """Return the verification with the unstable tests in quarantine, each with the name that was found.

    What verification itself set aside stays there; `unknown` says no more than it did.
    """
    reasons = _reasons(stability)
    aside = {test.id: test for test in verification.quarantined}
    listed = (*verification.fail_to_pass, *verification.pass_to_pass)
    rows = matrix["tests"]
    for test in listed:
        reason = reasons.get(test) or reasons.get(_function(test))
        if reason is not None:
            aside[test] = _set_aside(test, reason, rows.get(test, {}))
    for test, entry in aside.items():
        reason = reasons.get(test)
        if reason not in (None, UnstableReason.UNKNOWN):
            aside[test] = replace(entry, reason=reason.value)
    return replace(
        verification,
        fail_to_pass=tuple(test for test in verification.fail_to_pass if test not in aside),
        pass_to_pass=tuple(test for test in verification.pass_to_pass if test not in aside),
        quarantined=tuple(sorted(aside.values(), key=lambda test: (test.id, test.reason))),
        causes=tuple((test, cause) for test, cause in verification.causes if test not in aside),
    )


def _reasons(stability: Stability) -> dict[TestId, UnstableReason]:
    """Return one reason for each unstable test; a named one where the states disagree."""
    found: dict[TestId, UnstableReason] = {}
    for test in stability.unstable:
        reason = test.reason or UnstableReason.UNKNOWN
        if found.get(test.id, UnstableReason.UNKNOWN) is UnstableReason.UNKNOWN:
            found[test.id] = reason
    return found


def _set_aside(test: TestId, reason: UnstableReason, row: Mapping[str, Sequence[str]]) -> QuarantinedTest:
    return QuarantinedTest(
        id=test,
        reason=reason.value,
        before=tuple(TestOutcome(one) for one in row.get(State.BEFORE.value, ())),
        after=tuple(TestOutcome(one) for one in row.get(State.AFTER.value, ())),
    )
