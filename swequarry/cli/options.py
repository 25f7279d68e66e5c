"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Item = Annotated[str, typer.Argument(help="Instance id, `owner__name-123`; a unique part of it will do.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
Workspace_ = Annotated[
    Path | None,
    typer.Option("--workspace", "-w", help="Folder of the run (default: `quarry`, or the settings')."),
]
