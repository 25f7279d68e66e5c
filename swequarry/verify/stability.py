"""Say of each test whether it's stable, and what it depends on where it isn't: pure, from what runs showed.

A test is unstable if any run of a state showed something else than most runs without perturbation. It has a
name for that if one kind of perturbation always flips it and runs without any agree; and if its
errors, where they are known, themselves tell of the network or of a limit.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from swequarry.records import (
    Perturbation,
    State,
    TestId,
    TestOutcome,
    TestStability,
    UnstableReason,
)
from swequarry.verify.passes import FAILING
from swequarry.verify.signs import tells_of_network, tells_of_resources

_REASONS: Mapping[Perturbation, UnstableReason] = {
    Perturbation.SEED: UnstableReason.SEED,
    Perturbation.ORDER: UnstableReason.ORDER,
    Perturbation.ALONE: UnstableReason.ORDER,
    Perturbation.SPREAD: UnstableReason.ORDER,
    Perturbation.TIME_ZONE: UnstableReason.TIME,
    Perturbation.YEAR_AHEAD: UnstableReason.TIME,
    Perturbation.LEAP_DAY: UnstableReason.TIME,
    Perturbation.LOCALE: UnstableReason.LOCALE,
    Perturbation.ONE_CPU: UnstableReason.RESOURCE,
    Perturbation.LOAD: UnstableReason.TIMING,
    Perturbation.USER: UnstableReason.USER,
    Perturbation.PATH: UnstableReason.PATH,
}
CLOCKS = frozenset({Perturbation.YEAR_AHEAD, Perturbation.LEAP_DAY})
VARIED = frozenset({Perturbation.SEED, Perturbation.ORDER, Perturbation.TIME_ZONE})
"""What has variants, told apart by the turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One run of a state: what was changed around it, and what each test that should have run did.

    `turn` tells variants of a perturbation apart (another seed, another order). `hints` are
    the tests whose failing may come from a limit, as the run itself showed. `crowded` are those that waited
    for a processor which others had: they were under load, though nobody had asked for it.
    """

    state: State
    perturbations: tuple[Perturbation, ...]
    outcomes: Mapping[TestId, TestOutcome]
    turn: int = 0
    details: Mapping[TestId, str] = field(default_factory=dict)
    hints: frozenset[TestId] = frozenset()
    crowded: frozenset[TestId] = frozenset()

    @property
    def label(self) -> str:
        """The perturbations as one word."""
        return "+".join(sorted(p.value for p in self.perturbations)) or "none"


def classify_stability(
    observations: Sequence[Observation], only: Collection[TestId] | None = None
) -> tuple[TestStability, ...]:
    """Return what the runs say of every test, or of some, by state and id; the order of runs doesn't matter.

    Tests that no run without perturbation had aren't in it.
    """
    found = []
    for state in State:
        own = [observation for observation in observations if observation.state is state]
        tests = {t for o in own if not o.perturbations for t in o.outcomes}
        wanted = tests if only is None else tests.intersection(only)
        found += [_TestRuns(test, own).verdict(state) for test in sorted(wanted)]
    return tuple(found)


def steady_kind(outcome: TestOutcome) -> TestOutcome:
    """Take all ways of failing for one, and tests that are away for failing ones."""
    return TestOutcome.FAILED if outcome in FAILING or outcome is TestOutcome.MISSING else outcome


class _TestRuns:
    """The runs of one test in one state.

    It's `slowed` if bare runs of it differ, and those in which it didn't wait for a processor agree, and
    `strained` if a load alone flips it each time: then what it does while it waits says nothing of other
    perturbations. A single processor is no other one for a strained test: its own threads wait there.
    """

    def __init__(self, test: TestId, observations: Sequence[Observation]) -> None:
        self.test = test
        self.seen = [o for o in observations if test in o.outcomes]
        bare = [o for o in self.seen if not o.perturbations]
        calm = {self.kind(o) for o in bare if self.calm(o)}
        every = {self.kind(o) for o in bare}
        self.slowed = len(calm) == 1 and len(every) > 1
        plain = [self.kind(o) for o in bare if self.calm(o) or not self.slowed]
        self.normal = Counter(plain).most_common(1)[0][0]
        self.wavers = len(set(plain)) > 1
        loaded = {self.kind(o) for o in self.seen if o.perturbations == (Perturbation.LOAD,)}
        self.strained = bool(loaded) and self.normal not in loaded

    def kind(self, observation: Observation) -> TestOutcome:
        return steady_kind(observation.outcomes[self.test])

    def calm(self, observation: Observation) -> bool:
        return self.test not in observation.crowded

    def verdict(self, state: State) -> TestStability:
        flipped = tuple(p for p in Perturbation if self.flips(p))
        artefact = Perturbation.CLOCK_CONTROL in flipped
        flipped = tuple(
            p for p in flipped if p is not Perturbation.CLOCK_CONTROL and not (artefact and p in CLOCKS)
        )
        by_label: dict[str, list[TestOutcome]] = {}
        for observation in self.seen:
            by_label.setdefault(observation.label, []).append(observation.outcomes[self.test])
        passes = sum(o.outcomes[self.test] is TestOutcome.PASSED for o in self.seen)
        return TestStability(
            id=self.test,
            state=state,
            runs=len(self.seen),
            passes=passes,
            reason=self.reason(flipped, artefact=artefact),
            flipped=flipped,
            outcomes=tuple((label, tuple(outcomes)) for label, outcomes in sorted(by_label.items())),
        )

    def flips(self, perturbation: Perturbation) -> bool:
        """Whether a variant of one perturbation alone always made a difference, and none did by chance.

        Where the same variant made none together with others, it was chance that made it.
        """
        together = {
            o.turn
            for o in self.seen
            if perturbation in VARIED and perturbation in o.perturbations and len(o.perturbations) > 1
            if self.tells(o, perturbation) and self.kind(o) is self.normal
        }
        variants = self.variants(perturbation)
        if any(len(kinds) > 1 for kinds in variants.values()):
            return False
        return any(self.normal not in kinds for turn, kinds in variants.items() if turn not in together)

    def tells(self, observation: Observation, perturbation: Perturbation) -> bool:
        """Whether a run says something of a perturbation, and not of a machine that was busy by itself."""
        waiting = self.slowed or (self.strained and perturbation is not Perturbation.ONE_CPU)
        return self.calm(observation) or not waiting

    def variants(self, perturbation: Perturbation) -> Mapping[int, set[TestOutcome]]:
        """Return what each variant of one perturbation alone did."""
        found: dict[int, set[TestOutcome]] = {}
        for observation in self.seen:
            if observation.perturbations == (perturbation,) and self.tells(observation, perturbation):
                found.setdefault(observation.turn, set()).add(self.kind(observation))
        return found

    def by_chance(self) -> bool:
        """Whether runs that were alike differ: bare ones, or those under one perturbation that is exact."""
        exact = (p for p in Perturbation if p not in (Perturbation.LOAD, Perturbation.ONE_CPU))
        return self.wavers or any(len(kinds) > 1 for p in exact for kinds in self.variants(p).values())

    def odd(self, *, artefact: bool) -> list[Observation]:
        """Return the runs that show the test to be unstable."""
        excused = CLOCKS | {Perturbation.CLOCK_CONTROL} if artefact else frozenset()
        judged = [o for o in self.seen if not excused.intersection(o.perturbations)]
        return [o for o in judged if self.kind(o) is not self.normal]

    def reason(self, flipped: Sequence[Perturbation], *, artefact: bool) -> UnstableReason | None:
        odd = self.odd(artefact=artefact)
        if not odd and not self.wavers:
            return None
        failing = [o for o in (odd or self.seen) if self.kind(o) is TestOutcome.FAILED]
        failing = failing or [o for o in self.seen if self.kind(o) is TestOutcome.FAILED]
        details = [o.details[self.test] for o in failing if o.details.get(self.test)]
        if details and all(tells_of_network(detail) for detail in details):
            return UnstableReason.NETWORK
        if any(self.test in o.hints for o in failing) or (details and all(map(tells_of_resources, details))):
            return UnstableReason.RESOURCE
        if self.slowed and set(flipped) <= {Perturbation.LOAD}:
            return UnstableReason.TIMING
        if self.by_chance():  # unless a load takes it away
            return UnstableReason.TIMING if flipped == (Perturbation.LOAD,) else UnstableReason.UNKNOWN
        if Perturbation.ONE_CPU in flipped:
            flipped = [p for p in flipped if p is not Perturbation.LOAD]
        reasons = {_REASONS[p] for p in flipped}
        return reasons.pop() if len(reasons) == 1 else UnstableReason.UNKNOWN
