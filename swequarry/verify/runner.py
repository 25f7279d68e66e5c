"""Run chosen tests in one state of a world and return what each of them did."""

import dataclasses
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from swequarry.delta import TreeDelta
from swequarry.records import Recipe, TestId, TestReport
from swequarry.sandbox.contract import PYTHON, Command, Limits, SandboxBackend, World
from swequarry.verify.build_again import BuiltAgain, build_again
from swequarry.verify.frameworks import invocation
from swequarry.verify.passes import LIMIT_PROBLEMS, Progress, RunProblem
from swequarry.verify.payload import BOOTSTRAP, GUARDED_BOOTSTRAP, Orders, Tap, new_nonce, payload
from swequarry.verify.report import ModuleOrigin, read_channel

_OUTPUT_TAIL = 256 * 1024
_MIN_PASS_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run is perturbed and bounded.

    `seed` becomes PYTHONHASHSEED and, with each test's id, the seed of `random` and numpy: runs with other
    seeds may differ, a run with the same seed shouldn't. `max_passes` bounds the processes of one run: each
    crash or timeout costs one. `watch` are source files that must be imported from /testbed. `leave_out` are
    tests that aren't run and aren't in the report. `guard` is `Orders.guard`: set where the code under test
    may want to deceive. `taps` change how the tests are run.
    """

    seed: int = 0
    test_timeout_s: float = 300.0
    max_passes: int = 20
    watch: tuple[str, ...] = ()
    leave_out: frozenset[TestId] = frozenset()
    guard: str = ""
    taps: tuple[Tap, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The report of a run and what was observed beside it.

    `problems` concern the run as a whole. `suspects` are tests whose failing may come from a limit and not
    from the code. `output` is the tail of what the processes printed, for people and repair rules; no
    outcome is read from it. `origins` says where the watched modules came from. `addopts` are the
    project's pytest options as found and as kept.
    """

    report: TestReport
    output: bytes = b""
    duration_s: float = 0.0
    passes: int = 1
    problems: tuple[RunProblem, ...] = ()
    suspects: frozenset[TestId] = frozenset()
    evidence: tuple[str, ...] = ()
    origins: tuple[ModuleOrigin, ...] = ()
    addopts_found: tuple[str, ...] = ()
    addopts_kept: tuple[str, ...] = ()
    memory_events: int = 0
    process_events: int = 0

    @property
    def foreign_modules(self) -> tuple[ModuleOrigin, ...]:
        """The modules of the project that were imported from elsewhere than the checkout."""
        return tuple(origin for origin in self.origins if not origin.inside)


def run_tests(
    backend: SandboxBackend,
    world: World,
    delta: TreeDelta,
    targets: Sequence[str],
    recipe: Recipe,
    options: RunOptions,
    limits: Limits,
) -> RunResult:
    """Run the tests of some files in a fresh copy of a world with a delta applied.

    `targets` are test files relative to /testbed; those that aren't there in this state are left out.
    The wall limit bounds all processes of the run together. Extension modules whose sources the delta changes
    are built again first, within the same limits; where that fails, no test is collected.

    Raises:
        SandboxError: the machinery broke, or the run was killed from outside; nothing is known.
        UsageError: the recipe's test command isn't one of its framework.
    """
    made = build_again(backend, world, delta, recipe, limits)
    if made.failure is not None:
        return _unbuilt(made, recipe)
    delta = made.delta
    progress, output = Progress(targets, recipe.test_framework), b""
    spent_s, passes = 0.0, 0
    while passes < max(1, options.max_passes):
        orders = _orders(progress, options)
        command = build_command(recipe, orders)
        left = dataclasses.replace(limits, wall_s=limits.wall_s - spent_s)
        result = backend.run_once(world, delta, command, left)
        passes, spent_s = passes + 1, spent_s + result.duration_s
        output = (output + result.output)[-_OUTPUT_TAIL:]
        progress.add(read_channel(result.report, orders.nonce), result)
        if not progress.again or limits.wall_s - spent_s < _MIN_PASS_S:
            break
    return _result(progress, output, spent_s, passes)


def _unbuilt(made: BuiltAgain, recipe: Recipe) -> RunResult:
    reason = f"the extension modules can't be built again: {made.failure}"
    errors = (("", reason),) if made.limit is None else ()
    return RunResult(
        report=TestReport(framework=recipe.test_framework, collection_errors=errors),
        output=made.log[-_OUTPUT_TAIL:],
        passes=0,
        problems=(LIMIT_PROBLEMS[made.limit],) if made.limit is not None else (),
        evidence=(reason,),
    )


def _orders(progress: Progress, options: RunOptions) -> Orders:
    return Orders(
        nonce=new_nonce(),
        targets=tuple(progress.targets),
        skip=(*progress.settled, *sorted(options.leave_out)),
        watch=options.watch,
        seed=options.seed,
        test_timeout_s=options.test_timeout_s,
        guard=options.guard,
        taps=options.taps,
    )


def _result(progress: Progress, output: bytes, spent_s: float, passes: int) -> RunResult:
    return RunResult(
        report=progress.report(),
        output=output,
        duration_s=spent_s,
        passes=passes,
        problems=tuple(progress.problems),
        suspects=frozenset(progress.suspects),
        evidence=tuple(progress.evidence),
        origins=tuple(progress.origins.values()),
        addopts_found=progress.addopts[0],
        addopts_kept=progress.addopts[1],
        memory_events=progress.memory_events,
        process_events=progress.process_events,
    )


def build_command(recipe: Recipe, orders: Orders) -> Command:
    """Return the command of one process of a run: the recipe's interpreter flags, options and variables.

    Raises:
        UsageError: the recipe's test command isn't one of its framework, or nothing here runs that.
    """
    how = invocation(recipe)
    variables = dict(recipe.variables)
    inherited = shlex.split(variables.pop("PYTEST_ADDOPTS", ""))
    inherited = inherited if recipe.test_framework == "pytest" else []
    variables["PYTHONDONTWRITEBYTECODE"] = "1"
    variables["PYTHONHASHSEED"] = str(orders.seed % 2**32)
    orders = dataclasses.replace(orders, script=how.script, options=(*inherited, *how.options))
    program = payload(orders, how.adapter)
    start = GUARDED_BOOTSTRAP if orders.guard else BOOTSTRAP
    return Command(argv=(PYTHON, *how.flags, "-c", start), variables=variables, stdin=program)
