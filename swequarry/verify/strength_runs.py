"""What becomes of one wrong fix: which tests are run on it, how long they may take, what their runs say.

Only tests that reach the change are run, and only until one doesn't pass. Where others may depend on the
change without reaching it (it ran while modules were imported, or in a fixture), a fix that these let pass is
run once more with all tests. What no test reaches isn't run: nothing can reject it.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What all runs of one measurement share."""

    rig: Rig
    case: Case
    gold: TreeDelta
    base: frozenset[bytes]
    files: tuple[ChangedFile, ...]

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
        return self.rig.run(delta, targets or self.case.test_files, self.case.recipe, _SEED, more)

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

    `collected` are the tests that gold's run had, `gold_s` is what it took, `builds` whether extension
    modules are built for each run, which takes as long as it takes.
    """

    ground: Ground
    trace: Trace | None
    collected: tuple[TestId, ...]
    gold_s: float
    allowance: Allowance
    builds: bool = False

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
        fate, seen = self.looked(attempt, chosen.tests)
        if fate is Fate.SURVIVED and not chosen.enough:
            fate, more = self.looked(attempt, self.ground.judged)
            seen = {**more, "first_s": seen.get("duration_s")}
        return fate, seen

    def choose(self, attempt: Attempt) -> Chosen:
        """Return the tests to run, none where no test reaches the change; told by what all tests ran."""
        judged, trace = self.ground.judged, self.trace
        every = Chosen(tests=judged, enough=True)
        file = next((file for file in self.ground.files if file.path == attempt.path), None)
        if trace is None or file is None or not file.is_python or not attempt.lines:
            return every
        own = [unit for unit in units(file.new or b"") if attempt.lines.intersection(unit.lines)]
        lines = {line for unit in own for line in unit.lines}
        tests, enough = trace.tests_of(file.path, lines)
        enough = enough and not attempt.elsewhere
        if lines and not tests and enough:
            return Chosen(tests=(), enough=True)
        chosen = tuple(test for test in judged if test in tests)
        few = chosen and len(chosen) <= _MOST * len(judged)
        return Chosen(tests=chosen, enough=enough) if few else every

    def looked(self, attempt: Attempt, tests: Sequence[TestId]) -> tuple[Fate, Mapping[str, Any]]:
        """Run some tests; what broke or didn't end in time gets a second look, with twice the patience."""
        fate, seen = self.measured(attempt, tests, 1)
        return self.measured(attempt, tests, 2) if fate in _DOUBTFUL else (fate, seen)

    def measured(
        self, attempt: Attempt, tests: Sequence[TestId], look: int
    ) -> tuple[Fate, Mapping[str, Any]]:
        """Run some tests once.

        Raises:
            NoTimeLeftError: the allowance ended before the run did.
        """
        settings = canonical_json({"tests": tests}).decode("ascii")
        taps = (Tap(source="stopper.py", wrap="stopping", settings=settings),)
        targets = self.targets(tests)
        rest = frozenset(self.collected) - set(tests) if targets else frozenset()
        hurried, left_s = self.hurried(tests, look), self.allowance.left_s
        if left_s < _LEAST_S:
            raise NoTimeLeftError
        short = left_s < hurried.rig.limits.wall_s
        if short:
            limits = replace(hurried.rig.limits, wall_s=left_s)
            hurried = replace(hurried, rig=replace(hurried.rig, limits=limits))
        try:
            options = RunOptions(taps=taps, max_passes=1, leave_out=rest)
            run = hurried.run(self.ground.delta_of(attempt), targets, options)
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
        known = self.trace.seconds if self.trace is not None else {}
        longest = max((known.get(test, self.gold_s) for test in tests), default=self.gold_s)
        rig, patience_s = self.ground.rig, look * _PATIENCE_S
        wall_s = 2 * patience_s + look * _PATIENCE_FACTOR * self.gold_s
        own_s = patience_s + look * _PATIENCE_FACTOR * min(longest, self.gold_s)
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
