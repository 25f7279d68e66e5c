"""The command line application; each command group registers itself in one file."""

from typing import Annotated

import typer

from swequarry import __version__

app = typer.Typer(
    name="swequarry",
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
