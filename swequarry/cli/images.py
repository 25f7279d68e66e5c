"""`images`: the base images of the docker backend."""

from typing import Annotated

import typer

from swequarry.cli.app import command_group
from swequarry.cli.console import note
from swequarry.errors import ExitCode
from swequarry.sandbox.images import make_base_image

group = command_group("Images of the docker backend.")


@group.callback()
def _images() -> None:
    """Keep it a group of commands."""


@group.command()
def base(
    tag: Annotated[str, typer.Option(help="Name of the image.")] = "swequarry/base:local",
) -> int:
    """Make a base image from a Debian mirror and the interpreters of this machine; needs root.

    For machines that reach no registry. Use it with `--set sandbox.base_image=TAG`.
    """
    note("making a Debian root and copying interpreters; a minute or two")
    made = make_base_image(tag, progress=note)
    typer.echo(f"{tag}: Python {', '.join(python.version for python in made)}")
    note(f"use it: swequarry run CONFIG --set sandbox.backend=docker --set sandbox.base_image={tag}")
    return ExitCode.OK
