"""The grading service under many calls at once: none is lost, none waits for another's fault, none goes on alone.

Tasks and verdicts are made up here; what is tested is who waits for whom. Waiting is for events, never for a time.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from task_factory import Blobs, make_task

from swequarry.errors import InputError, UsageError
from swequarry.pipeline import grader as grading
from swequarry.pipeline.grader import Grader
from swequarry.verify.grade import Grade, Reason, Verdict
from swequarry.verify.rig import Rig, StoppedError

BLOBS = Blobs()
TASK = make_task(BLOBS)
RESOLVED = Grade(verdict=Verdict.RESOLVED, reason=Reason.ALL_PASSED)
WRONG = Grade(verdict=Verdict.NOT_RESOLVED, reason=Reason.TESTS, failed=())
BROKEN = Grade(verdict=Verdict.INFRA_FAILED, reason=Reason.MACHINERY)
PATIENCE_S = 60

Work = Callable[[Rig, int, bytes], Grade]


@dataclass
class Quarry:
    """Stands for tasks, rooms and runs: `work` grades a patch in a room, told by its number."""

    work: Work = lambda _rig, _room, patch: RESOLVED if b"right" in patch else WRONG
    opened: list[str] = field(default_factory=list)
    rooms: int = 0
    left: list[int] = field(default_factory=list)

    def open_task(self, _house: object, name: str) -> Any:
        self.opened.append(name)
        if "unknown" in name:
            raise InputError(f"no task {name}")
        return SimpleNamespace(task=replace(TASK, instance_id=name), room=self.room, gold_s=(1.0, 1.2))

    @contextmanager
    def room(self) -> Iterator[tuple[Rig, int]]:
        self.rooms += 1
        number = self.rooms
        nothing: Any = None
        yield Rig(world=nothing, bench=nothing, backend=nothing, limits=nothing, get_blob=nothing), number
        self.left.append(number)

    def grade(self, rig: Rig, room: int, patch: bytes) -> Grade:
        return self.work(rig, room, patch)

    def grader(self, workers: int = 2) -> Grader:
        blobs = SimpleNamespace(get=BLOBS.get_blob)
        house = SimpleNamespace(workspace=SimpleNamespace(blobs=blobs, root=Path("/nowhere")))
        return Grader(house, workers=workers)  # type: ignore[arg-type]


@pytest.fixture
def quarry(monkeypatch: pytest.MonkeyPatch) -> Quarry:
    made = Quarry()
    monkeypatch.setattr(grading, "open_task", made.open_task)
    monkeypatch.setattr(grading, "grade", made.grade)
    return made


def until(event: threading.Event) -> None:
    assert event.wait(PATIENCE_S), "nobody came"


async def eventually(event: threading.Event) -> None:
    await asyncio.to_thread(until, event)


def test_no_verdict_of_two_hundred_calls_is_lost_or_another_s(quarry: Quarry) -> None:
    async def work() -> None:
        async with quarry.grader(8) as grader:
            calls = [(f"task-{n % 7}", b"right %d" % n if n % 3 else b"wrong %d" % n) for n in range(200)]
            found = await asyncio.gather(*(grader.grade(task, patch) for task, patch in calls))
        assert [one.instance_id for one in found] == [task for task, _ in calls]
        assert [one.resolved for one in found] == [b"right" in patch for _, patch in calls]
        assert len({one.patch_sha256 for one in found}) == len(calls)

    asyncio.run(work())
    assert sorted(quarry.opened) == [f"task-{n}" for n in range(7)]
    assert sorted(quarry.left) == list(range(1, quarry.rooms + 1))
    assert quarry.rooms <= 7 * 8


def test_slow_hidden_tests_are_said_beside_the_verdict_and_stay_when_it_is_reviewed_again(
    quarry: Quarry,
) -> None:
    took: Any = (SimpleNamespace(duration_s=60.0),)
    quarry.work = lambda _rig, _room, _patch: replace(RESOLVED, runs=took)
    grader = quarry.grader()
    found = grader.grade_now("t", b"right")
    assert found.resolved
    assert found.review is not None
    assert "slow-tests" in {one.rule for one in found.review.findings}
    again = grader.reviewed(TASK, b"right", found)
    assert again.review == found.review
    grader.close()


def test_event_loop_goes_on_while_every_worker_grades(quarry: Quarry) -> None:
    beats = threading.Event()
    begun = threading.Event()

    def grade(_rig: Rig, _room: int, _patch: bytes) -> Grade:
        begun.set()
        until(beats)  # set by the event loop, which would never come here if a call held it up
        return RESOLVED

    async def heartbeat() -> None:
        await eventually(begun)
        for _ in range(100):
            await asyncio.sleep(0)
        beats.set()

    async def work() -> None:
        async with quarry.grader() as grader:
            heart = asyncio.create_task(heartbeat())
            found = await asyncio.gather(*(grader.grade("t", b"%d" % n) for n in range(50)))
            await heart
        assert all(one.resolved for one in found)

    quarry.work = grade
    asyncio.run(work())


def test_call_that_is_cancelled_makes_no_more_runs_and_frees_its_worker(quarry: Quarry) -> None:
    running, go = threading.Event(), threading.Event()
    said: list[bool] = []

    def grade(rig: Rig, _room: int, patch: bytes) -> Grade:
        if b"slow" in patch:
            running.set()
            until(go)
            said.append(rig.stopped())
            rig.run(None, (), None, 0)  # type: ignore[arg-type]
            raise AssertionError("a run was begun for nobody")
        return RESOLVED

    async def work() -> None:
        async with quarry.grader(1) as grader:
            slow = asyncio.create_task(grader.grade("t", b"slow"))
            await eventually(running)
            slow.cancel()
            with pytest.raises(asyncio.CancelledError):
                await slow
            go.set()
            assert (await grader.grade("t", b"right")).resolved

    quarry.work = grade
    asyncio.run(work())
    assert said == [True]


def test_call_that_is_cancelled_before_its_turn_is_never_graded(quarry: Quarry) -> None:
    running, go = threading.Event(), threading.Event()
    seen = []

    def grade(_rig: Rig, _room: int, patch: bytes) -> Grade:
        seen.append(patch)
        running.set()
        until(go)
        return RESOLVED

    async def work() -> None:
        async with quarry.grader(1) as grader:
            first = asyncio.create_task(grader.grade("t", b"first"))
            await eventually(running)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(grader.grade("t", b"late"), timeout=0.01)
            go.set()
            assert (await first).resolved

    quarry.work = grade
    asyncio.run(work())
    assert seen == [b"first"]


def test_error_of_one_call_reaches_its_caller_and_no_other(quarry: Quarry) -> None:
    def grade(_rig: Rig, _room: int, patch: bytes) -> Grade:
        if b"bug" in patch:
            raise ZeroDivisionError
        return RESOLVED

    async def work() -> None:
        async with quarry.grader() as grader:
            calls = [("t", b"1"), ("t", b"bug"), ("unknown", b"2"), ("t", b"3")]
            found = await asyncio.gather(*(grader.grade(*call) for call in calls), return_exceptions=True)
        kinds = [type(one).__name__ for one in found]
        assert kinds == ["Graded", "ZeroDivisionError", "InputError", "Graded"]

    quarry.work = grade
    asyncio.run(work())


def test_task_that_could_not_be_opened_is_tried_again(quarry: Quarry) -> None:
    grader = quarry.grader()
    for _ in range(2):
        with pytest.raises(InputError):
            grader.grade_now("unknown", b"x")
    grader.close()
    assert quarry.opened == ["unknown", "unknown"]


def test_broken_room_is_given_up_and_the_next_try_has_another(quarry: Quarry) -> None:
    quarry.work = lambda _rig, room, _patch: BROKEN if room == 1 else RESOLVED
    grader = quarry.grader()
    assert grader.grade_now("t", b"x").resolved
    assert grader.grade_now("t", b"y").resolved
    assert (quarry.rooms, quarry.left) == (2, [1])
    grader.close()


def test_machinery_that_stays_broken_is_no_verdict(quarry: Quarry) -> None:
    quarry.work = lambda _rig, _room, _patch: BROKEN
    grader = quarry.grader()
    assert grader.grade_now("t", b"x").verdict is Verdict.INFRA_FAILED
    grader.close()
    assert sorted(quarry.left) == [1, 2, 3]


def test_patch_as_text_is_the_patch_and_no_path(quarry: Quarry) -> None:
    grader = quarry.grader()
    as_text, as_bytes = (grader.grade_now("t", patch) for patch in ("right é\r\n", "right é\r\n".encode()))
    grader.close()
    assert as_text == as_bytes
    assert as_text.resolved


def test_closed_grader_says_so_and_leaves_nobody_waiting(quarry: Quarry) -> None:
    running, go = threading.Event(), threading.Event()

    def grade(_rig: Rig, _room: int, _patch: bytes) -> Grade:
        running.set()
        until(go)
        return RESOLVED

    async def work() -> None:
        grader = quarry.grader(1)
        first = asyncio.create_task(grader.grade("t", b"first"))
        await eventually(running)
        second = asyncio.create_task(grader.grade("t", b"second"))
        await asyncio.sleep(0)
        closing = asyncio.create_task(asyncio.to_thread(grader.close))
        with pytest.raises(UsageError, match="closed before"):
            await second
        go.set()
        assert (await first).resolved
        await closing
        with pytest.raises(UsageError, match="closed"):
            await grader.grade("t", b"third")

    quarry.work = grade
    asyncio.run(work())
    assert quarry.left == [1]


def test_grader_that_is_left_by_an_exception_begins_no_more_runs(quarry: Quarry) -> None:
    running = threading.Event()

    def grade(rig: Rig, _room: int, _patch: bytes) -> Grade:
        running.set()
        stopped = threading.Event()
        while not rig.stopped():
            stopped.wait(0.001)
        raise StoppedError

    async def leave(grader: Grader) -> None:
        async with grader:
            await eventually(running)
            raise ZeroDivisionError

    async def work() -> None:
        grader = quarry.grader(1)
        waiting = asyncio.create_task(grader.grade("t", b"x"))
        with pytest.raises(ZeroDivisionError):
            await leave(grader)
        with pytest.raises(StoppedError):
            await waiting

    quarry.work = grade
    asyncio.run(work())


def test_two_graders_share_nothing(quarry: Quarry) -> None:
    first, second = quarry.grader(), quarry.grader()
    first.grade_now("t", b"x")
    first.close()
    assert second.grade_now("t", b"right").resolved
    second.close()
    assert quarry.opened == ["t", "t"]
    assert sorted(quarry.left) == [1, 2]


def test_tasks_beyond_what_may_be_warm_are_left(quarry: Quarry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "_WARM_TASKS", 2)
    grader = quarry.grader()
    for task in ("a", "b", "c", "a"):
        grader.grade_now(task, b"x")
    assert quarry.left == [1, 2]
    assert quarry.opened == ["a", "b", "c", "a"]
    grader.close()
    assert sorted(quarry.left) == [1, 2, 3, 4]
