"""The table of `selftest` says what happened: a fooled grader, refused honest work, broken machinery, n/a."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from toy_task import Toy, toy_task

from swequarry.cli.selftest_command import choose, exit_code, usual_workspace, verdict_text
from swequarry.errors import ExitCode, InputError, UsageError
from swequarry.pipeline import selftest
from swequarry.pipeline.selftest import SUITE, Solver, SolverResult, SolverVerdict, self_test
from swequarry.verify.attacks import Attack
from swequarry.verify.grade import Grade, Reason, Verdict


class Opened:
    """A task whose rooms are all one toy; grading is not asked in these tests."""

    def __init__(self, toy: Toy) -> None:
        self.toy = toy

    @contextmanager
    def room(self) -> Iterator:
        yield self.toy.rig, self.toy.case


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    with toy_task(tmp_path_factory.mktemp("toy")) as toy:
        yield Opened(toy)


def graded(monkeypatch: pytest.MonkeyPatch, verdict: Verdict, reason: Reason = Reason.TESTS) -> None:
    monkeypatch.setattr(selftest, "grade", lambda *_: Grade(verdict=verdict, reason=reason, message="m"))


def tried(opened: Opened, *solvers: Solver) -> tuple[SolverResult, ...]:
    return self_test(opened, solvers, workers=2, tell=lambda _: None)


def solver(make, *, honest: bool = False) -> Solver:
    return Solver(attack=Attack(name="x", code="R1", make=make), honest=honest)


def test_attack_that_grading_lets_through_is_accepted_in_capitals_and_exits_with_findings(
    opened, monkeypatch
):
    graded(monkeypatch, Verdict.RESOLVED, Reason.ALL_PASSED)
    gold, attack = tried(opened, solver(lambda _: b"patch"))
    assert (gold.verdict, verdict_text(gold)) == (SolverVerdict.ACCEPTED, "accepted")
    assert (attack.verdict, verdict_text(attack)) == (SolverVerdict.ACCEPTED, "ACCEPTED")
    assert exit_code([gold, attack]) is ExitCode.FINDINGS


@pytest.mark.parametrize("verdict", [Verdict.NOT_RESOLVED, Verdict.TAMPERED])
def test_honest_work_that_is_refused_is_a_finding_and_a_refused_attack_is_none(opened, monkeypatch, verdict):
    graded(monkeypatch, verdict)
    gold, attack = tried(opened, solver(lambda _: b"patch"))
    assert (verdict_text(gold), verdict_text(attack)) == ("REJECTED", "rejected")
    assert exit_code([gold, attack]) is ExitCode.FINDINGS
    assert exit_code([attack]) is ExitCode.OK


def test_broken_machinery_rejects_no_attack(opened, monkeypatch):
    graded(monkeypatch, Verdict.INFRA_FAILED, Reason.MACHINERY)
    found = tried(opened, solver(lambda _: b"patch"))
    assert {one.verdict for one in found} == {SolverVerdict.BROKEN}
    assert exit_code(found) is ExitCode.PARTIAL


@pytest.mark.parametrize("patch", [None, b""])
def test_attack_that_does_nothing_here_counts_as_no_success_of_the_grader(opened, monkeypatch, patch):
    graded(monkeypatch, Verdict.NOT_RESOLVED)
    _, attack = tried(opened, solver(lambda _: patch))
    assert attack.verdict is SolverVerdict.NOT_APPLICABLE
    assert attack.how
    assert exit_code([attack]) is ExitCode.OK


def test_each_solver_is_tried_once_by_any_number_of_workers_and_told_in_order(opened, monkeypatch):
    graded(monkeypatch, Verdict.NOT_RESOLVED)
    heard = []
    names = [f"attack {number}" for number in range(9)]
    solvers = [
        Solver(attack=Attack(name=name, code="", make=lambda _: b"patch"), honest=False) for name in names
    ]
    found = self_test(opened, solvers, workers=4, tell=lambda one: heard.append(one.name))
    assert [one.name for one in found] == ["gold", *names]
    assert sorted(heard) == sorted(["gold", *names])


def test_error_of_one_solver_is_no_finding_and_reaches_the_caller(opened, monkeypatch):
    graded(monkeypatch, Verdict.NOT_RESOLVED)

    def breaks(_):
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        tried(opened, solver(lambda _: b"patch"), solver(breaks))


def test_gold_is_tried_first_and_once_whatever_is_asked_for(opened, monkeypatch):
    graded(monkeypatch, Verdict.RESOLVED)
    assert [one.name for one in tried(opened, SUITE[0])] == ["gold"]
    assert [one.attack.name for one in choose(["sitecustomize"])] == ["gold", "sitecustomize"]


def test_unknown_attack_is_an_error_and_no_silent_pass():
    with pytest.raises(UsageError, match="did you mean"):
        choose(["sitecustomise"])


def test_code_means_all_attacks_of_the_way_and_nothing_means_all():
    assert {one.attack.code for one in choose(["R9"])} == {"", "R9"}
    assert choose([]) == SUITE


def test_folder_without_a_workspace_leads_to_the_demo(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="swequarry demo"):
        usual_workspace()
