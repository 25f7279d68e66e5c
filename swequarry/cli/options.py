"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Item = Annotated[str, typer.Argument(help="Instance id, `owner__name-123`; a unique part of it will do.")]
Deprecated = Annotated[
    Path | None, typer.Option(help="Leave out these tasks: the deprecated.json of `swequarry recheck`.")
]
Images = Annotated[
    Path | None,
    typer.Option(help="Images of tasks: what `images push --json` or `images build --json` printed."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="Override a setting: `--set verify.runs=5`.")]
Workspace_ = Annotated[
    Path | None,
    typer.Option("--workspace", "-w", help="Folder of the run (default: `quarry`, or the settings')."),
]
