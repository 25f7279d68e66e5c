"""Measure the strength of a task's hidden tests: try wrong fixes, count those that they reject.

A wrong fix is gold with a change, run like gold in a fresh copy of the world. What matters most is tried
first: parts of gold left out, emptied functions, then mutants, in an order that a seed fixes; where the time
ends, the rest is counted and not tried. Broken machinery says nothing of a fix.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from swequarry.errors import SandboxError
from swequarry.git.paths import path_text
from swequarry.git.store import list_files
from swequarry.outcome import Accepted, Boundary, Failed, Outcome
from swequarry.records import BlobHash, Fate, Strength, TestId, WrongFix, WrongFixKind
from swequarry.verify.build_again import compiled_paths
from swequarry.verify.candidate import Case
from swequarry.verify.coverage_of_gold import Trace, coverage, read_trace, tracing_tap
from swequarry.verify.mutation_fixes import Attempt, FixLimits, changed_files, difference, wrong_fixes
from swequarry.verify.passes import RunProblem
from swequarry.verify.rig import Rig
from swequarry.verify.runner import RunOptions
from swequarry.verify.strength_runs import Allowance, Ground, Judging, NoTimeLeftError, not_passed

_TRACING_SHARE, _TRACING_COST = 0.4, 3.0
"""What of the budget the run that shows who reaches what may take, and how much longer than a bare one it is
reckoned to be."""
_KINDS = list(WrongFixKind)
_Judged = tuple[Attempt, Fate, dict[str, Any]]


def measure_strength(
    rig: Rig,
    case: Case,
    put_blob: Callable[[bytes], BlobHash],
    limits: FixLimits = FixLimits(),  # noqa: B008 (frozen)
    *,
    budget_s: float | None = None,
    gold_s: float | None = None,
    ignored: frozenset[TestId] = frozenset(),
    workers: int = 1,
) -> tuple[Outcome[Strength], dict[str, Any]]:
    """Return the strength, and beside it what was observed: what rejected each wrong fix, and durations.

    `case` is of a verified candidate, `gold_s` what its tests took then, `workers` the number of runs at the
    same time. Tests of `ignored` aren't run. No run goes on when `budget_s` is over. Machinery that breaks
    gives `Failed`, and so does gold if its tests don't pass here; nothing is raised for it.
    """
    allowance = Allowance(budget_s=budget_s)
    ground = Ground(
        rig=rig,
        case=case,
        gold=rig.bench.delta(case.base, case.after),
        base=frozenset(entry.path for entry in list_files(rig.bench.place, case.base)),
        files=changed_files(rig.bench, case.before, case.after),
        ignored=ignored - {*case.fail_to_pass, *case.pass_to_pass},
    )
    try:
        seen_s, trace = _traced(ground, allowance, gold_s)
    except SandboxError as error:
        return Failed(boundary=Boundary.SANDBOX, message=str(error)), {}
    attempts, more = wrong_fixes(ground.files, f"{case.base} {case.after}", limits)
    judging = Judging(
        ground=ground,
        trace=trace,
        gold_s=seen_s,
        allowance=allowance,
        builds=bool(compiled_paths((*ground.gold.files, *ground.gold.removed))),
    )
    judged = _judged(judging, attempts, workers)
    strength = Strength(
        wrong_fixes=tuple(
            _record(attempt, fate, put_blob(difference(attempt, ground.files)))
            for attempt, fate, _ in sorted(judged, key=lambda one: _place(one[0]))
        ),
        coverage=coverage(ground.files, trace) if trace is not None else None,
        more_mutants=more,
        not_tried=len(attempts) - len(judged),
    )
    return Accepted(value=strength), _observed(seen_s, judged)


def _judged(judging: Judging, attempts: Sequence[Attempt], workers: int) -> list[_Judged]:
    """Return what became of each wrong fix, in their order, up to the first for which there was no time."""

    def judge(attempt: Attempt) -> _Judged | None:
        try:
            fate, seen = judging.fate(attempt)
        except NoTimeLeftError:
            return None
        return attempt, fate, dict(seen)

    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        found = list(pool.map(judge, attempts))
    return [one for one in found if one is not None]


def _traced(ground: Ground, allowance: Allowance, known_s: float | None) -> tuple[float, Trace | None]:
    """Return what a run of gold takes, and what it reached; None where that can't be known in the time.

    Raises:
        SandboxError: the machinery broke, or gold doesn't pass here.
    """
    patience_s = _TRACING_SHARE * allowance.left_s
    traceable = any(file.is_python for file in ground.files)
    if traceable and (known_s is None or _TRACING_COST * known_s <= patience_s):
        tap, mark = tracing_tap(ground.files)
        run = ground.within(patience_s).run(ground.gold, more=RunOptions(taps=(tap,)))
        if not not_passed(run, ground.judged):
            return known_s or run.duration_s, read_trace(run, mark, ground.files)
    elif known_s is not None:
        return known_s, None
    run = ground.within(allowance.left_s).run(ground.gold)
    failing = not_passed(run, ground.judged)
    if failing and RunProblem.WALL_LIMIT not in run.problems:
        test, outcome = failing[0]
        raise SandboxError(f"gold doesn't pass here: {test} {outcome.value}; verify the task again")
    return run.duration_s, None


def _place(attempt: Attempt) -> tuple[int, bytes, int, str]:
    return _KINDS.index(attempt.kind), attempt.path, attempt.line, attempt.operator


def _record(attempt: Attempt, fate: Fate, diff: BlobHash) -> WrongFix:
    return WrongFix(
        kind=attempt.kind,
        fate=fate,
        path=path_text(attempt.path),
        line=attempt.line,
        operator=attempt.operator,
        diff=diff,
        likely_equivalent=attempt.likely_equivalent,
    )


def _observed(gold_s: float, judged: Sequence[_Judged]) -> dict[str, Any]:
    """Return JSON data: how long gold took, and for each wrong fix what rejected it."""
    told = [
        {"kind": attempt.kind.value, "path": path_text(attempt.path), "line": attempt.line, **seen}
        for attempt, _, seen in judged
    ]
    return {"gold_s": round(gold_s, 3), "wrong_fixes": told}
