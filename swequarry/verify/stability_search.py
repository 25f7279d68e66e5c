"""Look for unstable tests with as few runs as it takes: groups of perturbations first, then what they hide.

A group that flips nothing clears all that is in it. One that flips something is taken apart, with the files
of these tests alone; what is found is confirmed by doing it again. A budget bounds it all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from swequarry.delta import TreeDelta
from swequarry.errors import SandboxError
from swequarry.outcome import Accepted, Boundary, Failed, Outcome
from swequarry.records import (
    BlobHash,
    Perturbation,
    Recipe,
    Stability,
    State,
    TestId,
    TestOutcome,
    TestStability,
    UnstableReason,
    canonical_json,
)
from swequarry.verify.perturbations import BURNERS, Clock, conditions
from swequarry.verify.rig import Rig
from swequarry.verify.runner import RunOptions, RunResult
from swequarry.verify.stability import Observation, classify_stability, steady_kind

P = Perturbation
_SEED = 70_000
_GROUPS = (
    (P.ORDER, P.SEED, P.LEAP_DAY),
    (P.SEED, P.YEAR_AHEAD, P.TIME_ZONE, P.LOCALE, P.USER, P.PATH),
    (P.LOAD, P.SEED),
)
_ALL_BUT_LOAD = (P.ORDER, P.SEED, P.YEAR_AHEAD, P.TIME_ZONE, P.LOCALE, P.USER, P.PATH)
_START_SHARE = 0.25
"""What a run of few files is taken to cost at least, beside one of all."""
_VARIANTS = {P.SEED: 6, P.ORDER: 4, P.TIME_ZONE: 2}
"""How many variants of a perturbation are tried where there is no bound."""
_WHOLE = frozenset({P.ORDER, P.ALONE, P.SPREAD})
"""What can't be told from some files alone: it is about how tests stand to each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One run to make: state, perturbations, files, tests to leave out, and which variant it is."""

    state: State
    perturbations: tuple[Perturbation, ...] = ()
    targets: tuple[str, ...] = ()
    leave_out: frozenset[TestId] = frozenset()
    turn: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much is spent: `factor` times a bare run of the first state, None without bound.

    `repeats` are runs without perturbation, `confirmations` how often a flip is done again. `deep` runs
    every perturbation by itself, and each test alone.
    """

    factor: float | None = 8.0
    repeats: int = 2
    confirmations: int = 1
    deep: bool = False


DEFAULT = Budget()
DEEP = Budget(factor=None, repeats=4, confirmations=3, deep=True)


def find_unstable(
    start: Callable[[Setting], RunResult], targets: Mapping[State, Sequence[str]], budget: Budget = DEFAULT
) -> "Search":
    """Run the tests of some states as the budget allows, the first state most; return all that was seen.

    Raises:
        SandboxError: the machinery broke.
    """
    search = Search(start=start, budget=budget)
    for number, (state, files) in enumerate(targets.items()):
        try:
            search.look_at(state, tuple(files), first=number == 0)
        except _OverBudgetError:
            search.complete = False
    return search


class _OverBudgetError(Exception):
    """The next run would cost more than is left."""


@dataclass(slots=True)
class Search:
    """What was seen so far, and what it cost."""

    start: Callable[[Setting], RunResult]
    budget: Budget
    seen: list[Observation] = field(default_factory=list)
    bare_s: float = 0.0
    spent_s: float = 0.0
    most_files: int = 0
    complete: bool = True
    collected: dict[State, dict[TestId, str]] = field(default_factory=dict)

    def look_at(self, state: State, targets: tuple[str, ...], *, first: bool) -> None:
        """Make the runs of one state; the first one gets more of them.

        Raises:
            SandboxError: the machinery broke.
        """
        whole = Setting(state=state, targets=targets)
        for _ in range(self.budget.repeats if first or self.budget.deep else 1):
            self.run(whole)
        if self.budget.deep:
            self.look_deep(whole)
        else:
            groups = _GROUPS if first else (_ALL_BUT_LOAD,)
            settings = [replace(whole, perturbations=group, turn=turn) for turn, group in enumerate(groups)]
            flipped = [self.flips(self.run(setting)) for setting in settings]  # to find comes before to name
            for setting, suspects in zip(settings, flipped, strict=True):
                if suspects:
                    self.take_apart(setting, suspects)
        self.confirm(whole)

    def look_deep(self, whole: Setting) -> None:
        """Run every perturbation by itself, in all its variants, and each test alone."""
        for single in dict.fromkeys([*(p for group in _GROUPS for p in group), P.ONE_CPU, P.CLOCK_CONTROL]):
            for turn in range(_VARIANTS.get(single, 1)):
                self.run(replace(whole, perturbations=(single,), turn=turn))
        self.alone(whole)
        self.spread(whole)

    def take_apart(self, group: Setting, suspects: set[TestId]) -> None:
        """Find out which perturbation of a group it is that flips some tests."""
        singles = list(group.perturbations)
        if P.LOAD in singles:
            singles.append(P.ONE_CPU)
        if P.LEAP_DAY in singles or P.YEAR_AHEAD in singles:
            singles.append(P.CLOCK_CONTROL)
        for single in singles:
            self.run(self.narrowed(group, single, suspects))

    def confirm(self, whole: Setting) -> None:
        """Do again what flips a test, and what doesn't: without any perturbation."""
        unstable = {t.id: t for t in self.verdicts() if t.state is whole.state and t.reason is not None}
        if not unstable:
            return
        flipped = self.flipped(whole.state, unstable)
        for _ in range(self.budget.confirmations):
            self.run(self.narrowed(whole, None, set(unstable)))
            for (single, turn), tests in flipped.items():
                self.run(replace(self.narrowed(whole, single, tests), turn=turn))

    def flipped(
        self, state: State, unstable: Mapping[TestId, TestStability]
    ) -> dict[tuple[Perturbation, int], set[TestId]]:
        """Return the variants of single perturbations that flip some tests, with these tests."""
        found: dict[tuple[Perturbation, int], set[TestId]] = {}
        for observation in self.seen:
            if observation.state is state and len(observation.perturbations) == 1:
                (single,) = observation.perturbations
                tests = {
                    t for t in self.flips(observation) if t in unstable and single in unstable[t].flipped
                }
                if tests and single is not P.ALONE:
                    found.setdefault((single, observation.turn), set()).update(tests)
        return found

    def alone(self, whole: Setting) -> None:
        """Run each test in a process of its own."""
        every = self.collected[whole.state]
        for test in sorted(every):
            setting = replace(whole, perturbations=(P.ALONE,), targets=self.files({test}, whole))
            self.run(replace(setting, leave_out=frozenset(every) - {test}))

    def spread(self, whole: Setting) -> None:
        """Run every second test, then the others."""
        every = list(self.collected[whole.state])
        for half in (every[::2], every[1::2]):
            self.run(replace(whole, perturbations=(P.SPREAD,), leave_out=frozenset(half)))

    def narrowed(self, whole: Setting, single: Perturbation | None, tests: set[TestId]) -> Setting:
        """Return the setting of one perturbation (None: no one) with no more files than it takes."""
        given = () if single is None else (single,)
        targets = whole.targets if single in _WHOLE else self.files(tests, whole)
        return replace(whole, perturbations=given, targets=targets)

    def files(self, tests: set[TestId], whole: Setting) -> tuple[str, ...]:
        """Return the files of some tests; all where an id doesn't tell its file."""
        own = {self.collected[whole.state].get(test, "") for test in tests}
        return whole.targets if "" in own else tuple(path for path in whole.targets if path in own)

    def run(self, setting: Setting) -> Observation:
        """Make one run, within the budget.

        Raises:
            SandboxError: the machinery broke.
        """
        factor = self.budget.factor
        if (
            factor is not None
            and self.spent_s + self.expected_s(setting) > factor * self.bare_s
            and self.seen
        ):
            raise _OverBudgetError
        result = self.start(setting)
        self.spent_s += result.duration_s
        self.bare_s = self.bare_s or result.duration_s
        self.most_files = max(self.most_files, len(setting.targets))
        observation = self.observed(setting, result)
        self.seen.append(observation)
        return observation

    def expected_s(self, setting: Setting) -> float:
        """Return about how long a run will take: by the share of files that it has, and its load."""
        files = len(setting.targets) / max(1, self.most_files)
        return (
            self.bare_s * max(files, _START_SHARE) * (BURNERS + 1 if P.LOAD in setting.perturbations else 1)
        )

    def observed(self, setting: Setting, result: RunResult) -> Observation:
        """Return what a run shows of every test that should have been in it."""
        outcomes = {test.id: test.outcome for test in result.report.results}
        known = self.collected.setdefault(setting.state, {})
        if not setting.perturbations and not setting.leave_out:
            known.update({test: known.get(test) or _file_of(test, setting.targets) for test in outcomes})
        asked = [
            test for test, path in known.items()
            if test not in setting.leave_out and (not path or path in setting.targets)
        ]  # fmt: skip
        return Observation(
            state=setting.state,
            perturbations=setting.perturbations,
            outcomes={test: outcomes.get(test, TestOutcome.MISSING) for test in asked},
            turn=setting.turn,
            details={test.id: test.detail for test in result.report.results if test.detail},
            hints=result.suspects,
        )

    def flips(self, observation: Observation) -> set[TestId]:
        """Return the tests that did something else than in the first run of the state."""
        first = next(o for o in self.seen if o.state is observation.state)
        return {
            test for test, outcome in observation.outcomes.items()
            if steady_kind(outcome) is not steady_kind(first.outcomes.get(test, TestOutcome.MISSING))
        }  # fmt: skip

    def verdicts(self) -> tuple[TestStability, ...]:
        """Return what is known of every test by now."""
        return classify_stability(self.seen)


def _file_of(test: TestId, targets: Sequence[str]) -> str:
    """Return the target that a test's id names, empty where it names none."""
    path = test.partition("::")[0]
    if path in targets:
        return path
    place = test.partition(" (")[2].rpartition(".")[0]
    return next((t for t in targets if place and t.removesuffix(".py").replace("/", ".").endswith(place)), "")


def starter(
    rig: Rig, recipe: Recipe, deltas: Mapping[State, TreeDelta], clock: Clock
) -> Callable[[Setting], RunResult]:
    """Return what makes the runs of a search, each in a fresh copy of the rig's world."""

    def start(setting: Setting) -> RunResult:
        how = conditions(setting.perturbations, clock, _SEED, setting.turn)
        more = RunOptions(taps=how.taps, leave_out=setting.leave_out)
        return rig.run(deltas[setting.state], setting.targets, how.recipe(recipe), how.seed, more)

    return start


def measure_stability(
    rig: Rig,
    recipe: Recipe,
    deltas: Mapping[State, TreeDelta],
    targets: Sequence[str],
    clock: Clock,
    put_blob: Callable[[bytes], BlobHash],
    budget: Budget = DEFAULT,
) -> tuple[Outcome[Stability], dict[str, Any]]:
    """Return how stable the tests of some files are, and beside it what was observed.

    `deltas` are of the states to look at, the most important first. Machinery that breaks gives `Failed`.
    """
    start = starter(rig, recipe, deltas, clock)
    try:
        search = find_unstable(start, dict.fromkeys(deltas, targets), budget)
    except SandboxError as error:
        return Failed(boundary=Boundary.SANDBOX, message=str(error)), {}
    observed = {
        "bare_s": round(search.bare_s, 3),
        "spent_s": round(search.spent_s, 3),
        "clock": clock.library or "python",
    }
    return Accepted(value=stability_of(search, put_blob)), observed


def stability_of(search: Search, put_blob: Callable[[bytes], BlobHash]) -> Stability:
    """Return what a search found, as a record."""
    verdicts = search.verdicts()
    states = sorted({verdict.state for verdict in verdicts})
    return Stability(
        unstable=_named_alike([verdict for verdict in verdicts if verdict.reason is not None]),
        stable=tuple((s, sum(v.state is s and v.reason is None for v in verdicts)) for s in states),
        tried=tuple((s, tuple(sorted({o.label for o in search.seen if o.state is s}))) for s in states),
        runs=len(search.seen),
        table=put_blob(canonical_json([verdict.to_json() for verdict in verdicts])),
        complete=search.complete,
    )


def _named_alike(unstable: Sequence[TestStability]) -> tuple[TestStability, ...]:
    """Return the tests with one entry for all ids of a function that are other ones in each run.

    Such ids (addresses, times, random values) can't be named in a record.
    """
    changing = {
        (test.state, _function(test.id))
        for test in unstable
        if "[" in test.id and TestOutcome.MISSING in dict(test.outcomes).get("none", ())
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
