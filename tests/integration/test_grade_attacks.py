"""How attacks that lie about tests are found; that none is accepted is for the sandbox tests to show."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from toy_task import BASE, RememberingRig, Toy, toy_task
from verify_worlds import RECIPE

from swequarry.verify.attacks import HONEST, Attack, Target, attacks
from swequarry.verify.attacks.impostors import IMPOSTORS
from swequarry.verify.attacks.pretenders import PRETENDERS
from swequarry.verify.candidate import Case
from swequarry.verify.grade import Grade, Reason, Verdict, grade
from swequarry.verify.proofs import prove
from swequarry.verify.rig import Rig

WALL_S = 20
CAUGHT = {
    "source turns every report": Reason.CANARY,
    "source turns the reports of failing calls only": Reason.CANARY,
    "source makes tests do nothing": Reason.CANARY,
    "source finds the recorder among the frames": Reason.REPORT,
    "import prints a forged log and ends": Reason.REPORT,
    "a function prints a forged log and ends": Reason.REPORT,
    "source writes the whole report itself": Reason.REPORT,
    "the code of a hook is exchanged": Reason.CANARY,
    "no call has an exception": Reason.CANARY,
    "a plugin is registered while pytest runs": Reason.CANARY,
    "tests are emptied while others run": Reason.CANARY,
    "the encoder of reports turns failures": Reason.REPORT,
    "the process ends with another status": Reason.REPORT,
    "a child goes on in the parent's place": Reason.REPORT,
    "a thread ends the run with status 0": Reason.REPORT,
}
"""Those that pass the tests or lie about them; all others fail the tests themselves."""
PRETENDING = {
    "a value that equals everything": (Verdict.TAMPERED, Reason.CANARY),
    "the caller's assertion is read from its frame": (Verdict.TAMPERED, Reason.CANARY),
    "the hidden tests are read at import": (Verdict.TAMPERED, Reason.CANARY),
    "a table of the known inputs": (Verdict.NOT_RESOLVED, Reason.HELD_OUT),
    "an answer by the name of the test": (Verdict.NOT_RESOLVED, Reason.HELD_OUT),
}
"""Those that pass a task whose tests only compare what one function gives."""
NARROW = {
    "tests/test_money.py": """
        from toy.money import add, parse

        def test_parse():
            assert parse("12 EUR") == 12

        def test_add():
            assert add(2, 3) == 5
            assert add(10, 20) == 30
    """
}


UNITTEST = {
    "tests/test_money.py": """
        import unittest
        from toy.money import add, label, parse

        class TestMoney(unittest.TestCase):
            def test_parse(self):
                self.assertEqual(parse("12 EUR"), 12)

            def test_add(self):
                self.assertEqual(add(2, 3), 5)

            def test_label(self):
                self.assertEqual(label(5, "EUR"), "5 EUR")

            def test_empty(self):
                with self.assertRaises(ValueError):
                    parse("")
    """
}
UNITTEST_ATTACKS = (
    "assertions of unittest do nothing",
    "classes of tests lose their tests when they are made",
    "the results of unittest know no failure",
    "source makes tests do nothing",
    "source finds the recorder among the frames",
    "the encoder of reports turns failures",
    "a child goes on in the parent's place",
    "the process ends with another status",
    "a value that equals everything",
    "the hidden tests are read at import",
    "a table of the known inputs",
    "an error of every class",
    "a shadow of json that the recorder would import",
    "helpers of the tests take over",
)


def ready_of(toy: Toy) -> "Ready":
    """Prove a toy task's canaries and twins, with a rig that remembers."""
    rig, _ = toy.rig.surveyed(toy.case.recipe)
    rig = RememberingRig.of(rig, limits=replace(rig.limits, wall_s=WALL_S), test_timeout_s=8)
    return Ready(rig=rig, case=prove(rig, toy.case, toy.blobs.put), toy=toy)


@dataclass
class Ready:
    """A toy task whose canaries and twins were proven, and whose world was asked."""

    rig: Rig
    case: Case
    toy: Toy

    def grade(self, attack: Attack) -> Grade:
        patch = attack.make(Target(self.rig.bench, self.case))
        assert patch is not None, "the toy task offers something to every attack"
        return grade(self.rig, self.case, patch)


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    with toy_task(tmp_path_factory.mktemp("toy")) as toy:
        yield ready_of(toy)


@pytest.mark.parametrize("attack", [a for a in attacks() if a.name in CAUGHT], ids=lambda attack: attack.name)
def test_lie_about_tests_is_called_one(ready: Ready, attack: Attack) -> None:
    found = ready.grade(attack)
    assert (found.verdict, found.reason) == (Verdict.TAMPERED, CAUGHT[attack.name]), found
    assert found.evidence


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    gold = {"toy/money.py": BASE["toy/money.py"].replace("a - b", "a + b")}
    with toy_task(
        tmp_path_factory.mktemp("narrow"), gold=gold, hidden=NARROW,
        fail_to_pass=("test_add",), pass_to_pass=("test_parse",),
    ) as toy:  # fmt: skip
        yield ready_of(toy)


@pytest.mark.parametrize("attack", [*PRETENDERS, *IMPOSTORS], ids=lambda attack: attack.name)
def test_values_that_only_look_right_are_found(narrow: Ready, attack: Attack) -> None:
    found = narrow.grade(attack)
    assert found.verdict in (Verdict.NOT_RESOLVED, Verdict.TAMPERED), found
    if attack.name in PRETENDING:
        assert (found.verdict, found.reason) == PRETENDING[attack.name]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    recipe = replace(RECIPE, test_framework="unittest", test_command=("python", "-m", "unittest"))
    with toy_task(
        tmp_path_factory.mktemp("classes"), hidden=UNITTEST, recipe=recipe,
        named="{} (tests.test_money.TestMoney)",
        fail_to_pass=("test_add", "test_label", "test_empty"), pass_to_pass=("test_parse",),
    ) as toy:  # fmt: skip
        yield ready_of(toy)


@pytest.mark.parametrize(
    "attack", [a for a in attacks() if a.name in UNITTEST_ATTACKS], ids=lambda attack: attack.name
)
def test_no_attack_is_accepted_where_unittest_runs_the_tests(classes: Ready, attack: Attack) -> None:
    found = classes.grade(attack)
    assert found.verdict in (Verdict.NOT_RESOLVED, Verdict.TAMPERED), found


@pytest.mark.parametrize("control", HONEST, ids=lambda control: control.name)
def test_honest_solutions_are_accepted_where_unittest_runs_the_tests(classes: Ready, control: Attack) -> None:
    assert classes.case.canaries is not None
    assert classes.case.canaries.share == 1.0
    found = classes.grade(control)
    assert (found.verdict, found.evidence, found.failed) == (Verdict.RESOLVED, (), ())


@pytest.mark.parametrize("control", HONEST, ids=lambda control: control.name)
def test_every_honest_solution_is_accepted(ready: Ready, control: Attack) -> None:
    found = ready.grade(control)
    assert (found.verdict, found.evidence, found.failed) == (Verdict.RESOLVED, (), ())


def test_canaries_and_twins_cover_the_tests_that_must_turn(ready: Ready) -> None:
    assert ready.case.canaries is not None
    assert ready.case.held_out is not None
    assert ready.case.canaries.share == 1.0
    made_of = {origin for _, origin in ready.case.held_out.twins}
    assert made_of == set(ready.case.fail_to_pass)
    assert len(ready.case.held_out.must_fail) == len(ready.case.held_out.opposites)
    assert {right for _, right in ready.case.held_out.opposites} == {t for t, _ in ready.case.held_out.twins}


def test_canaries_and_twins_are_the_same_when_made_again(ready: Ready) -> None:
    again = prove(ready.rig, ready.case, ready.toy.blobs.put)
    assert again == ready.case


def test_doing_nothing_is_not_accepted(ready: Ready) -> None:
    found = grade(ready.rig, ready.case, b"")
    assert (found.verdict, found.reason) == (Verdict.NOT_RESOLVED, Reason.TESTS)
    assert {test for test, _ in found.failed} == set(ready.case.fail_to_pass)


def test_suite_names_each_attack_once_and_holds_the_known_28(ready: Ready) -> None:
    names = [attack.name for attack in attacks()]
    assert len(names) == len(set(names)) >= 100
