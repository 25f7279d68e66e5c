"""The command line application: the list of commands, each loaded when it is asked for.

`--help` and a mistyped command need names and one line each, while the modules behind them bring SQLAlchemy,
pyarrow and the whole line along. A test holds each line here against the docstring of its command.
"""

from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from swequarry import __version__

COMMANDS: Final = {
    "run": ("run_commands", "Mine, reconstruct and verify; the same command again continues."),
    "mine": ("mine_command", "Mine candidates and stop there; `run` goes on from them."),
    "reconstruct": ("run_commands", "Take one repository, or one pull request of it, all the way to tasks."),
    "retry": (
        "inspect_commands",
        "Try again what failed in the newest run, poison items too, with the run's own settings.",
    ),
    "demo": (
        "demo_command",
        "Build an example repository with nineteen pull requests and run the whole line over it.",
    ),
    "status": ("inspect_commands", "Show how far the newest run is: funnel, reasons, yield by repository."),
    "scorecard": (
        "scorecard_command",
        "Show what the newest run measured of each repository: builds, tests, coverage, flakes, minutes.",
    ),
    "tasks": (
        "inspect_commands",
        "List the tasks of the newest run, the weakest tests first; exit code 3 if there is none.",
    ),
    "rejects": (
        "inspect_commands",
        "List what was rejected or failed, with the reason; exit code 1 if there is any.",
    ),
    "why": ("inspect_commands", "Say how an item ended and why, stage by stage, with the evidence."),
    "show": ("inspect_commands", "Show a task: statement, environment, tests, where it came from."),
    "explain-env": (
        "explain_command",
        "Explain an item's environment: evidence, plan, every try, lock, what was lost.",
    ),
    "shell": (
        "shell_command",
        "Open a shell, or run a command, in a fresh copy of an item's world, as its tests see it.",
    ),
    "write-tests": (
        "tests_commands",
        "Write tests for an item and prove each by running it; exit code 3 if none is admitted.",
    ),
    "tests": ("tests_commands", "Show a task's hidden tests: who wrote each, its proof, what it rejects."),
    "grade": (
        "grade_command",
        "Grade a patch for a task, or a file of predictions; the same call again continues.",
    ),
    "review": (
        "review_command",
        "Review a patch, commits, a pull request, a task or trajectories; exit code 1 if one is blocked.",
    ),
    "label": (
        "label_commands",
        "Say what you think of a task or of a patch for it; the next `calibrate` counts it.",
    ),
    "calibrate": (
        "label_commands",
        "Measure how often each rule of the review is right, and demote those that are wrong too often.",
    ),
    "selftest": (
        "selftest_command",
        "Let known attacks and honest solutions loose on a task, to see that grading tells them apart.",
    ),
    "export": (
        "output_commands",
        "Write the tasks of the newest run as a dataset.",
    ),
    "check": (
        "output_commands",
        "Check a release or an exported folder: files, hashes, each test id through the named log parser.",
    ),
    "release": (
        "release_commands",
        "Write a named version of the newest run's dataset: splits, budgets, flags, reasons, hashes.",
    ),
    "recheck": (
        "recheck_command",
        "Run gold and nothing again over a release, say what changed and why, list what to deprecate.",
    ),
    "diff": (
        "release_commands",
        "Compare two releases or exported sets: tasks, fields and tests; exit code 1 if they differ.",
    ),
    "report": (
        "output_commands",
        "Write the report of the newest run as one HTML file that needs no network.",
    ),
    "schema": (
        "output_commands",
        "Print a schema: of the settings (JSON Schema) or of the dataset's rows (column: type).",
    ),
    "decontam": (
        "decontam_command",
        "Tell which rows of a file are in a benchmark, and quote by what.",
    ),
    "fingerprint": (
        "decontam_command",
        "Write the fingerprints of a benchmark: hashes by which its items are recognised, and no text.",
    ),
    "gc": ("output_commands", "Delete blobs that nothing in the ledger names."),
    "ledger": ("ledger_commands", "Copy the ledger between SQLite and Postgres."),
    "doctor": ("doctor", "Check git, sandboxes, interpreters and disk; exit code 5 if no sandbox can run."),
    "images": ("images", "Make, push and remove what sandboxes start from: images and stored worlds."),
}
"""Name: the module in `swequarry.cli` that has it, and the first line of its help."""


def command_group(help_: str | None = None) -> typer.Typer:
    """Return what the commands of one module register with; the module calls it `group`."""
    return typer.Typer(help=help_, no_args_is_help=True, rich_markup_mode="markdown")


class _Unloaded(TyperCommand):
    """Stands for a command in help and look-ups; becomes the real one where its arguments are parsed."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        return load_command(str(self.name)).make_context(info_name, args, parent, **extra)


class _Commands(TyperGroup):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, (_, line) in COMMANDS.items():
            self.commands.setdefault(name, _Unloaded(name, help=line, rich_markup_mode="markdown"))


def load_command(name: str) -> Any:
    """Import the module of a command and return the command."""
    group = typer.main.get_group(import_module(f"swequarry.cli.{COMMANDS[name][0]}").group)
    return group.commands.get(name, group)


app = typer.Typer(
    name="swequarry",
    cls=_Commands,
    help="Turn the history of real repositories into verified software-engineering tasks.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _version(value: bool) -> None:  # noqa: FBT001 - typer calls it with the flag
    if value:
        typer.echo(f"swequarry {__version__}")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take what all commands share."""
