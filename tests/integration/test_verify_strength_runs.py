import dataclasses
import json

import pytest
from toy_task import F2P, GOLD, HIDDEN, P2P, toy_task
from verify_worlds import run

from swequarry.errors import SandboxError
from swequarry.outcome import Accepted, Failed
from swequarry.records import (
    Fate,
    Strength,
    TestOutcome,
    WrongFixKind,
)
from swequarry.verify import strength as strength_module
from swequarry.verify import strength_runs
from swequarry.verify.mutation_fixes import FixLimits
from swequarry.verify.payload import Tap
from swequarry.verify.strength import measure_strength

FEW = FixLimits(hunks=9, files=3, bodies=3, mutants=3)
NOTE = "toy/note.py"
WEAK = {**GOLD, NOTE: "def note(text):\n    return text * 2\n", "README.md": "Money.\n"}


def measured(tmp_path, limits=FEW, gold=WEAK, **more):
    with toy_task(tmp_path, gold=gold, **more) as toy:
        outcome, observed = measure_strength(toy.rig, toy.case, toy.blobs.put, limits, workers=2)
        assert isinstance(outcome, Accepted), outcome
        return outcome.value, observed, toy


def fates(strength: Strength, kind: WrongFixKind) -> dict[str, Fate]:
    return {f"{fix.path}:{fix.line}": fix.fate for fix in strength.wrong_fixes if fix.kind is kind}


@pytest.fixture(scope="module")
def weak(tmp_path_factory):
    return measured(tmp_path_factory.mktemp("weak"))


def test_hunk_that_no_hidden_test_needs_is_named(weak):
    strength, _, toy = weak
    assert [fix.path for fix in strength.survivors if fix.kind is WrongFixKind.FILE_LEFT_OUT] == [NOTE]
    assert set(fates(strength, WrongFixKind.HUNK_LEFT_OUT).values()) == {Fate.KILLED}
    (survivor,) = [fix for fix in strength.survivors if fix.kind is WrongFixKind.FILE_LEFT_OUT]
    assert toy.blobs.get(survivor.diff).startswith(
        b"diff --git a/toy/note.py b/toy/note.py\ndeleted file mode"
    )


def test_doing_nothing_is_rejected_and_prose_isnt_asked_for(weak):
    strength, observed, _ = weak
    assert fates(strength, WrongFixKind.NO_OP) == {":0": Fate.KILLED}
    assert "README.md" not in {fix.path for fix in strength.survivors}
    assert observed["wrong_fixes"][0]["by"] == "tests/test_money.py::test_add"


def test_line_that_no_test_reaches_costs_no_run(weak):
    strength, _, _ = weak
    assert strength.coverage == dataclasses.replace(strength.coverage, whole=True)
    assert (NOTE, 1) in strength.coverage.uncovered
    unreached = [fix for fix in strength.wrong_fixes if fix.path == NOTE and fix.kind is WrongFixKind.MUTANT]
    assert unreached
    assert {fix.fate for fix in unreached} == {Fate.UNREACHED}


def test_emptied_function_that_a_test_calls_is_rejected(weak):
    strength, _, _ = weak
    emptied = fates(strength, WrongFixKind.EMPTY_BODY)
    assert {fate for place, fate in emptied.items() if not place.startswith(NOTE)} == {Fate.KILLED}


def test_broken_machinery_isnt_a_survivor_nor_a_kill(tmp_path, monkeypatch):
    monkeypatch.setattr(strength_runs, "QUICK_S", 1e9)  # however busy this machine is
    with toy_task(tmp_path) as toy:
        real, calls = toy.rig.backend.run_once, []

        def run_once(*args):
            calls.append(args)
            if len(calls) > 1:
                raise SandboxError("no namespace")
            return real(*args)

        monkeypatch.setattr(toy.rig.backend, "run_once", run_once)
        outcome, _ = measure_strength(toy.rig, toy.case, toy.blobs.put, FixLimits(mutants=1, bodies=0))
        assert {fix.fate for fix in outcome.value.wrong_fixes[1:]} == {Fate.UNMEASURED}
        assert len(calls) == 1 + 4 * len(outcome.value.wrong_fixes[1:])


def test_gold_that_fails_gives_no_strength(tmp_path):
    with toy_task(
        tmp_path, hidden={"tests/test_money.py": HIDDEN["tests/test_money.py"] + "\n        assert False\n"}
    ) as toy:
        outcome, _ = measure_strength(toy.rig, toy.case, toy.blobs.put, FEW)
        assert isinstance(outcome, Failed)
        assert "gold doesn't pass here" in outcome.message


SHARED = {
    "toy/money.py": GOLD["toy/money.py"],
    "toy/rates.py": "RATES = {'EUR': 1}\n\ndef rate(unit):\n    return RATES[unit]\n",
}
MONEY = HIDDEN["tests/test_money.py"]
LOOKS = """
    import pytest
    from toy.rates import rate

    @pytest.fixture(scope="module")
    def euro():
        return rate("EUR")

    def test_first(euro):
        pass

    def test_second(euro):
        assert euro == 1
"""


def test_test_that_gets_it_from_a_fixture_rejects_a_fix_that_the_first_one_lets_pass(tmp_path, monkeypatch):
    """`rate` runs while the first test is set up, and only the second one looks at what it gave."""
    monkeypatch.setattr(strength_runs, "QUICK_S", 0.0)
    hidden = {"tests/test_money.py": MONEY, "tests/test_rates.py": LOOKS}
    named = {"fail_to_pass": ("test_rates.py::test_first", "test_rates.py::test_second"), "pass_to_pass": ()}
    strength, *_ = measured(tmp_path, gold=SHARED, hidden=hidden, named="tests/{}", **named)
    emptied = [
        fix.fate
        for fix in strength.wrong_fixes
        if fix.path == "toy/rates.py" and fix.kind is WrongFixKind.EMPTY_BODY
    ]
    assert emptied == [Fate.KILLED]


def test_only_tests_that_reach_the_change_are_run(tmp_path, monkeypatch):
    monkeypatch.setattr(strength_runs, "QUICK_S", 0.0)
    _, observed, _ = measured(tmp_path)
    mutants = [one for one in observed["wrong_fixes"] if one["kind"] == "mutant" and "tests" in one]
    assert mutants
    assert all(one["tests"] < len((*F2P, *P2P)) for one in mutants)


LEANING = """
    from toy.money import add, label

    MADE = []

    def test_a():
        MADE.append(1)

    def test_b():
        pass

    def test_c():
        assert MADE and add(2, 3) == 5
"""


def test_test_that_leans_on_others_rejects_no_fix_for_being_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(strength_runs, "QUICK_S", 0.0)
    calls = []

    def traced(*given):
        calls.append(given)
        return 9.0, None  # nobody knows who reaches what: FAIL_TO_PASS goes first

    monkeypatch.setattr(strength_module, "_traced", traced)
    lists = {"fail_to_pass": ("test_c",), "pass_to_pass": ("test_a", "test_b")}
    hidden = {"tests/test_money.py": LEANING}
    gold = {**GOLD, NOTE: WEAK[NOTE]}
    strength, observed, _ = measured(
        tmp_path, FixLimits(hunks=5, files=2, bodies=0, mutants=0), gold=gold, hidden=hidden, **lists
    )
    assert calls
    (note,) = [fix for fix in strength.wrong_fixes if fix.path == NOTE]
    assert note.fate is Fate.SURVIVED
    assert {one["tests"] for one in observed["wrong_fixes"] if "tests" in one} == {3}


def test_fix_without_end_gets_a_second_look_before_it_counts_as_rejected(tmp_path, monkeypatch):
    looks = []

    def judged(run, tests):
        looks.append(tests)
        return (Fate.TIMED_OUT if len(looks) % 2 else Fate.SURVIVED), {}

    monkeypatch.setattr(strength_runs, "judge", judged)
    with toy_task(tmp_path) as toy:
        limits = FixLimits(hunks=0, files=0, bodies=2, mutants=0)
        outcome, _ = measure_strength(toy.rig, toy.case, toy.blobs.put, limits)
    tried = [fix.fate for fix in outcome.value.wrong_fixes if fix.kind is not WrongFixKind.NO_OP]
    assert set(tried) == {Fate.SURVIVED}
    assert len(looks) == 2 * len(tried)


def test_end_of_the_budget_leaves_the_rest_untried_and_counted(tmp_path, monkeypatch):
    ticks = iter(range(0, 10_000, 10))  # each look at the clock takes ten seconds
    allowance = strength_runs.Allowance
    monkeypatch.setattr(
        strength_module, "Allowance", lambda budget_s: allowance(budget_s, clock=lambda: float(next(ticks)))
    )
    with toy_task(tmp_path, gold=WEAK) as toy:
        outcome, _ = measure_strength(toy.rig, toy.case, toy.blobs.put, FEW, budget_s=60.0)
    found = outcome.value
    assert {fix.kind for fix in found.wrong_fixes} >= {WrongFixKind.NO_OP, WrongFixKind.HUNK_LEFT_OUT}
    assert found.not_tried > 0
    assert found.share is not None


TWO = "def test_a():\n    assert False\ndef test_b():\n    pass\ndef test_c():\n    pass\n"


def stop_at(*tests):
    return (Tap(source="stopper.py", wrap="stopping", settings=json.dumps({"tests": tests})),)


def test_run_ends_at_the_first_test_that_matters(tmp_path):
    found = run(tmp_path, {"test_m.py": TWO}, taps=stop_at("test_m.py::test_a"), max_passes=1)
    assert [r.outcome for r in found.report.results] == [
        TestOutcome.FAILED,
        TestOutcome.NOT_RUN,
        TestOutcome.NOT_RUN,
    ]
    assert found.problems == ()


def test_test_that_nobody_asked_about_doesnt_end_the_run(tmp_path):
    found = run(tmp_path, {"test_m.py": TWO}, taps=stop_at("test_m.py::test_b"), max_passes=1)
    assert [r.outcome for r in found.report.results] == [
        TestOutcome.FAILED,
        TestOutcome.PASSED,
        TestOutcome.PASSED,
    ]


def test_missing_test_ends_the_run_before_any_other_is_run(tmp_path):
    found = run(tmp_path, {"test_m.py": TWO}, taps=stop_at("test_m.py::test_gone"), max_passes=1)
    assert {r.outcome for r in found.report.results} == {TestOutcome.NOT_RUN}
