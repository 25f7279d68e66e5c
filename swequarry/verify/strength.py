"""Measure the strength of a task's hidden tests: try wrong fixes, count those that they reject.

A wrong fix is gold with a change, run like gold in a fresh copy of the world. What matters most is tried
first: parts of gold left out, emptied functions, then mutants, in an order that a seed fixes; where the time
ends, the rest is counted and not tried. Broken machinery says nothing of a fix.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from swequarry.errors import SandboxError
from swequarry.git.paths import path_text
from swequarry.git.store import list_files
from swequarry.outcome import Accepted, Boundary, Failed, Outcome
from swequarry.records import BlobHash, Fate, Strength, WrongFix, WrongFixKind
from swequarry.verify.build_again import compiled_paths
from swequarry.verify.candidate import Case
from swequarry.verify.coverage_of_gold import Trace, coverage, read_trace, tracing_tap
from swequarry.verify.mutation_fixes import Attempt, FixLimits, changed_files, difference, wrong_fixes
from swequarry.verify.rig import Rig
from swequarry.verify.runner import RunOptions, RunResult
from swequarry.verify.strength_runs import Allowance, Ground, Judging, NoTimeLeftError, not_passed

_TRACING_SHARE = 0.4
"""What of the budget the run that shows who reaches what may take."""
_KINDS = list(WrongFixKind)
_Judged = tuple[Attempt, Fate, dict[str, Any]]


def measure_strength(
    rig: Rig,
    case: Case,
    put_blob: Callable[[bytes], BlobHash],
    limits: FixLimits = FixLimits(),  # noqa: B008 (frozen)
    *,
    budget_s: float | None = None,
    workers: int = 1,
) -> tuple[Outcome[Strength], dict[str, Any]]:
    """Return the strength, and beside it what was observed: what rejected each wrong fix, and durations.

    `case` is of a verified candidate, `workers` the number of runs at the same time. No run goes on when
    `budget_s` is over. Machinery that breaks gives `Failed`, and so does gold if its tests don't pass here;
    nothing is raised for it.
    """
    allowance = Allowance(budget_s=budget_s)
    ground = Ground(
        rig=rig,
        case=case,
        gold=rig.bench.delta(case.base, case.after),
        base=frozenset(entry.path for entry in list_files(rig.bench.place, case.base)),
        files=changed_files(rig.bench, case.before, case.after),
    )
    try:
        first, trace = _traced(ground, allowance)
    except SandboxError as error:
        return Failed(boundary=Boundary.SANDBOX, message=str(error)), {}
    failing = not_passed(first, ground.judged)
    if failing:
        message = f"gold doesn't pass here: {failing[0][0]} {failing[0][1].value}; verify the task again"
        return Failed(boundary=Boundary.SANDBOX, message=message), {}
    attempts, more = wrong_fixes(ground.files, f"{case.base} {case.after}", limits)
    judging = Judging(
        ground=ground,
        trace=trace,
        collected=tuple(result.id for result in first.report.results),
        gold_s=first.duration_s,
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
    return Accepted(value=strength), _observed(first, judged)


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


def _traced(ground: Ground, allowance: Allowance) -> tuple[RunResult, Trace | None]:
    """Return a run of gold, and what it reached; None where that can't be known.

    Raises:
        SandboxError: the machinery broke.
    """
    if any(file.is_python for file in ground.files):
        tap, mark = tracing_tap(ground.files)
        patience_s = _TRACING_SHARE * allowance.left_s
        limits = replace(ground.rig.limits, wall_s=min(ground.rig.limits.wall_s, patience_s))
        short = replace(ground, rig=replace(ground.rig, limits=limits))
        run = short.run(ground.gold, more=RunOptions(taps=(tap,)))
        if not not_passed(run, ground.judged):
            return run, read_trace(run, mark, ground.files)
    return ground.run(ground.gold), None


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


def _observed(first: RunResult, judged: Sequence[_Judged]) -> dict[str, Any]:
    """Return JSON data: how long gold took, and for each wrong fix what rejected it."""
    told = [
        {"kind": attempt.kind.value, "path": path_text(attempt.path), "line": attempt.line, **seen}
        for attempt, _, seen in judged
    ]
    return {"gold_s": round(first.duration_s, 3), "wrong_fixes": told}
