"""Starts the official harnesses for contract tests: exports to feed them, and what the benchmarks start them with.

A tool is installed once, with pinned versions, into the cache of the test run (`.pytest_cache/d`), so a second
run starts it at once.
"""

import uuid
from pathlib import Path

import pytest
from toy_image import ToyImage

from benchmarks.harnesses import installed
from swequarry.config import ExportSettings
from swequarry.errors import InputError
from swequarry.export.formats import exporter_of
from swequarry.export.interface import ImageReference, Surroundings
from tests.integration.conftest import skip_or_fail

TAG = f"swequarry/contract-toy-{uuid.uuid4().hex}:latest"
"""Each process of a test run makes and removes an image of its own: one engine may serve several at once."""
MINI_SWE_AGENT = ("mini-swe-agent==2.4.6", "datasets")
NUMBERS = {"gold": 7, "empty": 8, "wrong": 9, "partial": 10}


def export(name: str, toys: dict[str, ToyImage], folder: Path) -> Path:
    tasks = [toy.task for toy in toys.values()]
    images = {toy.task.instance_id: ImageReference(name=toy.image) for toy in toys.values()}
    blobs = next(iter(toys.values())).blobs
    exporter_of(name).write(tasks, blobs.get_blob, folder, ExportSettings(), Surroundings(images=images))
    return folder


def tools(cache: pytest.Cache) -> Path:
    return Path(cache.mkdir("harnesses"))


def tool(cache: pytest.Cache, name: str, packages: tuple[str, ...], minimum: tuple[int, int]) -> Path:
    """Return the `bin` of an environment that has some packages, made where it isn't there yet."""
    try:
        return installed(tools(cache) / name, packages, minimum)
    except InputError as error:
        skip_or_fail("index", str(error))
        raise
