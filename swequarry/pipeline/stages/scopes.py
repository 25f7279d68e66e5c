"""What the stage `verify` needs to look beyond the test files of a pull request."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from swequarry.delta import TreeDelta
from swequarry.errors import ObjectMissingError
from swequarry.git.trees import TreeWorkbench
from swequarry.pipeline.stages.house import House
from swequarry.records import Candidate, Recipe, State
from swequarry.sandbox.contract import World
from swequarry.verify.mutation_diff import ChangedFile
from swequarry.verify.mutation_fixes import changed_files
from swequarry.verify.payload import Tap
from swequarry.verify.runner import RunOptions, RunResult, run_tests
from swequarry.verify.scope import Scope, widened
from swequarry.verify.states import state_trees

_SEED = 40_000


def widening(
    house: House, candidate: Candidate, world: World, recipe: Recipe, deltas: Mapping[State, TreeDelta]
) -> Callable[[tuple[str, ...]], Scope]:
    """Return what adds to the test files of a pull request those of the scope that the settings name."""
    settings = house.settings.verify

    def scout(paths: Sequence[str], taps: tuple[Tap, ...], wall_s: float) -> RunResult:
        options = RunOptions(seed=_SEED, test_timeout_s=float(settings.test_timeout_s), taps=taps)
        limits = replace(house.test_limits, wall_s=min(house.test_limits.wall_s, wall_s))
        return run_tests(house.backend, world, deltas[State.AFTER], paths, recipe, options, limits)

    def widen(targets: tuple[str, ...]) -> Scope:
        if settings.scope == "touched":
            return Scope(name=settings.scope, targets=targets)
        sources = _sources(house, candidate, deltas[State.AFTER])
        changed = _changed(house, candidate)
        return widened(settings.scope, targets, sources, changed, scout, float(settings.scope_budget_s))

    return widen


def _changed(house: House, candidate: Candidate) -> tuple[ChangedFile, ...]:
    with TreeWorkbench(house.repository(candidate.repo)) as bench:
        before, after = state_trees(bench, candidate, house.workspace.blobs.get)
        return changed_files(bench, before, after)


def _sources(house: House, candidate: Candidate, after: TreeDelta) -> dict[bytes, bytes]:
    """Return the Python files after the fix by path; without those that a partial mirror lacks."""
    repository = house.repository(candidate.repo)
    entries = repository.list_tree(candidate.base_tree)
    found = {}
    with repository.reader() as reader:
        for entry in entries:
            if entry.kind == "blob" and entry.path.endswith(b".py"):
                try:
                    found[entry.path] = reader.read(entry.sha)[1]
                except ObjectMissingError:
                    continue
    for path in after.removed:
        found.pop(path, None)
    return found | {path: file.data for path, file in after.files.items() if path.endswith(b".py")}
