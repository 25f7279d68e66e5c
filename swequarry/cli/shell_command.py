"""`shell`: a person or a solver in an item's world, with nothing more than its tests have, but the index."""

import contextlib
import dataclasses
import os
import shlex
import sys
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer

from reconstruct.environment.builder import view_of
from swequarry.cli.app import command_group
from swequarry.cli.console import note
from swequarry.cli.options import Item, Quiet, Workspace_
from swequarry.cli.workspace import open_workspace
from swequarry.delta import TreeDelta
from swequarry.errors import ExitCode, InputError, UsageError
from swequarry.pipeline.known_item import KnownItem, house_of_last_run, know_item
from swequarry.pipeline.reasons import explain
from swequarry.pipeline.stages.environment import environment_world
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.stages.worlds import deltas_of
from swequarry.records import Candidate, Environment, Snapshot, State
from swequarry.sandbox.contract import ENVIRONMENT, TESTBED, Command, EndedBy, ExecResult, World
from swequarry.sandbox.index_access import INDEX_URL, INDEX_VARIABLES, with_index
from swequarry.sandbox.index_pages import IndexView, normalise
from swequarry.sandbox.index_proxy import IndexProxy
from swequarry.sandbox.terminal import Terminal, is_terminal
from swequarry.verify.build_again import build_again
from swequarry.verify.targets import select_targets

group = command_group()

_A_DAY_S = 24 * 3600.0


class Network(StrEnum):
    """What a visitor reaches beside loopback: nothing, or the dated package index."""

    NONE = "none"
    INDEX = "index"


@group.command()
def shell(
    item: Item,
    command: Annotated[
        list[str] | None, typer.Argument(help="After `--`: a command instead of a shell.")
    ] = None,
    *,
    state: Annotated[
        State, typer.Option(help="`base`: without tests; `before`: with them; `after`: with the fix too.")
    ] = State.BEFORE,
    network: Annotated[
        Network,
        typer.Option(
            help="`none`; `index`: the package index as of the task's day, without the project itself."
        ),
    ] = Network.NONE,
    workspace: Workspace_ = None,
    quiet: Quiet = False,
) -> int:
    """Open a shell, or run a command, in a fresh copy of an item's world, as its tests see it.

    No network, the same user and limits; what you change is gone at the end. The exit code is the command's.
    With `--network index` pip and uv find the index that the environment was built from, and nothing newer.

    Example: `swequarry shell tenacity-656 --state after -- python -m pytest tests`
    """
    if not command and not is_terminal():
        raise UsageError(
            "a shell needs a terminal; give a command instead: `swequarry shell ITEM -- COMMAND`"
        )
    house = house_of_last_run(open_workspace(workspace))
    known = know_item(house, item)
    environment, snapshot = _world_of(house, known)
    deltas = deltas_of(house, known.candidate)
    if not quiet:
        targets = select_targets(known.candidate.test_files, deltas[State.BEFORE])
        _introduce(known, environment, state, targets, network)
    world = environment_world(house, known.candidate, snapshot, environment)
    view = index_view(environment, known.candidate) if network is Network.INDEX else None
    made = build_again(house.backend, world, deltas[state], environment.recipe, house.test_limits)
    if made.failure is not None:
        note(f"the extension modules of this state can't be built, so older ones are there: {made.failure}")
    visit = _Visit(house, world, made.delta, dict(environment.recipe.variables), view)
    argv = tuple(command or ())
    return visit.interactive(argv, f"{known.item} {state.value}") if is_terminal() else visit.batch(argv)


def index_view(environment: Environment, candidate: Candidate) -> IndexView:
    """Return what a visitor may see of the index: what the build saw, without the project under any name.

    A project whose name turned out only during its build is known here by its repository's name.
    """
    view = view_of(environment.recipe)
    return dataclasses.replace(view, denied=view.denied | {normalise(candidate.repo.name)})


@dataclasses.dataclass(frozen=True, slots=True)
class _Visit:
    house: House
    world: World
    delta: TreeDelta
    variables: dict[str, str]
    view: IndexView | None = None

    @contextlib.contextmanager
    def _index(self) -> Iterator[IndexProxy | None]:
        """Serve the index for a visit, if it is to have one; say at the end what the index failed to give."""
        if self.view is None:
            yield None
            return
        with self.house.index.open(self.view) as proxy:
            yield proxy
            for trouble in proxy.trouble:
                note(f"the package index failed: {trouble}")

    def batch(self, argv: tuple[str, ...]) -> int:
        """Run a command to its end, then print what it printed; nobody can type."""
        backend, limits = self.house.backend, self.house.test_limits
        with self._index() as index:
            if index is None:
                command = Command(argv=argv, variables=self.variables)
                done = backend.run_once(self.world, self.delta, command, limits)
            else:
                command = Command(argv=with_index(argv), variables={**INDEX_VARIABLES, **self.variables})
                with backend.create(self.world, index_socket=index.socket) as sandbox:
                    sandbox.put(self.delta)
                    done = sandbox.run(command, limits)
        sys.stdout.buffer.write(done.output)
        sys.stdout.buffer.flush()
        return _code(done)

    def interactive(self, argv: tuple[str, ...], prompt: str) -> int:
        """Let a person type, a day long at most."""
        shown = {"TERM": os.environ.get("TERM", "dumb"), "PS1": f"{prompt} \\w\\$ "}
        limits = dataclasses.replace(self.house.test_limits, wall_s=_A_DAY_S)
        with contextlib.ExitStack() as held:
            index = held.enter_context(self._index())
            terminal = held.enter_context(Terminal())
            socket = index.socket if index else None
            made = self.house.backend.create(self.world, index_socket=socket, binds=(terminal.bind,))
            sandbox = held.enter_context(made)
            sandbox.put(self.delta)
            variables = {**(INDEX_VARIABLES if index else {}), **self.variables, **shown}
            wrap = with_index if index else tuple
            return _code(terminal.attend(sandbox, argv, variables, limits, wrap))


def _world_of(house: House, known: KnownItem) -> tuple[Environment, Snapshot]:
    """Return what the world of an item is made from.

    Raises:
        InputError: it has no environment; says why.
    """
    if known.environment is not None and known.snapshot is not None:
        return known.environment, known.snapshot
    verdict = explain(house.workspace, known.item).verdict
    raise InputError(
        f"no environment is stored for {known.item}: {verdict}. "
        f"`swequarry explain-env {known.item}` shows what was tried"
    )


def _introduce(
    known: KnownItem, environment: Environment, state: State, targets: tuple[str, ...], network: Network
) -> None:
    recipe = environment.recipe
    tests = shlex.join((*recipe.test_command, *targets))
    if recipe.test_framework == "django":  # its runner takes labels, not files
        tests = f"{shlex.join(recipe.test_command)}, for {shlex.join(targets)}"
    reach = "without a network"
    if network is Network.INDEX:
        reach = f"with the index as of {recipe.cutoff:%Y-%m-%d} at {INDEX_URL} and no other network"
    note(f"{known.item}, state {state.value}: a fresh copy in {environment.backend}, {reach}")
    python = f"Python {environment.python_version}"
    note(f"the repository is {TESTBED}, the environment {ENVIRONMENT}/env ({python}); leave with `exit`")
    note(f"its tests: {tests}" + ("  (not here in this state)" if state is State.BASE else ""))


def _code(done: ExecResult) -> int:
    """Return the command's own exit code, or say which limit ended it."""
    if done.ended_by in (EndedBy.EXITED, EndedBy.SIGNALLED) and done.exit_code is not None:
        return done.exit_code
    note(f"ended by {done.ended_by.value}; limits are settings: sandbox.memory_mb, verify.timeout_s, ...")
    return ExitCode.FINDINGS
