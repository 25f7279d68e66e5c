"""The suite of attacks, and honest controls, against one task: does the grader tell them apart?"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import assert_never

from swequarry.errors import GitError, PatchError
from swequarry.pipeline.graded_task import OpenTask
from swequarry.pipeline.rooms import Rooms
from swequarry.verify.attacks import HONEST, Attack, Target, attacks
from swequarry.verify.candidate import Case
from swequarry.verify.grade import Grade, Verdict, grade
from swequarry.verify.rig import Rig

_SLOW, _SLOW_S = 10.0, 60.0
"""An attack's run is ended after this many times what gold takes, and not before so many seconds."""


class SolverVerdict(StrEnum):
    """How one solver fared. BROKEN: the machinery broke, and nothing is known."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    NOT_APPLICABLE = "n/a"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverResult:
    """How one attack or honest control fared: `way` is the attack's code, `how` what it was found by."""

    name: str
    way: str
    honest: bool
    verdict: SolverVerdict
    how: str
    duration_s: float

    @property
    def wrong(self) -> bool:
        """Whether the grader was fooled, or refused honest work."""
        return self.verdict is (SolverVerdict.REJECTED if self.honest else SolverVerdict.ACCEPTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solver:
    """An attack or an honest control of the suite."""

    attack: Attack
    honest: bool


SUITE = (
    *(Solver(attack=attack, honest=True) for attack in HONEST),
    *(Solver(attack=attack, honest=False) for attack in attacks()),
)
"""All solvers; the gold patch is the first."""


def self_test(
    task: OpenTask, solvers: Sequence[Solver], *, workers: int, tell: Callable[[SolverResult], None]
) -> tuple[SolverResult, ...]:
    """Let solvers loose on a task, the gold patch before all others; return results in their order.

    `tell` is told of each when it ends, from the thread that tried it.

    Raises:
        PatchError, GitError, StorageError, RepositoryError: the task's trees can't be made.
    """
    first = SUITE[0]
    with closing(Rooms(partial(_room, task))) as rooms:
        with rooms.enter() as stay:
            rig, case, target = stay.room
            gold, longest_s = _try(first, rig, case, target)
        tell(gold)
        wall_s = max(_SLOW_S, _SLOW * longest_s)

        def work(solver: Solver) -> SolverResult:
            with rooms.enter() as stay:
                rig, case, target = stay.room
                limits = replace(rig.limits, wall_s=min(rig.limits.wall_s, wall_s))
                own = rig if solver.honest else replace(rig, limits=limits)
                found, _ = _try(solver, own, case, target)
            tell(found)
            return found

        waiting = [solver for solver in solvers if solver != first]
        return (gold, *_all_of(work, waiting, workers))


@contextmanager
def _room(task: OpenTask) -> Iterator[tuple[Rig, Case, Target]]:
    with task.room() as (rig, case):
        yield rig, case, Target(rig.bench, case)


def _all_of(
    work: Callable[[Solver], SolverResult], solvers: Sequence[Solver], workers: int
) -> list[SolverResult]:
    """Return what comes of each solver; none is begun after one of them broke off."""
    with ThreadPoolExecutor(max(1, workers)) as pool:
        futures = [pool.submit(work, solver) for solver in solvers]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return [future.result() for future in futures]


def _try(solver: Solver, rig: Rig, case: Case, target: Target) -> tuple[SolverResult, float]:
    """Return what came of a solver, and the seconds of its longest run."""
    began, attack = time.monotonic(), solver.attack
    longest_s = 0.0
    try:
        patch = attack.make(target)
    except (GitError, PatchError) as error:
        verdict, how = SolverVerdict.BROKEN, f"its patch can't be made: {error}"
    else:
        if patch:
            done = grade(rig, case, patch)
            longest_s = max((run.duration_s for run in done.runs), default=0.0)
            verdict, how = _verdict(done.verdict), how_found(done)
        else:
            verdict, how = SolverVerdict.NOT_APPLICABLE, why_not(solver, target, patch)
    found = SolverResult(
        name=attack.name,
        way=attack.code,
        honest=solver.honest,
        verdict=verdict,
        how=how,
        duration_s=round(time.monotonic() - began, 3),
    )
    return found, longest_s


def _verdict(verdict: Verdict) -> SolverVerdict:
    match verdict:
        case Verdict.RESOLVED:
            return SolverVerdict.ACCEPTED
        case Verdict.NOT_RESOLVED | Verdict.TAMPERED:
            return SolverVerdict.REJECTED
        case Verdict.INFRA_FAILED:
            return SolverVerdict.BROKEN
        case never:
            assert_never(never)


def how_found(done: Grade) -> str:
    """Return what a grade rests on, and the first thing that was seen beside it."""
    if done.verdict is Verdict.RESOLVED:
        return "every test passed"
    if done.evidence:
        first = done.evidence[0]
        return f"tampering, by {done.reason.value}: {first.code} at {first.place}: {first.detail}"
    said = f"{done.reason.value}: {done.message}"
    note = next(iter(done.notes), None)
    return said if note is None else f"{said}; {note.code} at {note.place}: {note.detail}"


def why_not(solver: Solver, target: Target, patch: bytes | None) -> str:
    """Return what a task lacks for a solver that made no patch (None), or one that changes nothing."""
    if patch is not None:
        return "what it changes isn't there at base"
    if target.module is None:
        return "the fix changes no Python file"
    if not target.names:
        return f"the fix changes no function of {target.module}"
    if solver.honest:
        return "the fix changes methods alone, no function that others could go through"
    if solver.attack.code == "R17":
        return "the tests lie in no folder of their own"
    return "the hidden tests compare no call with a plain value"
