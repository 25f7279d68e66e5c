"""Guarded runs of a task's tests: what grading and the proofs of its checks have in common."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Self, TypeVar

from swequarry.delta import FileContent, TreeDelta
from swequarry.errors import SandboxError
from swequarry.git.trees import TreeWorkbench
from swequarry.records import BlobHash, CheckFile, Recipe
from swequarry.sandbox.contract import Limits, SandboxBackend, World
from swequarry.verify.candidate import overlaid
from swequarry.verify.runner import RunOptions, RunResult, run_tests
from swequarry.verify.survey import Survey, survey
from swequarry.verify.targets import path_bytes

T = TypeVar("T")
_TRIES = 2
"""A run that the machinery spoilt is done once more before that is all there is to say."""


class StoppedError(Exception):
    """Nobody waits for what these runs would say any more; it tells nothing of candidate or machinery."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """A world to run in, with what it takes: workbench, backend, limits of one run, blobs by hash.

    `survey` says what the pristine world offers; `surveyed` asks it. No run is begun once `stopped` says so.
    """

    world: World
    bench: TreeWorkbench
    backend: SandboxBackend
    limits: Limits
    get_blob: Callable[[BlobHash], bytes]
    test_timeout_s: float = 300.0
    survey: Survey | None = None
    stopped: Callable[[], bool] = lambda: False

    def surveyed(self, recipe: Recipe) -> tuple["Rig", Survey]:
        """Return a rig whose world was asked, and the answer.

        Raises:
            SandboxError: as `survey`.
        """
        found = self.survey or _again(lambda: survey(self.backend, self.world, recipe, self.limits))
        return replace(self, survey=found), found

    def run(
        self,
        delta: TreeDelta,
        targets: Sequence[str],
        recipe: Recipe,
        seed: int,
        more: RunOptions = RunOptions(),  # noqa: B008 (frozen)
    ) -> RunResult:
        """Run some test files in a fresh copy of the world, guarded; `more` has other options than ours.

        Raises:
            SandboxError: the machinery broke, twice.
            StoppedError: nobody waits for it any more.
        """
        if self.stopped():
            raise StoppedError
        guard = self.survey.guard(recipe.test_framework) if self.survey is not None else ""
        options = replace(more, seed=seed, test_timeout_s=self.test_timeout_s, guard=guard)
        return _again(
            lambda: run_tests(self.backend, self.world, delta, targets, recipe, options, self.limits)
        )

    def with_files(self, delta: TreeDelta, files: Sequence[CheckFile]) -> TreeDelta:
        """Return a delta with files of grading's own on top.

        Raises:
            StorageError: one isn't in the blob store.
        """
        own = {path_bytes(file.path): FileContent(data=self.get_blob(file.content)) for file in files}
        return overlaid(delta, TreeDelta(files=own))


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedRig(Rig):
    """A rig that keeps its runs; `surveyed` gives one that keeps them in the same place."""

    seen: list[RunResult] = field(default_factory=list)

    @classmethod
    def of(cls, rig: Rig) -> Self:
        """Return a rig that keeps its runs, otherwise like another."""
        return cls(**{one.name: getattr(rig, one.name) for one in fields(Rig)})

    def run(
        self,
        delta: TreeDelta,
        targets: Sequence[str],
        recipe: Recipe,
        seed: int,
        more: RunOptions = RunOptions(),  # noqa: B008 (frozen)
    ) -> RunResult:
        """Run as `Rig` does, and raise what it does."""
        done = Rig.run(self, delta, targets, recipe, seed, more)
        self.seen.append(done)
        return done


def _again(attempt: Callable[[], T]) -> T:
    for _ in range(_TRIES - 1):
        try:
            return attempt()
        except SandboxError:
            continue
    return attempt()
