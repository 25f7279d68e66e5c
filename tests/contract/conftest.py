"""Fixtures of the contract tests: one toy task in an image for all, and Harbor."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from harnesses import NUMBERS, TAG, tools
from toy_image import ToyImage, toy_image

from benchmarks.harnesses import Program
from benchmarks.harnesses import harbor as make_harbor
from swequarry.errors import InputError
from tests.integration.conftest import docker_base_image, skip_or_fail


@pytest.fixture(scope="session")
def toy() -> Iterator[ToyImage]:
    with toy_image(docker_base_image(), TAG) as made:
        yield made


@pytest.fixture(scope="session")
def toys(toy: ToyImage) -> dict[str, ToyImage]:
    """Return the toy task once for each kind of patch, under ids of their own, so that one run grades all."""
    return {
        kind: replace(toy, task=replace(toy.task, instance_id=f"acme__widgets-{number}"))
        for kind, number in NUMBERS.items()
    }


@pytest.fixture(scope="session")
def harbor(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Return Harbor with a `docker compose`: the engine's own, else one from the package index."""
    docker_base_image()  # skips where there is no engine
    cache = pytestconfig.cache
    assert cache is not None
    try:
        return make_harbor(tools(cache), tmp_path_factory.mktemp("harbor"))
    except InputError as error:
        skip_or_fail("index", str(error))
        raise
