"""The grading service: candidates' patches in, measured results out, many at a time.

    async with Grader(house, workers=8) as grader:
        graded = await grader.grade("tenacity-656", patch)

Nothing is global. A task is opened once (its world is found and asked) and stays warm; every thread that
works on it has a room of its own. What the machinery breaks is tried again and is never a verdict.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

from patchreview.measured import Calibration, calibration_of
from swequarry.errors import UsageError
from swequarry.pipeline.graded_task import OpenTask, open_task
from swequarry.pipeline.observed import SLOW, slow_tests, with_observed
from swequarry.pipeline.rooms import Rooms
from swequarry.pipeline.stages.house import House
from swequarry.records import BlobHash, ContentHash, Record, Reviewed, Task, TestId, TestOutcome, sha256_hex
from swequarry.verify.candidate import Case
from swequarry.verify.grade import Grade, Reason, Verdict, grade
from swequarry.verify.rig import Rig

if TYPE_CHECKING:
    from swequarry.pipeline.reviewing import PatchReviews

_TRIES = 3
_WARM_TASKS = 64
_HIDDEN_PASSED = frozenset({Reason.ALL_PASSED, Reason.CANARY, Reason.HELD_OUT})
"""What comes after all hidden tests passed: the tests that these name as failed are grading's own."""
_HIDDEN_FAILED = frozenset({Reason.TESTS, Reason.LIMIT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded(Record):
    """What came of one patch for one task.

    `passed_fail_to_pass` and `passed_pass_to_pass` count tests of `fail_to_pass` and `pass_to_pass` in all;
    `failed` names the others with their outcomes. `task` is the content hash of the task, `patch_sha256` that
    of the patch: the same two give the same verdict. The way of a cheat and what was seen are in `evidence`.
    `review` is what the rules say of the patch, None where nobody asked them; it changes no verdict.
    """

    instance_id: str
    task: ContentHash
    patch_sha256: str
    verdict: Verdict
    reason: Reason
    message: str = ""
    fail_to_pass: int = 0
    pass_to_pass: int = 0
    passed_fail_to_pass: int = 0
    passed_pass_to_pass: int = 0
    failed: tuple[tuple[TestId, TestOutcome], ...] = ()
    evidence: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    canary_share: float = 0.0
    review: Reviewed | None = None

    @property
    def resolved(self) -> bool:
        """Whether every FAIL_TO_PASS and PASS_TO_PASS test passed, and nothing measured spoke against it."""
        return self.verdict is Verdict.RESOLVED

    @property
    def accepted(self) -> bool:
        """Whether the patch resolves the task and the rules found nothing that blocks it."""
        return self.resolved and self.review is not None and not self.review.blocked

    @property
    def partial_credit(self) -> float:
        """The share of FAIL_TO_PASS tests that pass, 0 where a PASS_TO_PASS test broke or it isn't a verdict.

        For shaping a reward; a task is resolved or isn't.
        """
        measured = self.resolved or (self.verdict is Verdict.NOT_RESOLVED and self.reason in _HIDDEN_FAILED)
        if not measured or not self.fail_to_pass or self.passed_pass_to_pass < self.pass_to_pass:
            return 0.0
        return self.passed_fail_to_pass / self.fail_to_pass


@dataclass(slots=True)
class _Warm:
    """An opened task, its rooms, and how many calls are at it."""

    opened: OpenTask
    rooms: Rooms[tuple[Rig, Case]]
    users: int = 1

    @classmethod
    def of(cls, opened: OpenTask) -> Self:
        return cls(opened, Rooms(opened.room))


class Grader:
    """Grades patches for the tasks of a run, `workers` at a time; further calls wait for their turn.

    Made for any number of event loops and threads. `house` is `house_of_last_run(workspace)`. A context
    manager: who leaves it in good order waits for what is being graded, who leaves it by an exception waits
    only for runs under way.
    """

    def __init__(self, house: House, *, workers: int = 2) -> None:
        self._house = house
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="grade")
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._warm: OrderedDict[str, _Warm] = OrderedDict()
        self._stopped = threading.Event()

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for what is being graded, and leave all rooms."""
        if error is not None:
            self._stopped.set()
        await asyncio.to_thread(self.close)

    async def grade(self, task: str, patch: bytes | str) -> Graded:
        """Return what comes of a patch for a task, named by its id or a unique part of it.

        The event loop is never held up. A call that is cancelled while it waits for its turn costs nothing;
        later, the run under way goes on to its end or limit, and nothing is run after it.

        Raises:
            InputError: there is no such task.
            StorageError, SandboxError, GitError, RepositoryError: the task can't be opened.
            UsageError: the grader was closed before the call's turn came.
            StoppedError: the grader was left by an exception while this was being graded.
        """
        given_up = threading.Event()
        try:
            work = self._pool.submit(self.grade_now, task, patch, given_up.is_set)
        except RuntimeError as error:
            raise UsageError("this grader is closed; make another one") from error
        try:
            return await asyncio.wrap_future(work)
        except asyncio.CancelledError:
            if work.cancelled() and not _is_cancelled():
                raise UsageError("the grader was closed before this call's turn came") from None
            raise
        finally:
            given_up.set()

    def grade_now(
        self, task: str, patch: bytes | str, given_up: Callable[[], bool] = lambda: False
    ) -> Graded:
        """Do what `grade` does, in the calling thread; no run is begun once `given_up` says so.

        Raises:
            StoppedError: it was given up, or the grader was left by an exception.
            InputError, StorageError, SandboxError, GitError, RepositoryError: as `grade`.
        """
        data = patch.encode("utf-8", "surrogateescape") if isinstance(patch, str) else patch
        with self._task(task) as warm:
            if not data.strip():
                return self.reviewed(warm.opened.task, data, without_patch(warm.opened.task))
            done = self._grade(warm, data, given_up)
            for _ in range(_TRIES - 1):
                if done.verdict is not Verdict.INFRA_FAILED:
                    break
                done = self._grade(warm, data, given_up)
            found = graded(warm.opened.task, data, done)
            if found.resolved and done.runs:
                slow = slow_tests(done.runs[0].duration_s, warm.opened.gold_s)
                found = replace(found, review=Reviewed(findings=(slow,) if slow else ()))
            return self.reviewed(warm.opened.task, data, found)

    @cached_property
    def _reviews(self) -> "PatchReviews":
        from swequarry.pipeline.reviewing import PatchReviews  # noqa: PLC0415 - brings a parser along

        return PatchReviews(self._blob, self._calibration)

    def _blob(self, key: BlobHash) -> bytes:
        return self._house.workspace.blobs.get(key)

    def _calibration(self) -> Calibration:
        return calibration_of(self._house.workspace.root)

    def reviewed(self, task: Task, patch: bytes, found: Graded) -> Graded:
        """Return a verdict with what the rules of this version say of its patch; no world is needed.

        What its runs showed stays in the review.

        Raises:
            InputError: the workspace's calibration isn't one.
            StorageError: a patch of the task is missing.
        """
        before = found.review.findings if found.review is not None else ()
        observed = [one for one in before if one.rule == SLOW]
        return replace(found, review=with_observed(self._reviews(task, patch), observed))

    def gold_of(self, task: str) -> bytes:
        """Return the gold patch of a task.

        Raises:
            InputError, StorageError, SandboxError, GitError, RepositoryError: as `grade`.
        """
        with self._task(task) as warm:
            return self._house.workspace.blobs.get(warm.opened.task.candidate.gold_patch)

    def close(self) -> None:
        """Wait for what is being graded, and leave all rooms; nothing can be graded afterwards.

        Calls that wait for their turn are cancelled.
        """
        self._pool.shutdown(wait=True, cancel_futures=True)
        while self._warm:
            self._warm.popitem()[1].rooms.close()

    def _grade(self, warm: _Warm, patch: bytes, given_up: Callable[[], bool]) -> Grade:
        with warm.rooms.enter() as stay:
            rig, case = stay.room
            rig = replace(rig, stopped=lambda: given_up() or self._stopped.is_set())
            done = grade(rig, case, patch)
            stay.spoilt = done.verdict is Verdict.INFRA_FAILED
            return done

    @contextmanager
    def _task(self, name: str) -> Iterator[_Warm]:
        warm = self._entered(name) or self._opened(name)
        self._cool()
        try:
            yield warm
        finally:
            with self._lock:
                warm.users -= 1

    def _opened(self, name: str) -> _Warm:
        """Open a task, one thread for all that want it."""
        with self._lock:
            opening = self._opening.setdefault(name, threading.Lock())
        with opening:
            warm = self._entered(name)
            if warm is None:
                try:
                    warm = self._kept(name, _Warm.of(open_task(self._house, name)))
                finally:
                    with self._lock:
                        self._opening.pop(name, None)
            return warm

    def _kept(self, name: str, warm: _Warm) -> _Warm:
        """Return the warm task of a name: this one, unless another thread was faster."""
        with self._lock:
            known = self._warm.setdefault(name, warm)
            if known is not warm:
                known.users += 1
            return known

    def _entered(self, name: str) -> _Warm | None:
        """Return a warm task that stays so until its user leaves, None where it isn't warm."""
        with self._lock:
            warm = self._warm.get(name)
            if warm is not None:
                warm.users += 1
                self._warm.move_to_end(name)
            return warm

    def _cool(self) -> None:
        """Close the tasks that were used longest ago, where there are more than may be warm."""
        with self._lock:
            idle = [key for key, one in self._warm.items() if not one.users]
            cold = [self._warm.pop(key) for key in idle[: max(0, len(self._warm) - _WARM_TASKS)]]
        for one in cold:
            one.rooms.close()


def _is_cancelled() -> bool:
    """Whether somebody cancelled the task that runs this."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def without_patch(task: Task) -> Graded:
    """Return what comes of an empty patch; nothing is run: that the unfixed code fails was verified."""
    return Graded(
        instance_id=task.instance_id,
        task=task.content_hash(),
        patch_sha256=sha256_hex(b""),
        verdict=Verdict.NOT_RESOLVED,
        reason=Reason.NO_PATCH,
        message="the patch is empty",
        fail_to_pass=len(task.verifier.fail_to_pass),
        pass_to_pass=len(task.verifier.pass_to_pass),
    )


def graded(task: Task, patch: bytes, done: Grade) -> Graded:
    """Return a grade as a record that can be kept."""
    verifier = task.verifier
    failed = {test for test, _ in done.failed}
    judged = done.verdict in (Verdict.RESOLVED, Verdict.NOT_RESOLVED)

    def passed(tests: tuple[TestId, ...]) -> int:
        if judged and done.reason in _HIDDEN_PASSED:
            return len(tests)
        named = judged and done.reason in _HIDDEN_FAILED and failed
        return sum(test not in failed for test in tests) if named else 0

    return Graded(
        instance_id=task.instance_id,
        task=task.content_hash(),
        patch_sha256=sha256_hex(patch),
        verdict=done.verdict,
        reason=done.reason,
        message=done.message,
        fail_to_pass=len(verifier.fail_to_pass),
        pass_to_pass=len(verifier.pass_to_pass),
        passed_fail_to_pass=passed(verifier.fail_to_pass),
        passed_pass_to_pass=passed(verifier.pass_to_pass),
        failed=done.failed,
        evidence=tuple(f"{note.code} at {note.place}: {note.detail}" for note in done.evidence),
        notes=tuple(f"{note.code} at {note.place}: {note.detail}" for note in done.notes),
        canary_share=done.canary_share,
    )
