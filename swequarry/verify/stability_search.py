"""Look for unstable tests with as few runs as it takes: groups of perturbations first, then what they hide.

A group that flips nothing clears all that is in it. Tests that one flips are run again by themselves, once
as they are and once under each perturbation of the group until they have a name; what is found is confirmed
by doing it again. What a run costs is reckoned in bare runs and not by the clock, so that a second search
makes the same runs; a clock ends what takes far longer than reckoned.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from swequarry.records import Perturbation, State, TestId, UnstableReason
from swequarry.verify.perturbations import BURNERS
from swequarry.verify.runner import RunResult
from swequarry.verify.stability import CLOCKS, VARIED, Observation
from swequarry.verify.stability_runs import (
    DEFAULT,
    NOTHING,
    START_SHARE,
    Budget,
    Known,
    OverBudgetError,
    Runs,
    Setting,
    file_of,
)

P = Perturbation
_FOUND_FIRST = (
    (P.LEAP_DAY, P.SEED, P.ORDER),
    (P.YEAR_AHEAD, P.SEED, P.LOCALE, P.TIME_ZONE, P.PATH, P.USER),
)
_IN_OTHER_STATES = (P.YEAR_AHEAD, P.SEED, P.LOCALE, P.TIME_ZONE, P.PATH, P.USER, P.ORDER)
_LOADED = (P.LOAD, P.SEED)
_NO_NAME = (None, UnstableReason.UNKNOWN)
_VARIANTS = {P.SEED: 6, P.ORDER: 4, P.TIME_ZONE: 2}
"""How many variants of a perturbation are tried where there is no bound."""
_COST = {P.LOAD: BURNERS + 1, P.ORDER: 1 / START_SHARE}
"""What a single perturbation costs beside others: the order is that of all tests."""


def find_unstable(
    start: Callable[[Setting], RunResult],
    targets: Mapping[State, Sequence[str]],
    budget: Budget = DEFAULT,
    known: Known = NOTHING,
) -> "Search":
    """Run the tests of some states as the budget allows, the first state most; return all that was seen.

    Raises:
        SandboxError: the machinery broke.
    """
    search = Search(start=start, budget=budget, known=known, seen=list(known.seen), bare_s=known.bare_s)
    wholes = [
        Setting(state=state, targets=tuple(files), leave_out=known.left_out)
        for state, files in targets.items()
    ]
    try:
        search.look(wholes)
    except OverBudgetError:
        search.complete = False
    return search


@dataclass(slots=True)
class Search(Runs):
    """The order in which runs are made."""

    def look(self, wholes: Sequence[Setting]) -> None:
        """Make the runs of all states: what finds most comes before what names it.

        Raises:
            SandboxError: the machinery broke.
        """
        for whole in wholes:
            self.look_bare(whole)
        if self.budget.deep:
            for whole in wholes:
                self.look_deep(whole)
        else:
            self.look_by_groups(wholes)
        for whole in wholes:
            self.confirm(whole)

    def look_bare(self, whole: Setting) -> None:
        """See a state without perturbation, unless that was seen before; a deep search looks again."""
        for observation in self.known.seen:
            if observation.state is whole.state and not observation.perturbations:
                tests = {test: file_of(test, whole.targets) for test in observation.outcomes}
                self.collected.setdefault(whole.state, {}).update(tests)
        seen = bool(self.collected.get(whole.state))
        for _ in range(0 if seen and not self.budget.deep else self.budget.repeats):
            self.run(whole)

    def look_by_groups(self, wholes: Sequence[Setting]) -> None:
        """Run groups of perturbations, then find out which of a group it is that flips something."""
        first, *others = wholes
        groups: list[tuple[Setting, tuple[Perturbation, ...]]] = [(first, group) for group in _FOUND_FIRST]
        groups += [(other, _IN_OTHER_STATES) for other in others]
        settings = [replace(whole, perturbations=group, turn=n) for n, (whole, group) in enumerate(groups)]
        found = {setting: self.flips(self.run(setting)) for setting in settings}
        lost = {test for setting, tests in found.items() if setting.state is first.state for test in tests}
        if self.known.turning and self.known.turning <= lost:
            self.complete = False  # no list is left that a run under load, the dearest one, could change
        else:
            loaded = replace(first, perturbations=_LOADED, turn=len(settings))
            found[loaded] = self.flips(self.run(loaded))
        named: set[TestId] = set()
        for whole in wholes:
            own = {s: tests - named for s, tests in found.items() if s.state is whole.state}
            self.name(whole, own)
            named |= {test.id for test in self.verdicts() if test.reason not in _NO_NAME}

    def look_deep(self, whole: Setting) -> None:
        """Run every perturbation by itself, in all its variants, and each test alone."""
        every = dict.fromkeys((*_LOADED, P.ONE_CPU, P.LEAP_DAY, *_IN_OTHER_STATES, P.CLOCK_CONTROL))
        for single in every:
            for turn in range(_VARIANTS.get(single, 1)):
                self.run(replace(whole, perturbations=(single,), turn=turn))
        tests = sorted(self.suspects(self.collected[whole.state]))
        for number, test in enumerate(tests):
            self.run(replace(self.narrowed(whole, {test}), perturbations=(P.ALONE,), turn=number))
        for number in (0, 1):
            half = frozenset(list(self.collected[whole.state])[number::2])
            self.run(
                replace(whole, perturbations=(P.SPREAD,), leave_out=whole.leave_out | half, turn=-1 - number)
            )

    def name(self, whole: Setting, groups: Mapping[Setting, set[TestId]]) -> None:
        """Try single perturbations on the tests that groups flip; first what may explain most of them."""
        suspects = self.unnamed(whole.state, set().union(*groups.values()))
        if not suspects:
            return
        narrow = self.narrowed(whole, suspects)
        steady = self.control(narrow)
        dated = [tests for group, tests in groups.items() if not CLOCKS.isdisjoint(group.perturbations)]
        if set().union(*dated) & suspects & steady:  # no test is blamed for what faking the time breaks
            self.run(replace(narrow, perturbations=(P.CLOCK_CONTROL,)), steady)
        tried: set[tuple[Perturbation, int]] = set()
        while options := self.options(groups, self.unnamed(whole.state, suspects), steady, tried):
            single, turn = max(options, key=lambda option: options[option] / _COST.get(option[0], 1))
            tried.add((single, turn))
            place = whole if single is P.ORDER else narrow
            only = None if single is P.ORDER else steady
            self.run(replace(place, perturbations=(single,), turn=turn), only)

    @staticmethod
    def options(
        groups: Mapping[Setting, set[TestId]],
        unnamed: set[TestId],
        steady: set[TestId],
        tried: set[tuple[Perturbation, int]],
    ) -> dict[tuple[Perturbation, int], int]:
        """Count for each variant of a perturbation the tests that it may flip, as far as the groups tell."""
        counts: dict[tuple[Perturbation, int], int] = {}
        for test in sorted(unnamed):
            flipping = {each for group, tests in groups.items() if test in tests for each in _variants(group)}
            clear = {
                each for group, tests in groups.items() if test not in tests for each in _variants(group)
            }
            for single, turn in sorted(flipping - clear - tried, key=lambda each: list(P).index(each[0])):
                if single is P.ORDER or test in steady:
                    counts[single, turn] = counts.get((single, turn), 0) + 1
        return counts

    def control(self, narrow: Setting) -> set[TestId]:
        """Run some tests without the others; return those that do what they do among them.

        For the rest it was the others' absence that made the difference.
        """
        bare = replace(narrow, perturbations=(), turn=0)
        observation = self.run(bare)
        flipped = self.flips(observation)
        self.split(bare, observation, flipped)
        return set(observation.outcomes) - flipped

    def split(self, setting: Setting, observation: Observation, flipped: set[TestId]) -> None:
        """Take one run for two: a bare one for some tests, one without the tests beside them for others.

        The others are those that it flips, and those that the same set of tests flipped before; it's chance,
        and no matter of the others' absence, where the same set left a test as it is before.
        """
        seen = [part for made, part in self.made[:-1] if _same_tests(made, setting)]
        alone = flipped - _tests_of(seen, ()) | _tests_of(seen, (P.SPREAD,))
        if not alone.intersection(observation.outcomes) or setting.leave_out == self.known.left_out:
            return
        same = {test: one for test, one in observation.outcomes.items() if test not in alone}
        other = {test: one for test, one in observation.outcomes.items() if test in alone}
        turn = self.sets.setdefault(setting.leave_out, len(self.sets))
        parts = [
            replace(observation, outcomes=same),
            replace(observation, outcomes=other, perturbations=(P.SPREAD,), turn=turn),
        ]
        self.seen[-1:] = parts
        self.made[-1:] = [(setting, part) for part in parts]

    def confirm(self, whole: Setting) -> None:
        """Do again what gave a test its name, and a run without any perturbation; also what that renames."""
        done: set[tuple[TestId, UnstableReason | None]] = set()
        while renamed := self.named(whole) - done:
            done |= renamed
            self.repeat(whole, {test for test, _ in renamed})

    def named(self, whole: Setting) -> set[tuple[TestId, UnstableReason | None]]:
        """Return the tests of a state that have a name, with it."""
        found = {test.id: test.reason for test in self.verdicts() if test.state is whole.state}
        return {(test, found[test]) for test in self.suspects(found) if found[test] not in _NO_NAME}

    def repeat(self, whole: Setting, unstable: set[TestId]) -> None:
        """Make the runs again that flip some tests, and those that show what they do otherwise."""
        again = self.flipping(whole, unstable)
        for number in range(self.budget.confirmations):
            steady = self.control(self.narrowed(whole, unstable))
            if not number and any(not setting.perturbations for setting in again):
                self.run(whole)  # a test that is lost without the others must be found with them
            for setting in again:
                if not setting.perturbations:
                    self.control(setting)
                else:
                    whole_run = setting.leave_out == whole.leave_out
                    self.run(setting, only=None if whole_run else steady)

    def flipping(self, whole: Setting, unstable: set[TestId]) -> list[Setting]:
        """Return the runs that show single perturbations to flip tests, each once."""
        verdicts = {test.id: test for test in self.verdicts() if test.state is whole.state}
        found: dict[Setting, None] = {}
        own = [(None, observation) for observation in self.known.seen]
        for setting, observation in (*own, *self.made):
            single = observation.perturbations
            if observation.state is not whole.state or len(single) != 1 or single == (P.ALONE,):
                continue
            tests = {t for t in self.flips(observation) & unstable if single[0] in verdicts[t].flipped}
            if tests:
                narrow = replace(self.narrowed(whole, tests), perturbations=single, turn=observation.turn)
                found.setdefault(narrow if setting is None else setting)
        return list(found)


def _same_tests(one: Setting, other: Setting) -> bool:
    return (one.leave_out, one.targets, one.perturbations) == (other.leave_out, other.targets, ())


def _tests_of(parts: Sequence[Observation], perturbations: tuple[Perturbation, ...]) -> set[TestId]:
    return {test for part in parts if part.perturbations == perturbations for test in part.outcomes}


def _variants(group: Setting) -> set[tuple[Perturbation, int]]:
    """Return the single perturbations of a group, one processor with the load on it; each with its turn."""
    given = {*group.perturbations, *((P.ONE_CPU,) if P.LOAD in group.perturbations else ())}
    return {(single, group.turn if single in VARIED else 0) for single in given}
