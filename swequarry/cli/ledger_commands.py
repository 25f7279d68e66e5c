"""`ledger`: the record of decisions itself, wherever it lies."""

from pathlib import Path
from typing import Annotated

import typer

from swequarry.cli.app import command_group
from swequarry.cli.console import print_json, print_lines
from swequarry.cli.options import Json
from swequarry.errors import ExitCode
from swequarry.ledger.copying import copy_ledger
from swequarry.ledger.ledger import Ledger
from swequarry.pipeline.workspace import LEDGER_NAME

group = command_group("Copy the ledger between SQLite and Postgres.")
_PLACE = "A workspace, a `.sqlite` file, or `postgresql://HOST/DATABASE`."


@group.callback()
def _ledger() -> None:
    """Keep it a group of commands."""


@group.command()
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help=_PLACE)],
    target: Annotated[str, typer.Argument(metavar="TO", help=f"{_PLACE} It must be empty.")],
    *,
    as_json: Json = False,
) -> int:
    """Copy a ledger whole, and compare the copy; stop what works on it before.

    Blobs stay where they are: copy the files of `blobs/` under the same names with any tool.

    Example: `swequarry ledger copy quarry postgresql://quarry@db/quarry`
    """
    old = Ledger.open(_location(source), create=False)
    copied = copy_ledger(old, Ledger.open(_location(target)))
    if as_json:
        print_json({"rows": dict(copied.rows), "sha256": copied.sha256})
    else:
        print_lines(f"{name}: {count}" for name, count in copied.rows.items())
        print_lines([f"sha256 of both: {copied.sha256}"])
    return ExitCode.OK


def _location(word: str) -> str | Path:
    if "://" in word:
        return word
    path = Path(word)
    return path if path.suffix == ".sqlite" and not path.is_dir() else path / LEDGER_NAME
