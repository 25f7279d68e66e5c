"""The trial of an environment: do the candidate's tests run in it after the fix?"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from reconstruct.environment.search import TrialResult
from swequarry.config import VerifySettings
from swequarry.delta import TreeDelta
from swequarry.records import Candidate, Recipe, State, TestOutcome, TestReport
from swequarry.sandbox.contract import Limits, SandboxBackend, World
from swequarry.verify.passes import RunProblem
from swequarry.verify.runner import RunOptions, RunResult, run_tests
from swequarry.verify.targets import select_targets

_UNEQUIPPED = re.compile(r"ModuleNotFoundError|ImportError|No module named|fixture '\w+' not found")
_ENOUGH_S = 300.0
"""A trial that is cut off after this without an error of import says nothing against its environment: that
tests are slow is for the verifier to judge. Nor is it bettered: what would depends on how far it came."""
_RAN = frozenset({TestOutcome.PASSED, TestOutcome.FAILED, TestOutcome.XFAILED, TestOutcome.XPASSED})


@dataclass(frozen=True, slots=True)
class Trial:
    """Runs the tests of the test patch once in the state `after`; a `reconstruct` search calls it.

    `standing` are test files of the base, which are run where the pull request has none.
    """

    backend: SandboxBackend
    candidate: Candidate
    deltas: Mapping[State, TreeDelta]
    settings: VerifySettings
    limits: Limits
    standing: tuple[str, ...] = ()

    def __call__(self, world: World, recipe: Recipe) -> TrialResult:
        """Return whether the tests ran, how many passed, and what the runner said.

        Raises:
            SandboxError: the machinery broke.
        """
        targets = select_targets(self.candidate.test_files, self.deltas[State.BEFORE]) or self.standing
        if not targets:
            return TrialResult(ok=True, log=b"")
        watch = tuple(path for path in self.candidate.gold_files if path.endswith(".py"))
        options = RunOptions(test_timeout_s=self.settings.test_timeout_s, watch=watch)
        limits = replace(self.limits, wall_s=min(self.limits.wall_s, _ENOUGH_S))
        run = run_tests(self.backend, world, self.deltas[State.AFTER], targets, recipe, options, limits)
        if run.foreign_modules:
            places = "\n".join(f"{one.name} is imported from {one.file}" for one in run.foreign_modules)
            return TrialResult(ok=False, log=trial_log(run) + b"\n" + places.encode())
        passed = sum(result.outcome is TestOutcome.PASSED for result in run.report.results)
        if RunProblem.WALL_LIMIT in run.problems and not run.report.collection_errors:
            return TrialResult(ok=True, log=b"", score=passed)
        return TrialResult(ok=passed > 0 or _ran(run.report), log=trial_log(run), score=passed)


def _ran(report: TestReport) -> bool:
    """Whether the tests ran although none passed: then it's the code that fails, not the environment."""
    ran = [result for result in report.results if result.outcome in _RAN]
    unequipped = [result for result in ran if _UNEQUIPPED.search(result.detail)]
    return bool(ran) and not unequipped and not report.collection_errors


def trial_log(run: RunResult) -> bytes:
    """Return what the runner printed, with the last line of every error and skip."""
    report = run.report
    pairs = [*report.collection_errors, *report.collection_skips]
    details = [f"{path}: {detail}" for path, detail in pairs]
    details += [f"{result.id}: {result.detail}" for result in report.results if result.detail]
    return run.output + b"\n" + "\n".join(details).encode("utf-8", "replace")
