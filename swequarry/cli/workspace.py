"""Opens the workspace that a command is about."""

from pathlib import Path

from swequarry.config import Settings
from swequarry.pipeline.workspace import Workspace


def open_workspace(path: Path | None) -> Workspace:
    """Open an existing workspace; `quarry` in the current folder by default.

    Raises:
        InputError: nothing is there.
    """
    settings = Settings() if path is None else Settings(workspace=path)
    return Workspace.open(settings, create=False)
