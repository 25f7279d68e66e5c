import random
from dataclasses import dataclass, field, replace

import pytest

from swequarry.errors import SandboxError
from swequarry.records import Perturbation, State, TestId, TestOutcome, TestReport, TestResult, UnstableReason
from swequarry.verify.passes import RunProblem
from swequarry.verify.runner import RunResult
from swequarry.verify.stability import Observation, classify_stability
from swequarry.verify.stability_measure import stability_of
from swequarry.verify.stability_runs import DEEP, DEFAULT, Budget, Known, Setting
from swequarry.verify.stability_search import find_unstable

P, R = Perturbation, UnstableReason
PASSED, FAILED = TestOutcome.PASSED, TestOutcome.FAILED
AFTER = State.AFTER
TARGETS = tuple(f"tests/test_{number}.py" for number in range(8))


@dataclass
class Model:
    """Stands for a project: which perturbation, in which variant, fails which test."""

    tests: dict[str, object]
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    settings: list[Setting] = field(default_factory=list)

    def __call__(self, setting: Setting) -> RunResult:
        self.settings.append(setting)
        results = []
        for test, behaves in self.tests.items():
            path = test.partition("::")[0]
            if path in setting.targets and test not in setting.leave_out:
                detail = behaves(setting, self.chance) if behaves else None
                outcome = PASSED if detail is None else FAILED
                results.append(TestResult(id=TestId(test), outcome=outcome, detail=detail or ""))
        cost_s = 10.0 * len(setting.targets) / len(TARGETS) * (3 if P.LOAD in setting.perturbations else 1)
        return RunResult(report=TestReport(framework="pytest", results=tuple(results)), duration_s=cost_s)


def when(*perturbations, detail="assert False"):
    return lambda setting, _chance: detail if set(perturbations) & set(setting.perturbations) else None


def in_variant(perturbation, turns):
    return lambda setting, _: (
        "assert False" if perturbation in setting.perturbations and setting.turn in turns else None
    )


def by_chance(detail="assert False", share=0.5):
    return lambda _setting, chance: detail if chance.random() < share else None


PLANTED = {
    R.ORDER: [when(P.ORDER)] * 3 + [when(P.ORDER, P.ALONE)] * 2,
    R.SEED: [in_variant(P.SEED, {0, 1, 3}), in_variant(P.SEED, {0, 2, 4})] * 2 + [in_variant(P.SEED, {1, 5})],
    R.TIME: [when(P.YEAR_AHEAD), when(P.LEAP_DAY), when(P.TIME_ZONE), when(P.YEAR_AHEAD, P.LEAP_DAY), when(P.YEAR_AHEAD)],
    R.LOCALE: [when(P.LOCALE)] * 5,
    R.NETWORK: [by_chance("gaierror (network: socket.gaierror: -3)")] * 5,
    R.TIMING: [when(P.LOAD)] * 5,
    R.RESOURCE: [when(P.LOAD, P.ONE_CPU)] * 3 + [by_chance("OSError: [Errno 24] Too many open files")] * 2,
    R.UNKNOWN: [by_chance()] * 5,
}  # fmt: skip


def planted() -> tuple[Model, dict[str, UnstableReason]]:
    tests, named = {}, {}
    for number, (reason, behaviours) in enumerate(PLANTED.items()):
        for place, behaves in enumerate(behaviours):
            name = f"{TARGETS[number]}::test_{reason.value}_{place}"
            tests[name], named[name] = behaves, reason
    for number in range(400):
        tests[f"{TARGETS[number % 8]}::test_stable_{number}"] = None
    return Model(tests), named


@pytest.mark.parametrize(("budget", "wanted"), [(DEEP, 38), (DEFAULT, 36)])
def test_planted_unstable_tests_are_found_and_no_stable_one_is_blamed(budget, wanted):
    model, named = planted()
    budget = Budget(factor=None) if budget is DEFAULT else budget
    found = {
        verdict.id: verdict.reason
        for verdict in find_unstable(model, {AFTER: TARGETS}, budget).verdicts()
        if verdict.reason
    }
    assert set(found) <= set(named)
    assert sum(found.get(test) is reason for test, reason in named.items()) >= wanted


def test_default_search_spends_no_more_than_eight_bare_runs():
    model, named = planted()
    search = find_unstable(model, {AFTER: TARGETS, State.BEFORE: TARGETS}, DEFAULT)
    assert search.spent_s <= 8 * search.bare_s
    assert not search.complete
    assert {verdict.id for verdict in search.verdicts() if verdict.reason} == set(named)


def test_search_stops_when_nothing_flips():
    model = Model({f"{path}::test_{n}": None for path in TARGETS for n in range(5)})
    search = find_unstable(model, {AFTER: TARGETS}, DEFAULT)
    assert search.complete
    assert [setting.perturbations for setting in model.settings][:1] == [()]
    assert len(model.settings) == 4
    record = stability_of(search, lambda _data: "0" * 64)
    assert (record.unstable, record.stable, record.runs) == ((), ((AFTER, 40),), 4)


def test_only_the_files_of_suspects_are_run_again():
    model = Model({f"{path}::test_{n}": None for path in TARGETS for n in range(5)})
    model.tests[f"{TARGETS[3]}::test_9"] = when(P.LOCALE)
    search = find_unstable(model, {AFTER: TARGETS}, DEFAULT)
    assert [v.reason for v in search.verdicts() if v.reason] == [R.LOCALE]
    assert {setting.targets for setting in model.settings if setting.perturbations == (P.LOCALE,)} == {
        (TARGETS[3],)
    }
    assert stability_of(search, lambda _data: "0" * 64).quarantined == (f"{TARGETS[3]}::test_9",)


def test_id_that_is_another_in_each_run_isnt_named_in_a_record():
    path = TARGETS[0]

    def start(setting):
        model.tests = {f"{path}::test_now[{len(model.settings)}]": None, f"{path}::test_old[1]": None}
        return model(setting)

    model = Model({})
    record = stability_of(find_unstable(start, {AFTER: TARGETS}, DEFAULT), lambda _data: "0" * 64)
    assert record.quarantined == (f"{path}::test_now",)
    assert [test.reason for test in record.unstable] == [R.UNKNOWN]


def seen(*runs):
    return [
        Observation(
            state=AFTER, perturbations=given, outcomes={TestId("t"): outcome}, details={TestId("t"): detail}
        )
        for given, outcome, detail in runs
    ]


def verdict(*runs):
    (found,) = classify_stability(seen(*runs))
    return found.reason


def test_what_the_fake_clock_breaks_is_no_time_bomb():
    calm = [((), PASSED, ""), ((P.YEAR_AHEAD,), FAILED, "TypeError")]
    assert verdict(*calm) is R.TIME
    assert verdict(*calm, ((P.CLOCK_CONTROL,), FAILED, "TypeError")) is None


def test_failing_test_that_fails_for_another_reason_is_stable():
    assert (
        verdict(
            ((), FAILED, "a"), ((P.SEED,), TestOutcome.ERROR, "b"), ((P.LOCALE,), TestOutcome.CRASHED, "")
        )
        is None
    )


def test_skip_under_a_perturbation_isnt_a_pass():
    assert verdict(((), PASSED, ""), ((), PASSED, ""), ((P.LOCALE,), TestOutcome.SKIPPED, "")) is R.LOCALE


def test_chance_isnt_named_after_the_perturbation_that_happened_to_be_there():
    assert verdict(((), PASSED, ""), ((), FAILED, "x"), ((P.SEED,), FAILED, "x")) is R.UNKNOWN
    assert verdict(((), PASSED, ""), ((P.SEED,), FAILED, "x"), ((P.SEED,), PASSED, "")) is R.UNKNOWN
    assert verdict(((), PASSED, ""), ((P.SEED,), FAILED, "x"), ((P.LOCALE,), FAILED, "x")) is R.UNKNOWN


def test_flip_that_only_a_group_shows_is_unstable_without_a_name():
    assert verdict(((), PASSED, ""), ((P.SEED, P.ORDER), FAILED, "x"), ((P.SEED,), PASSED, "")) is R.UNKNOWN


def test_slow_machine_isnt_blamed_where_one_processor_is_enough_to_fail():
    assert verdict(((), PASSED, ""), ((P.LOAD,), FAILED, "x"), ((P.ONE_CPU,), FAILED, "x")) is R.RESOURCE
    assert verdict(((), PASSED, ""), ((P.LOAD,), FAILED, "x"), ((P.ONE_CPU,), PASSED, "")) is R.TIMING


def bare(state, tests, outcome=PASSED):
    return Observation(state=state, perturbations=(), outcomes={TestId(test): outcome for test in tests})


def known_project(behaviours, turning=()):
    """A small suite that verification saw: every test passes after the fix, before it only the sound ones."""
    model = Model({f"{TARGETS[0]}::test_{name}": behaves for name, behaves in behaviours.items()})
    seen = (bare(AFTER, model.tests), bare(State.BEFORE, model.tests))
    judged = frozenset(map(TestId, model.tests))
    known = Known(
        seen=seen,
        bare_s=10.0,
        judged=judged,
        turning=frozenset(TestId(f"{TARGETS[0]}::test_{n}") for n in turning),
    )
    return model, known


@pytest.mark.parametrize(
    ("behaves", "reason"),
    [
        (when(P.YEAR_AHEAD, P.LEAP_DAY), R.TIME),
        (when(P.LEAP_DAY), R.TIME),
        (when(P.TIME_ZONE), R.TIME),
        (when(P.LOCALE), R.LOCALE),
        (when(P.ORDER), R.ORDER),
        (in_variant(P.SEED, {0}), R.SEED),
        (when(P.LOAD), R.TIMING),
        (when(P.LOAD, P.ONE_CPU), R.RESOURCE),
        (when(P.PATH), R.PATH),
        (when(P.USER), R.USER),
    ],
)
def test_one_cause_gets_its_name_within_eight_bare_runs(behaves, reason):  # B047
    model, known = known_project({"odd": behaves, **{f"sound_{n}": None for n in range(20)}})
    search = find_unstable(model, {AFTER: TARGETS[:1], State.BEFORE: TARGETS[:1]}, DEFAULT, known)
    assert search.units <= 8
    record = stability_of(search, lambda _data: "0" * 64)
    assert {(test.id.rpartition("_")[2], test.reason) for test in record.unstable} == {("odd", reason)}


def test_suite_that_only_the_fake_clock_breaks_is_no_time_bomb_on_a_small_budget():
    faked = when(P.YEAR_AHEAD, P.LEAP_DAY, P.CLOCK_CONTROL)
    model, known = known_project({f"bent_{n}": faked for n in range(20)}, turning=("bent_0",))
    search = find_unstable(model, {AFTER: TARGETS[:1], State.BEFORE: TARGETS[:1]}, DEFAULT, known)
    assert stability_of(search, lambda _data: "0" * 64).unstable == ()


def test_test_that_is_lost_without_the_others_depends_on_the_order():
    def lonely(setting, _chance):
        return "assert False" if len(setting.leave_out) > 10 or P.ORDER in setting.perturbations else None

    model, known = known_project({"odd": lonely, **{f"sound_{n}": None for n in range(20)}})
    search = find_unstable(model, {AFTER: TARGETS[:1]}, DEFAULT, known)
    assert [v.reason for v in search.verdicts() if v.reason] == [R.ORDER]


def test_run_under_load_isnt_made_for_a_task_that_is_lost_already():
    model, known = known_project({"odd": when(P.YEAR_AHEAD, P.LEAP_DAY), "sound": None}, turning=("odd",))
    search = find_unstable(model, {AFTER: TARGETS[:1]}, DEFAULT, known)
    assert not any(P.LOAD in setting.perturbations for setting in model.settings)
    assert not search.complete
    assert [v.reason for v in search.verdicts() if v.reason] == [R.TIME]


def test_perturbation_under_which_nothing_runs_blames_no_test():
    model, known = known_project({"sound": None})

    def start(setting):
        if P.LOCALE in setting.perturbations:
            raise SandboxError("the test run ended before it began to report")
        result = model(setting)
        late = P.LOAD in setting.perturbations
        return replace(result, problems=(RunProblem.WALL_LIMIT,)) if late else result

    search = find_unstable(start, {AFTER: TARGETS[:1]}, DEFAULT, known)
    record = stability_of(search, lambda _data: "0" * 64)
    assert record.unstable == ()
    assert not record.complete
    assert record.spoilt == ("load+seed", "locale+path+seed+time_zone+user+year_ahead")


def test_broken_machinery_isnt_taken_for_a_perturbation():
    _, known = known_project({"sound": None})

    def start(_setting):
        raise SandboxError("no namespace")

    with pytest.raises(SandboxError):
        find_unstable(start, {AFTER: TARGETS[:1]}, DEFAULT, known)


def test_tests_in_no_list_cost_no_run_to_name():
    model, known = known_project({"odd": when(P.LOCALE), "sound": None})
    known = replace(known, judged=frozenset({TestId(f"{TARGETS[0]}::test_sound")}))
    search = find_unstable(model, {AFTER: TARGETS[:1]}, DEFAULT, known)
    assert len(model.settings) == 3
    assert stability_of(search, lambda _data: "0" * 64).unstable == ()


def crowded(given, outcome):
    slow = frozenset({TestId("t")})
    return Observation(state=AFTER, perturbations=given, outcomes={TestId("t"): outcome}, crowded=slow)


def test_busy_machine_is_no_cause_of_its_own_and_hides_none():
    calm = seen(((), PASSED, ""), ((P.LOCALE,), PASSED, ""))
    (slowed,) = classify_stability([*calm, crowded((), FAILED), crowded((P.SEED,), FAILED)])
    assert slowed.reason is R.TIMING
    (found,) = classify_stability([*calm[:1], crowded((), PASSED), crowded((P.LOCALE,), FAILED)])
    assert found.reason is R.LOCALE


def test_waiting_of_a_test_that_load_flips_is_held_against_nothing_else():
    loaded = seen(((), PASSED, ""), ((P.LOAD,), FAILED, ""), ((P.LOAD,), FAILED, ""))
    (found,) = classify_stability([*loaded, crowded((P.SPREAD,), FAILED)])
    assert found.reason is R.TIMING
    (single,) = classify_stability([*loaded, crowded((P.ONE_CPU,), FAILED)])
    assert single.reason is R.RESOURCE  # its own threads wait for each other there
    (calm,) = classify_stability([*loaded, *seen(((P.SPREAD,), FAILED, ""))])
    assert calm.reason is R.UNKNOWN


def test_variant_that_made_no_difference_among_others_made_none_by_itself():
    group = Observation(state=AFTER, perturbations=(P.SEED, P.ORDER), outcomes={TestId("t"): PASSED}, turn=3)
    single = replace(group, perturbations=(P.SEED,), outcomes={TestId("t"): FAILED})
    (found,) = classify_stability([*seen(((), PASSED, "")), group, single])
    assert found.reason is R.UNKNOWN
    (other,) = classify_stability([*seen(((), PASSED, "")), group, replace(single, turn=4)])
    assert other.reason is R.SEED
