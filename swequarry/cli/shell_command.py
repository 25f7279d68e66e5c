"""`shell`: a person in an item's world, with nothing more than its tests have."""

import dataclasses
import os
import shlex
import sys
from typing import Annotated

import typer

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
from swequarry.records import Environment, Snapshot, State
from swequarry.sandbox.contract import ENVIRONMENT, TESTBED, Command, EndedBy, ExecResult, World
from swequarry.sandbox.terminal import Terminal, is_terminal
from swequarry.verify.targets import select_targets

group = command_group()

_A_DAY_S = 24 * 3600.0


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
    workspace: Workspace_ = None,
    quiet: Quiet = False,
) -> int:
    """Open a shell, or run a command, in a fresh copy of an item's world, as its tests see it.

    No network, the same user and limits; what you change is gone at the end. The exit code is the command's.

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
        _introduce(known, environment, state, targets)
    world = environment_world(house, known.candidate, snapshot, environment)
    visit = _Visit(house, world, deltas[state], dict(environment.recipe.variables))
    argv = tuple(command or ())
    return visit.interactive(argv, f"{known.item} {state.value}") if is_terminal() else visit.batch(argv)


@dataclasses.dataclass(frozen=True, slots=True)
class _Visit:
    house: House
    world: World
    delta: TreeDelta
    variables: dict[str, str]

    def batch(self, argv: tuple[str, ...]) -> int:
        """Run a command to its end, then print what it printed; nobody can type."""
        command = Command(argv=argv, variables=self.variables)
        done = self.house.backend.run_once(self.world, self.delta, command, self.house.test_limits)
        sys.stdout.buffer.write(done.output)
        sys.stdout.buffer.flush()
        return _code(done)

    def interactive(self, argv: tuple[str, ...], prompt: str) -> int:
        """Let a person type, a day long at most."""
        shown = {"TERM": os.environ.get("TERM", "dumb"), "PS1": f"{prompt} \\w\\$ "}
        limits = dataclasses.replace(self.house.test_limits, wall_s=_A_DAY_S)
        with Terminal() as terminal, self.house.backend.create(self.world, binds=(terminal.bind,)) as sandbox:
            sandbox.put(self.delta)
            return _code(terminal.attend(sandbox, argv, {**self.variables, **shown}, limits))


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


def _introduce(known: KnownItem, environment: Environment, state: State, targets: tuple[str, ...]) -> None:
    recipe = environment.recipe
    tests = shlex.join((*recipe.test_command, *targets))
    if recipe.test_framework == "django":  # its runner takes labels, not files
        tests = f"{shlex.join(recipe.test_command)}, for {shlex.join(targets)}"
    note(f"{known.item}, state {state.value}: a fresh copy in {environment.backend}, without a network")
    python = f"Python {environment.python_version}"
    note(f"the repository is {TESTBED}, the environment {ENVIRONMENT}/env ({python}); leave with `exit`")
    note(f"its tests: {tests}" + ("  (not here in this state)" if state is State.BASE else ""))


def _code(done: ExecResult) -> int:
    """Return the command's own exit code, or say which limit ended it."""
    if done.ended_by in (EndedBy.EXITED, EndedBy.SIGNALLED) and done.exit_code is not None:
        return done.exit_code
    note(f"ended by {done.ended_by.value}; limits are settings: sandbox.memory_mb, verify.timeout_s, ...")
    return ExitCode.FINDINGS
