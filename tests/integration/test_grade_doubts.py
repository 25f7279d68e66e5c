"""What grading does when a run leaves a doubt: it looks again before it says anything of a candidate."""

import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pytest
from toy_task import RememberingRig, Toy, toy_task

from swequarry.delta import TreeDelta
from swequarry.errors import GitError, SandboxError
from swequarry.git.trees import TreeWorkbench
from swequarry.records import Recipe, TestId, TestOutcome, TreeSha
from swequarry.verify.attacks import Target
from swequarry.verify.grade import Grade, Reason, Verdict, grade
from swequarry.verify.passes import RunProblem
from swequarry.verify.proofs import prove
from swequarry.verify.runner import RunResult

Meddle = Callable[[RunResult], RunResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeddledRig(RememberingRig):
    """A rig some of whose runs, by number, come out otherwise."""

    meddle: dict[int, Meddle]
    made: list[int] = field(default_factory=list)

    def run(self, delta: TreeDelta, targets: Sequence[str], recipe: Recipe, seed: int) -> RunResult:
        self.made.append(len(self.made) + 1)
        result = RememberingRig.run(self, delta, targets, recipe, seed)
        return self.meddle.get(self.made[-1], lambda found: found)(result)


def with_outcomes(run: RunResult, outcome: TestOutcome, tests: Collection[TestId] = ()) -> RunResult:
    results = tuple(
        replace(result, outcome=outcome) if not tests or result.id in tests else result
        for result in run.report.results
    )
    return replace(run, report=replace(run.report, results=results))


def all_pass(run: RunResult) -> RunResult:
    return with_outcomes(run, TestOutcome.PASSED)


def won(run: RunResult) -> RunResult:
    run = all_pass(run)
    return replace(run, report=replace(run.report, exit_status=0))


def lost(run: RunResult) -> RunResult:
    return with_outcomes(run, TestOutcome.FAILED)


def too_late(run: RunResult) -> RunResult:
    return replace(with_outcomes(run, TestOutcome.NOT_RUN), problems=(RunProblem.WALL_LIMIT,))


def out_of_memory(run: RunResult) -> RunResult:
    return replace(with_outcomes(run, TestOutcome.CRASHED), problems=(RunProblem.MEMORY_LIMIT,))


def contradicts_itself(run: RunResult) -> RunResult:
    seen = ("status 1 was reported, 0 was seen",)
    return replace(run, problems=(RunProblem.UNSOUND_REPORT,), evidence=seen)


def breaks(_run: RunResult) -> RunResult:
    raise SandboxError("the run was killed from outside at no test")


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    with toy_task(tmp_path_factory.mktemp("toy")) as made:
        rig, _ = made.rig.surveyed(made.case.recipe)
        rig = RememberingRig.of(rig)
        yield replace(made, rig=rig, case=prove(rig, made.case, made.blobs.put))


def graded(toy: Toy, meddle: dict[int, Meddle], patch: bytes | None = None) -> Grade:
    assert isinstance(toy.rig, RememberingRig)
    rig = MeddledRig.of(toy.rig, meddle=meddle, memory=toy.rig.memory)
    return grade(rig, toy.case, patch or Target(rig.bench, toy.case).gold())


def no_fix(toy: Toy) -> bytes:
    patch = Target(toy.rig.bench, toy.case).patch_module("# nothing is solved")
    assert patch is not None
    return patch


MAIN, CANARY, AGAIN, THEN = 1, 2, 3, 4


def test_flaky_test_makes_no_cheat(toy: Toy) -> None:
    found = graded(toy, {CANARY: all_pass})
    assert (found.verdict, found.evidence) == (Verdict.RESOLVED, ())


def test_canary_that_gold_passes_as_well_makes_no_cheat(toy: Toy) -> None:
    found = graded(toy, {CANARY: all_pass, AGAIN: all_pass, THEN: all_pass})
    assert (found.verdict, found.evidence) == (Verdict.RESOLVED, ())


def test_run_that_contradicts_itself_once_makes_no_cheat(toy: Toy) -> None:
    assert graded(toy, {MAIN: contradicts_itself}).verdict is Verdict.RESOLVED
    found = graded(toy, {1: contradicts_itself, 2: contradicts_itself})
    assert (found.verdict, found.reason) == (Verdict.TAMPERED, Reason.REPORT)


def test_canary_passed_twice_is_evidence(toy: Toy) -> None:
    found = graded(toy, {CANARY: all_pass, AGAIN: all_pass})
    assert (found.verdict, found.reason) == (Verdict.TAMPERED, Reason.CANARY)
    assert len(found.evidence) == 6


def test_lots_drawn_well_before_and_ill_in_the_second_look_solve_nothing(toy: Toy) -> None:
    drawn = graded(toy, {1: won, 2: lost, 3: won, 4: lost}, no_fix(toy))
    assert (drawn.verdict, drawn.reason) == (Verdict.NOT_RESOLVED, Reason.HELD_OUT)
    drawn = graded(toy, {1: won, 2: won, 3: lost, 4: lost}, no_fix(toy))
    assert (drawn.verdict, drawn.reason) == (Verdict.NOT_RESOLVED, Reason.TESTS)
    assert len(drawn.failed) == len(toy.case.fail_to_pass)


def test_canaries_that_crash_are_not_taken_for_failed_ones(toy: Toy) -> None:
    found = graded(toy, {CANARY: out_of_memory, AGAIN: out_of_memory})
    assert (found.verdict, found.reason, found.evidence) == (Verdict.NOT_RESOLVED, Reason.CANARY, ())


def test_another_value_than_gold_s_makes_no_cheat(toy: Toy) -> None:
    held_out = toy.case.held_out
    assert held_out is not None
    wrong, right = held_out.opposites[0]

    def swapped(run: RunResult) -> RunResult:
        run = with_outcomes(run, TestOutcome.PASSED, [wrong])
        return with_outcomes(run, TestOutcome.FAILED, [right])

    found = graded(toy, {3: swapped, 4: swapped})
    assert (found.verdict, found.reason, found.evidence) == (Verdict.NOT_RESOLVED, Reason.HELD_OUT, ())
    assert found.failed == ((right, TestOutcome.FAILED),)


def test_both_of_two_opposites_passed_is_evidence(toy: Toy) -> None:
    assert graded(toy, {3: all_pass, 4: all_pass}).verdict is Verdict.TAMPERED
    assert graded(toy, {3: all_pass}).verdict is Verdict.RESOLVED


@pytest.mark.parametrize("limit", [too_late, out_of_memory])
def test_limit_met_once_is_the_machine_s(toy: Toy, limit: Meddle) -> None:
    assert graded(toy, {MAIN: limit}).verdict is Verdict.RESOLVED


@pytest.mark.parametrize("limit", [too_late, out_of_memory])
def test_limit_that_gold_meets_too_gives_no_verdict(toy: Toy, limit: Meddle) -> None:
    found = graded(toy, {1: limit, 2: limit, 3: limit})
    assert (found.verdict, found.reason) == (Verdict.INFRA_FAILED, Reason.MACHINERY)


@pytest.mark.parametrize("limit", [too_late, out_of_memory])
def test_limit_that_only_the_candidate_meets_is_its_own(toy: Toy, limit: Meddle) -> None:
    found = graded(toy, {1: limit, 2: limit})
    assert (found.verdict, found.reason, found.evidence) == (Verdict.NOT_RESOLVED, Reason.LIMIT, ())


def test_candidate_that_ends_every_run_of_its_own_is_not_graded_for_ever(toy: Toy) -> None:
    found = graded(toy, {1: breaks, 3: breaks})
    assert (found.verdict, found.reason) == (Verdict.NOT_RESOLVED, Reason.KILLED)
    assert graded(toy, {1: breaks, 2: breaks}).verdict is Verdict.INFRA_FAILED
    assert graded(toy, {1: breaks}).verdict is Verdict.RESOLVED


class Refusing(TreeWorkbench):
    """A workbench whose git takes no patch, or nothing at all."""

    takes_nothing = False

    def apply(self, tree: TreeSha, patch: bytes) -> TreeSha:
        if patch or self.takes_nothing:
            raise GitError("git can't write `odd`")
        return super().apply(tree, patch)


def test_file_that_git_cannot_take_is_the_candidate_s(toy: Toy) -> None:
    patch, bench = Target(toy.rig.bench, toy.case).gold(), copy.copy(toy.rig.bench)
    bench.__class__ = Refusing
    found = grade(replace(toy.rig, bench=bench), toy.case, patch)
    assert (found.verdict, found.reason, found.runs) == (Verdict.NOT_RESOLVED, Reason.NO_PATCH, ())
    assert "`odd`" in found.message
    bench.takes_nothing = True  # type: ignore[attr-defined]
    assert grade(replace(toy.rig, bench=bench), toy.case, patch).verdict is Verdict.INFRA_FAILED


def test_proofs_cost_three_runs(toy: Toy) -> None:
    assert isinstance(toy.rig, RememberingRig)
    counted = MeddledRig.of(toy.rig, meddle={}, memory=toy.rig.memory)
    assert prove(counted, toy.case, toy.blobs.put) == toy.case
    assert len(counted.made) == 3
