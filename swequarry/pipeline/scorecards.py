"""The facts for scorecards: what the ledger of a run knows of each item's builds, runs and tests.

Stages that a run doesn't have (stability, strength) leave their numbers unmeasured.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from swequarry.ledger.attempts import Attempt, AttemptStatus
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.queries import attempts_of
from swequarry.ledger.runs import Ending, Run
from swequarry.outcome import Accepted, Failed, RejectCode, Rejected
from swequarry.pipeline.reporting import repo_of_item
from swequarry.pipeline.stages.environment import EnvironmentStage
from swequarry.pipeline.stages.verify import VerifyStage
from swequarry.pipeline.workspace import Workspace
from swequarry.records import Record, Stability, State, Strength, TestOutcome, Verification
from swequarry.report.scorecard import End, ItemFacts, Scorecard, scorecards
from swequarry.verify.classify import Reason

R = TypeVar("R", bound=Record)
_STABILITY, _STRENGTH = "stability", "strength"
_FLAKY = frozenset({Reason.FLAKY.value, Reason.UNSTABLE_ID.value})
"""Why a test is quarantined that is its own fault; limits and unended runs are not."""


def run_scorecards(workspace: Workspace, run: Run) -> tuple[Scorecard, ...]:
    """Return the scorecards of the repositories of a run, by name.

    Raises:
        StorageError: the ledger can't be read.
    """
    ledger = workspace.ledger
    selected = ledger.selection(run.number)
    endings = {ending.item: ending for ending in ledger.endings(run.number)}
    tries: dict[str, list[Attempt]] = {}
    for attempt in attempts_of(ledger, selected):
        tries.setdefault(attempt.item, []).append(attempt)
    return scorecards(_facts(ledger, item, endings.get(item), tries.get(item, [])) for item in selected)


def _facts(ledger: Ledger, item: str, ending: Ending | None, tries: Sequence[Attempt]) -> ItemFacts:
    end, cause = _end(ending)
    done = {attempt.key.stage: attempt for attempt in tries if attempt.status is AttemptStatus.DONE}
    made = {stage: _accepted(ledger, attempt) for stage, attempt in done.items()}
    runs = done[VerifyStage.name].observed.get("runs", ()) if VerifyStage.name in done else ()
    base = [run["outcomes"] for run in runs if run["state"] == State.BASE.value]
    verification = _record(Verification, made.get(VerifyStage.name))
    strength = _record(Strength, made.get(_STRENGTH))
    coverage = strength.coverage if strength else None
    unstable, tests = _unstable(verification, _record(Stability, made.get(_STABILITY)))
    return ItemFacts(
        repo=repo_of_item(item),
        end=end,
        cause=cause,
        built=made[EnvironmentStage.name] is not None if EnvironmentStage.name in made else None,
        base_tests=sum(sum(outcomes.values()) for outcomes in base),
        base_passed=sum(outcomes.get(TestOutcome.PASSED.value, 0) for outcomes in base),
        tests=tests,
        unstable=unstable,
        lines=coverage.lines if coverage else None,
        covered=coverage.covered_lines if coverage else None,
        runs_s=tuple(float(run["duration_s"]) for run in runs),
        spent_s=sum(float(attempt.observed.get("duration_s", 0.0)) for attempt in tries),
    )


def _end(ending: Ending | None) -> tuple[End, str | None]:
    match ending.outcome if ending else None:
        case Accepted():
            return End.ACCEPTED, None
        case Rejected(code=RejectCode.NOT_TRIED as code):
            return End.NOT_TRIED, code.value
        case Rejected(code=code):
            return End.REJECTED, code.value
        case Failed(boundary=boundary):
            return End.FAILED, boundary.value
        case _:
            return End.OPEN, None


def _accepted(ledger: Ledger, attempt: Attempt) -> Mapping[str, Any] | None:
    """Return what a stage accepted of an item, None where it rejected it."""
    for found in ledger.result(attempt.key) or ():
        if found.item == attempt.item and isinstance(found.outcome, Accepted):
            return found.outcome.value
    return None


def _record(kind: type[R], value: Mapping[str, Any] | None) -> R | None:
    """Return a stage's value as a record, or the part of it of that name; None if it's neither."""
    for data in (value, (value or {}).get(kind.__name__.lower())):
        if data is not None:
            try:
                return kind.from_json(data)
            except ValidationError:
                continue
    return None


def _unstable(verification: Verification | None, stability: Stability | None) -> tuple[int, int]:
    """Return how many tests of a verified item are unstable, and how many were run."""
    if verification is None:
        return 0, 0
    quarantined = {test.id for test in verification.quarantined}
    flaky = {test.id for test in verification.quarantined if test.reason in _FLAKY}
    flaky |= set(stability.quarantined) if stability else set()
    tests = {*verification.fail_to_pass, *verification.pass_to_pass, *quarantined, *flaky}
    return len(flaky), len(tests)
