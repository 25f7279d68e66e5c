"""Opens the backend that the settings name."""

from pathlib import Path
from typing import assert_never

from swequarry.config import SandboxSettings
from swequarry.sandbox.bubblewrap import BubblewrapBackend
from swequarry.sandbox.contract import SandboxBackend


def open_backend(settings: SandboxSettings, store: Path) -> SandboxBackend:
    """Return the backend of the settings with its worlds below a store folder.

    Raises:
        SandboxError: the store can't be used.
    """
    match settings.backend:
        case "bubblewrap":
            return BubblewrapBackend(store / "bubblewrap")
        case "docker":
            from swequarry.sandbox.docker_backend import DockerBackend  # noqa: PLC0415 - brings an HTTP client along

            return DockerBackend(store / "docker", settings.base_image, settings.runtime)
        case never:
            assert_never(never)
