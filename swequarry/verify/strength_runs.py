"""What becomes of one wrong fix: which tests are run on it, how long they may take, what their runs say.

Runs end at the first test that doesn't pass. Where all tests take long, those are run first that reach the
change (FAIL_TO_PASS where that isn't known), after gold was seen to pass with these alone; where others may
depend on it too (it ran while modules were imported, or in a fixture), a fix that the first ones let pass is
run once more with all. What no test reaches isn't run: nothing can reject it.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from swequarry.delta import FileContent, TreeDelta
from swequarry.errors import SandboxError
from swequarry.records import Fate, TestId, TestOutcome, WrongFixKind, canonical_json
from swequarry.verify.candidate import Case
from swequarry.verify.coverage_of_gold import Trace, units
from swequarry.verify.mutation_diff import ChangedFile
from swequarry.verify.mutation_fixes import Attempt
from swequarry.verify.passes import RunProblem
from swequarry.verify.payload import Tap
from swequarry.verify.rig import Rig
from swequarry.verify.runner import RunOptions, RunResult
from swequarry.verify.stability_runs import file_of

_SEED = 60_000
_PATIENCE_S, _PATIENCE_FACTOR = 10.0, 5.0
"""A wrong fix may take so much longer than gold before it counts as one that doesn't end; twice that at the
second look."""
_MOST = 0.6
"""From this share of the tests on all of them are run at once."""
QUICK_S = 3.0
"""Where all tests take no longer than that, to choose among them saves nothing: processes must start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What all runs of one measurement share. Tests of `ignored` are in no list and aren't run."""

    rig: Rig
    case: Case
    gold: TreeDelta
    base: frozenset[bytes]
    files: tuple[ChangedFile, ...]
    ignored: frozenset[TestId] = frozenset()

    @property
    def judged(self) -> tuple[TestId, ...]:
        """The tests that must pass."""
        return (*self.case.fail_to_pass, *self.case.pass_to_pass)

    def run(
        self,
        delta: TreeDelta,
        targets: Sequence[str] = (),
        more: RunOptions = RunOptions(),  # noqa: B008
    ) -> RunResult:
        """Run some test files, all of the case where none are named.

        Raises:
            SandboxError: the machinery broke.
        """
        more = replace(more, leave_out=more.leave_out | self.ignored)
        return self.rig.run(delta, targets or self.case.test_files, self.case.recipe, _SEED, more)

    def within(self, wall_s: float) -> "Ground":
        """Return the ground with no more time for a run than that."""
        limits = replace(self.rig.limits, wall_s=min(self.rig.limits.wall_s, wall_s))
        return replace(self, rig=replace(self.rig, limits=limits))

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The tests to run on a wrong fix; not `enough` where others may depend on it too."""

    tests: tuple[TestId, ...]
    enough: bool


@dataclass(slots=True)
class Allowance:
    """A time that is spent from; None has no end."""

    budget_s: float | None
    clock: Callable[[], float] = time.monotonic
    began: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin to count."""
        self.began = self.clock()

    @property
    def left_s(self) -> float:
        """What is left, in seconds."""
        return float("inf") if self.budget_s is None else self.budget_s - (self.clock() - self.began)


class NoTimeLeftError(Exception):
    """The allowance ended before a wrong fix was seen to be rejected or to pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """Says what becomes of one wrong fix, with what is observed beside it.

    `gold_s` is what a run of gold takes, `alone` what it takes with some tests alone. `builds` tells whether
    extension modules are built for each run, which takes as long as it takes.
    """

    ground: Ground
    trace: Trace | None
    gold_s: float
    allowance: Allowance
    builds: bool = False
    alone: dict[tuple[TestId, ...], float | None] = field(default_factory=dict)

    def fate(self, attempt: Attempt) -> tuple[Fate, Mapping[str, Any]]:
        """Return what becomes of a wrong fix.

        Raises:
            NoTimeLeftError: nothing is known of it.
        """
        if attempt.equivalent:
            return Fate.EQUIVALENT, {}
        if attempt.kind is WrongFixKind.NO_OP:  # every FAIL_TO_PASS test failed without the fix: see classify
            return Fate.KILLED, {"by": self.ground.case.fail_to_pass[0]}
        chosen = self.choose(attempt)
        if not chosen.tests:
            return Fate.UNREACHED, {}
        every = self.ground.judged
        tests = chosen.tests if self.alone_s(chosen.tests) is not None else every
        fate, seen = self.looked(attempt, tests)
        if fate is Fate.SURVIVED and len(tests) < len(every) and not chosen.enough:
            fate, more = self.looked(attempt, every)
            seen = {**more, "first_s": seen.get("duration_s")}
        return fate, seen

    def alone_s(self, tests: tuple[TestId, ...]) -> float | None:
        """Return what gold takes with some tests alone; None where it doesn't pass without the others.

        Raises:
            NoTimeLeftError: there is no time to see it.
        """
        if len(tests) == len(self.ground.judged):
            return self.gold_s
        if tests not in self.alone:
            fate, seen = self.run(self.ground.gold, tests, 2)
            self.alone[tests] = float(seen["duration_s"]) if fate is Fate.SURVIVED else None
        return self.alone[tests]

    def choose(self, attempt: Attempt) -> Chosen:
        """Return the tests to run, none where no test reaches the change; told by what all tests ran."""
        judged, trace = self.ground.judged, self.trace
        every = Chosen(tests=judged, enough=True)
        file = next((file for file in self.ground.files if file.path == attempt.path), None)
        turning = Chosen(tests=self.ground.case.fail_to_pass, enough=False)
        if trace is None:
            return self.few(turning, every)
        if file is None or not file.is_python or not attempt.lines:
            return self.few(turning, every)
        own = [unit for unit in units(file.new or b"") if attempt.lines.intersection(unit.lines)]
        lines = {line for unit in own for line in unit.lines}
        tests, enough = trace.tests_of(file.path, lines)
        enough = enough and not attempt.elsewhere
        if lines and not tests and enough:
            return Chosen(tests=(), enough=True)
        chosen = tuple(test for test in judged if test in tests)
        return self.few(Chosen(tests=chosen, enough=enough), every)

    def few(self, some: Chosen, every: Chosen) -> Chosen:
        """Return some tests where that saves time, else all."""
        worth = self.gold_s > QUICK_S and 0 < len(some.tests) <= _MOST * len(every.tests)
        return some if worth else every

    def looked(self, attempt: Attempt, tests: Sequence[TestId]) -> tuple[Fate, Mapping[str, Any]]:
        """Run some tests; what broke or didn't end in time gets a second look, with twice the patience."""
        delta = self.ground.delta_of(attempt)
        fate, seen = self.run(delta, tests, 1)
        return self.run(delta, tests, 2) if fate in _DOUBTFUL else (fate, seen)

    def run(self, delta: TreeDelta, tests: Sequence[TestId], look: int) -> tuple[Fate, Mapping[str, Any]]:
        """Run some tests on some files once.

        Raises:
            NoTimeLeftError: the allowance ended before the run did.
        """
        settings = canonical_json({"tests": tests}).decode("ascii")
        taps = (Tap(source="stopper.py", wrap="stopping", settings=settings),)
        targets = self.targets(tests)
        rest = frozenset(self.ground.judged) - set(tests) if targets else frozenset()
        hurried, left_s = self.hurried(tests, look), self.allowance.left_s
        if left_s < _LEAST_S:
            raise NoTimeLeftError
        short = left_s < hurried.rig.limits.wall_s
        try:
            options = RunOptions(taps=taps, max_passes=1, leave_out=rest)
            run = hurried.within(left_s).run(delta, targets, options)
        except SandboxError as error:
            return Fate.UNMEASURED, {"message": str(error)}
        if short and RunProblem.WALL_LIMIT in run.problems:
            raise NoTimeLeftError
        fate, seen = judge(run, tests)
        return fate, {**seen, "tests": len(tests)}

    def targets(self, tests: Sequence[TestId]) -> tuple[str, ...]:
        """Return the files of some tests; none where these are all, or an id doesn't tell its file."""
        files = self.ground.case.test_files
        own = {file_of(test, files) for test in tests}
        every = len(tests) == len(self.ground.judged) or "" in own
        return () if every else tuple(path for path in files if path in own)

    def hurried(self, tests: Sequence[TestId], look: int) -> Ground:
        """Return the ground with limits that are held against what gold took."""
        if self.builds:
            return self.ground
        whole_s = self.alone.get(tuple(tests)) or self.gold_s
        known = self.trace.seconds if self.trace is not None else {}
        longest_s = min(whole_s, max((known.get(test, whole_s) for test in tests), default=whole_s))
        rig, patience_s = self.ground.rig, look * _PATIENCE_S
        wall_s = 2 * patience_s + look * _PATIENCE_FACTOR * whole_s
        own_s = patience_s + look * _PATIENCE_FACTOR * longest_s
        limits = replace(rig.limits, wall_s=min(rig.limits.wall_s, wall_s))
        return replace(
            self.ground,
            rig=replace(rig, limits=limits, test_timeout_s=min(rig.test_timeout_s, own_s)),
        )


_DOUBTFUL = frozenset({Fate.UNMEASURED, Fate.TIMED_OUT})
_LEAST_S = 1.0
"""With less time left no run is begun."""


def judge(run: RunResult, judged: Sequence[TestId]) -> tuple[Fate, Mapping[str, Any]]:
    """Return what a run that may have stopped early says of a wrong fix."""
    bad = not_passed(run, judged)
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


def not_passed(run: RunResult, tests: Sequence[TestId]) -> list[tuple[TestId, TestOutcome]]:
    """Return those of some tests that didn't pass, with what they did."""
    outcomes = {result.id: result.outcome for result in run.report.results}
    found = [(test, outcomes.get(test, TestOutcome.MISSING)) for test in tests]
    return [(test, outcome) for test, outcome in found if outcome is not TestOutcome.PASSED]
