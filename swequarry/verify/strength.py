"""Measure the strength of a task's hidden tests: try wrong fixes, count those that they reject.

A wrong fix is gold with a change, run like gold in a fresh copy of the world, and only until one hidden test
doesn't pass. What no test reaches isn't run: nothing can reject it. Broken machinery says nothing of a fix.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from swequarry.delta import FileContent, TreeDelta
from swequarry.errors import SandboxError
from swequarry.git.paths import path_text
from swequarry.git.store import list_files
from swequarry.outcome import Accepted, Boundary, Failed, Outcome
from swequarry.records import (
    BlobHash,
    Fate,
    GoldCoverage,
    Strength,
    TestId,
    TestOutcome,
    WrongFix,
    WrongFixKind,
    canonical_json,
)
from swequarry.verify.build_again import compiled_paths
from swequarry.verify.candidate import Case
from swequarry.verify.coverage_of_gold import Trace, coverage, read_trace, touched, tracing_tap
from swequarry.verify.mutation_diff import ChangedFile
from swequarry.verify.mutation_fixes import Attempt, FixLimits, changed_files, difference, wrong_fixes
from swequarry.verify.passes import RunProblem
from swequarry.verify.payload import Tap
from swequarry.verify.rig import Rig
from swequarry.verify.runner import RunOptions, RunResult

_SEED = 60_000
_PATIENCE_S, _PATIENCE_FACTOR = 30.0, 5.0
"""A wrong fix may take so much longer than gold before it counts as one that doesn't end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """What all runs of one measurement share."""

    rig: Rig
    case: Case
    gold: TreeDelta
    base: frozenset[bytes]
    files: tuple[ChangedFile, ...]

    @property
    def judged(self) -> tuple[TestId, ...]:
        return (*self.case.fail_to_pass, *self.case.pass_to_pass)

    def run(self, delta: TreeDelta, more: RunOptions = RunOptions()) -> RunResult:  # noqa: B008 (frozen)
        return self.rig.run(delta, self.case.test_files, self.case.recipe, _SEED, more)

    def delta_of(self, attempt: Attempt) -> TreeDelta:
        """Return the delta from base to a wrong fix."""
        files, removed = dict(self.gold.files), set(self.gold.removed)
        modes = {file.old_path: file.old_mode for file in self.files if file.old_path}
        modes |= {file.path: file.mode for file in self.files}
        for path, data in attempt.files.items():
            if data is not None:
                files[path] = FileContent(data=data, mode=modes.get(path, 0o100644))
                removed.discard(path)
            else:
                files.pop(path, None)
                removed |= {path} & self.base
        return TreeDelta(files=files, removed=tuple(sorted(removed)))


def measure_strength(
    rig: Rig,
    case: Case,
    put_blob: Callable[[bytes], BlobHash],
    limits: FixLimits = FixLimits(),  # noqa: B008 (frozen)
    *,
    workers: int = 1,
) -> tuple[Outcome[Strength], dict[str, Any]]:
    """Return the strength, and beside it what was observed: what rejected each wrong fix, and durations.

    `case` is of a verified candidate, `workers` the number of runs at the same time. Machinery that breaks
    gives `Failed`, and so does gold if its tests don't pass here; nothing is raised for it.
    """
    ground = _Ground(
        rig=rig,
        case=case,
        gold=rig.bench.delta(case.base, case.after),
        base=frozenset(entry.path for entry in list_files(rig.bench.place, case.base)),
        files=changed_files(rig.bench, case.before, case.after),
    )
    try:
        first = ground.run(ground.gold)
    except SandboxError as error:
        return Failed(boundary=Boundary.SANDBOX, message=str(error)), {}
    failing = _not_passed(first, ground.judged)
    if failing:
        message = f"gold doesn't pass here: {failing[0][0]} {failing[0][1].value}; verify the task again"
        return Failed(boundary=Boundary.SANDBOX, message=message), {}
    trace = _traced(ground)
    attempts, more = wrong_fixes(ground.files, f"{case.base} {case.after}", limits)
    builds = compiled_paths((*ground.gold.files, *ground.gold.removed))  # which take as long as they take
    bounded = ground if builds else replace(ground, rig=_hurried(rig, first.duration_s))
    judged = _Judging(ground=bounded, trace=trace)
    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        fates = list(pool.map(judged.fate, attempts))
    strength = Strength(
        wrong_fixes=tuple(
            _record(attempt, fate, put_blob(difference(attempt, ground.files)))
            for attempt, (fate, _) in zip(attempts, fates, strict=True)
        ),
        coverage=_coverage(ground.files, trace),
        more_mutants=more,
    )
    return Accepted(value=strength), _observed(first, attempts, fates)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judging:
    """Says what becomes of one wrong fix, with what is observed beside it."""

    ground: _Ground
    trace: Trace | None

    def fate(self, attempt: Attempt) -> tuple[Fate, Mapping[str, Any]]:
        if attempt.equivalent:
            return Fate.EQUIVALENT, {}
        if attempt.kind is WrongFixKind.NO_OP:  # every FAIL_TO_PASS test failed without the fix: see classify
            return Fate.KILLED, {"by": self.ground.case.fail_to_pass[0]}
        if attempt.kind is WrongFixKind.MUTANT and not self._reached(attempt):
            return Fate.UNREACHED, {}
        fate, seen = self._measured(attempt)
        return self._measured(attempt) if fate is Fate.UNMEASURED else (fate, seen)

    def _reached(self, attempt: Attempt) -> bool:
        """Whether some test may run the changed line; told only where all that ran was seen."""
        if self.trace is None or not self.trace.whole:
            return True
        file = next(file for file in self.ground.files if file.path == attempt.path)
        own = [unit for unit in touched(file) if attempt.line in unit.lines]
        return not own or any(self.trace.reached(file.path, unit) for unit in own)

    def _measured(self, attempt: Attempt) -> tuple[Fate, Mapping[str, Any]]:
        judged = self.ground.judged
        settings = canonical_json({"tests": judged}).decode("ascii")
        taps = (Tap(source="stopper.py", wrap="stopping", settings=settings),)
        try:
            run = self.ground.run(self.ground.delta_of(attempt), RunOptions(taps=taps, max_passes=1))
        except SandboxError as error:
            return Fate.UNMEASURED, {"message": str(error)}
        return judge(run, judged)


def judge(run: RunResult, judged: Sequence[TestId]) -> tuple[Fate, Mapping[str, Any]]:
    """Return what a run that may have stopped early says of a wrong fix."""
    bad = _not_passed(run, judged)
    seen: dict[str, Any] = {"duration_s": round(run.duration_s, 3)}
    if RunProblem.UNSOUND_REPORT in run.problems or (not run.passes and run.problems):
        return Fate.UNMEASURED, {**seen, "message": "; ".join(run.evidence)}
    if not bad:
        return Fate.SURVIVED, seen
    said = [(test, outcome) for test, outcome in bad if outcome is not TestOutcome.NOT_RUN]
    limited = RunProblem.WALL_LIMIT in run.problems
    if limited or any(outcome is TestOutcome.TIMEOUT for _, outcome in said):
        return Fate.TIMED_OUT, {**seen, "by": (said or bad)[0][0]}
    if not said:
        return Fate.UNMEASURED, {**seen, "message": "the run ended before a test said anything"}
    return Fate.KILLED, {**seen, "by": said[0][0], "outcome": said[0][1].value}


def _hurried(rig: Rig, gold_s: float) -> Rig:
    patience_s = _PATIENCE_S + _PATIENCE_FACTOR * gold_s
    wall_s = min(rig.limits.wall_s, patience_s)
    return replace(
        rig,
        limits=replace(rig.limits, wall_s=wall_s),
        test_timeout_s=min(rig.test_timeout_s, patience_s),
    )


def _traced(ground: _Ground) -> Trace | None:
    """Return what a run of gold reached; None where that can't be known."""
    if not any(file.is_python for file in ground.files):
        return None
    tap, mark = tracing_tap(ground.files)
    try:
        run = ground.run(ground.gold, RunOptions(taps=(tap,)))
    except SandboxError:
        return None
    return read_trace(run, mark, ground.files)


def _coverage(files: Sequence[ChangedFile], trace: Trace | None) -> GoldCoverage | None:
    return coverage(files, trace) if trace is not None else None


def _not_passed(run: RunResult, tests: Sequence[TestId]) -> list[tuple[TestId, TestOutcome]]:
    outcomes = {result.id: result.outcome for result in run.report.results}
    found = [(test, outcomes.get(test, TestOutcome.MISSING)) for test in tests]
    return [(test, outcome) for test, outcome in found if outcome is not TestOutcome.PASSED]


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


def _observed(
    first: RunResult, attempts: Sequence[Attempt], fates: Sequence[tuple[Fate, Mapping[str, Any]]]
) -> dict[str, Any]:
    """Return JSON data: how long gold took, and for each wrong fix what rejected it."""
    told = [
        {"kind": attempt.kind.value, "path": path_text(attempt.path), "line": attempt.line, **seen}
        for attempt, (_, seen) in zip(attempts, fates, strict=True)
    ]
    return {"gold_s": round(first.duration_s, 3), "wrong_fixes": told}
