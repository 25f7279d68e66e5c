"""The runs of a search for unstable tests: what each is made of, what it shows, and what it costs.

Costs are reckoned in bare runs, by the share of the tests that a run has; the clock only ends a search that
takes far longer than reckoned.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from swequarry.errors import SandboxError
from swequarry.records import Perturbation, State, TestId, TestOutcome, TestStability, UnstableReason
from swequarry.verify.passes import RunProblem
from swequarry.verify.perturbations import BURNERS
from swequarry.verify.runner import RunResult
from swequarry.verify.stability import Observation, classify_stability, steady_kind
from swequarry.verify.waits import read_waits

P = Perturbation
START_SHARE = 0.25
"""What a run of few tests is reckoned to cost at least, beside one of all."""
FREE_S = 600.0
"""The clock ends no search before it took so long: a busy machine changes no record of a short suite."""
_SPOILT = frozenset(
    {
        RunProblem.WALL_LIMIT,
        RunProblem.OUTPUT_LIMIT,
        RunProblem.DISK_LIMIT,
        RunProblem.UNSOUND_REPORT,
    }
)


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
    """How much is spent: `factor` bare runs of the first state, None without bound.

    `repeats` are runs without perturbation where none is known, `confirmations` how often a flip is done
    again. `deep` runs every perturbation by itself, and each test alone.
    """

    factor: float | None = 8.0
    repeats: int = 1
    confirmations: int = 2
    deep: bool = False


DEFAULT = Budget()
DEEP = Budget(factor=None, repeats=4, confirmations=3, deep=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known before a search: runs that were seen, what a bare one takes, and which tests matter.

    Only tests of `judged` are looked into, all where it is None. Once all of `turning` are unstable nothing
    more need be found. Tests of `left_out` aren't run.
    """

    seen: tuple[Observation, ...] = ()
    bare_s: float = 0.0
    judged: frozenset[TestId] | None = None
    turning: frozenset[TestId] = frozenset()
    left_out: frozenset[TestId] = frozenset()


NOTHING = Known()


class OverBudgetError(Exception):
    """The next run would cost more than is left."""


@dataclass(slots=True)
class Runs:
    """What was seen so far, and what it cost: `units` are bare runs as reckoned, `spent_s` is measured.

    `spoilt` names perturbations under which nothing could be seen: a limit ended the run, or it never began.
    """

    start: Callable[[Setting], RunResult]
    budget: Budget
    known: Known = NOTHING
    seen: list[Observation] = field(default_factory=list)
    made: list[tuple[Setting, Observation]] = field(default_factory=list)
    collected: dict[State, dict[TestId, str]] = field(default_factory=dict)
    sets: dict[frozenset[TestId], int] = field(default_factory=dict)
    spoilt: set[str] = field(default_factory=set)
    bare_s: float = 0.0
    spent_s: float = 0.0
    units: float = 0.0
    runs: int = 0
    complete: bool = True

    # --- which tests and what they did --------------------------------------------------------------------

    def suspects(self, tests: Mapping[TestId, object] | set[TestId]) -> set[TestId]:
        """Return those of some tests that are looked into."""
        return set(tests) if self.known.judged is None else set(self.known.judged.intersection(tests))

    def unnamed(self, state: State, tests: set[TestId]) -> set[TestId]:
        """Return those of some tests whose reason isn't known, and may be: bare runs of them agree."""
        found = {
            verdict.id: verdict
            for verdict in classify_stability(self.seen, tests)
            if verdict.state is state and verdict.reason is UnstableReason.UNKNOWN
        }
        bare = {test: dict(verdict.outcomes).get("none", ()) for test, verdict in found.items()}
        return {test for test, outcomes in bare.items() if len(set(map(steady_kind, outcomes))) == 1}

    def narrowed(self, whole: Setting, tests: set[TestId]) -> Setting:
        """Return the setting of some tests alone, with no more files than it takes."""
        known = self.collected[whole.state]
        own = {known.get(test, "") for test in tests}
        targets = whole.targets if "" in own else tuple(path for path in whole.targets if path in own)
        rest = {test for test, path in known.items() if test not in tests and (not path or path in targets)}
        return replace(whole, targets=targets, leave_out=whole.leave_out | rest)

    def flips(self, observation: Observation) -> set[TestId]:
        """Return the tests that matter and did something else than in the first bare run of the state."""
        bare = (o for o in self.seen if o.state is observation.state and not o.perturbations)
        first = next(bare, observation)
        return self.suspects(
            {
                test
                for test, outcome in observation.outcomes.items()
                if test in first.outcomes and steady_kind(outcome) is not steady_kind(first.outcomes[test])
            }
        )

    def verdicts(self) -> tuple[TestStability, ...]:
        """Return what is known of every test by now."""
        return classify_stability(self.seen)

    # --- one run --------------------------------------------------------------------------------------------

    def run(self, setting: Setting, only: set[TestId] | None = None) -> Observation:
        """Make one run, within the budget; what it shows of some tests or of all.

        Raises:
            SandboxError: the machinery broke.
        """
        self.afford(setting)
        result = self.attempt(setting)
        observation = Observation(state=setting.state, perturbations=setting.perturbations, outcomes={})
        if result is None:
            return observation
        if not self.bare_s:
            self.bare_s = result.duration_s
        observation = self.observed(setting, result, only)
        self.seen.append(observation)
        self.made.append((setting, observation))
        return observation

    def afford(self, setting: Setting) -> None:
        """Note what a run is reckoned to cost: the share of the tests that it has, and its load."""
        tests, asked = len(self.collected.get(setting.state, {})), len(self.asked(setting))
        units = max(asked / tests, START_SHARE) if tests else 1.0
        units *= BURNERS + 1 if P.LOAD in setting.perturbations else 1
        factor = self.budget.factor
        if factor is not None:
            late = self.spent_s > FREE_S and self.spent_s + units * self.bare_s > factor * self.bare_s
            if late or self.units + units > factor:
                raise OverBudgetError
        self.units += units

    def attempt(self, setting: Setting) -> RunResult | None:
        """Return a run, None where nothing can be seen under these perturbations.

        Raises:
            SandboxError: the machinery broke: a bare run doesn't come to its end either.
        """
        label = Observation(state=setting.state, perturbations=setting.perturbations, outcomes={}).label
        self.runs += 1
        try:
            result = self.start(setting)
        except SandboxError:
            if not setting.perturbations:
                raise
            self.start(replace(setting, perturbations=(), turn=0))
            self.spoilt.add(label)
            return None
        self.spent_s += result.duration_s
        if not _SPOILT.isdisjoint(result.problems):
            self.spoilt.add(label)
            return None
        return result

    def asked(self, setting: Setting) -> list[TestId]:
        """Return the known tests that a run should have."""
        return [
            test
            for test, path in self.collected.get(setting.state, {}).items()
            if test not in setting.leave_out and (not path or path in setting.targets)
        ]

    def observed(self, setting: Setting, result: RunResult, only: set[TestId] | None) -> Observation:
        """Return what a run shows of every test that should have been in it."""
        outcomes = {test.id: test.outcome for test in result.report.results}
        known = self.collected.setdefault(setting.state, {})
        if not setting.perturbations and not setting.leave_out - self.known.left_out:
            known.update({test: known.get(test) or file_of(test, setting.targets) for test in outcomes})
        shown = {test: outcomes.get(test, TestOutcome.MISSING) for test in self.asked(setting)}
        return Observation(
            state=setting.state,
            perturbations=setting.perturbations,
            outcomes={
                test: outcome
                for test, outcome in shown.items()
                if outcome is not TestOutcome.NOT_RUN and (only is None or test in only)
            },
            turn=setting.turn,
            details={test.id: test.detail for test in result.report.results if test.detail},
            hints=result.suspects,
            crowded=read_waits(result) if P.LOAD not in setting.perturbations else frozenset(),
        )


def file_of(test: TestId, targets: Sequence[str]) -> str:
    """Return the target that a test's id names, empty where it names none."""
    path = test.partition("::")[0]
    if path in targets:
        return path
    place = test.partition(" (")[2].rpartition(".")[0]
    return next((t for t in targets if place and t.removesuffix(".py").replace("/", ".").endswith(place)), "")
