"""The entry point: maps every error to its message and exit code."""

import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import typer

from swequarry.cli.app import app
from swequarry.cli.console import note
from swequarry.errors import ExitCode, SwequarryError

_WrongUseError: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""What a wrong option or command raises: click's own class, or the one of the click that typer carries."""


def main() -> None:
    """Run the command line and exit with a documented code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; never raises."""
    try:
        result = typer.main.get_command(app).main(
            args=arguments, prog_name="swequarry", standalone_mode=False
        )
    except typer.Exit as stop:
        return int(stop.exit_code)
    except _WrongUseError as error:
        error.show(sys.stderr)
        return ExitCode.USAGE
    except (typer.Abort, KeyboardInterrupt):
        note("interrupted; the same command continues where it stopped")
        return ExitCode.INTERRUPTED
    except SwequarryError as error:
        note(f"error: {error}")
        return error.exit_code
    except Exception:  # noqa: BLE001 - the last line of defence writes the report that a person can send
        return _crash()
    return int(result) if isinstance(result, int) else ExitCode.OK


def _crash() -> int:
    with tempfile.NamedTemporaryFile("w", prefix="swequarry-crash-", suffix=".txt", delete=False) as report:
        report.write(traceback.format_exc())
    note(traceback.format_exc(limit=-1).strip().splitlines()[-1])
    note(f"internal error: this is a defect of swequarry; please report it with {Path(report.name)}")
    return ExitCode.INTERNAL
