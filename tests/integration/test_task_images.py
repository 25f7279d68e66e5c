"""Images of tasks: the files of the verified world, shared where they can be, pushed under a digest."""

import io
import shutil
import socket
import subprocess
import tarfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from swequarry.delta import FileContent, TreeDelta
from swequarry.errors import RegistryError, SandboxError
from swequarry.sandbox.contract import ENVIRONMENT, Command
from swequarry.sandbox.docker_engine import DockerEngine
from swequarry.sandbox.registry import push_image
from swequarry.sandbox.task_image import Wanted, build_task_image
from tests.integration.conftest import QUICK, Bench, docker_base_image, skip_or_fail

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]


@pytest.fixture
def docker_bench(bench_of) -> Bench:
    return bench_of("docker")


@pytest.fixture
def names(docker_bench) -> Iterator[list[str]]:
    """Collect names of images to remove at the end."""
    made: list[str] = []
    yield made
    for name in made:
        docker_bench.backend.engine.remove_image(name)


def world_with(bench: Bench, key: str, delta: TreeDelta) -> str:
    with bench.backend.create(bench.world) as sandbox:
        sandbox.put(delta, root=ENVIRONMENT)
        assert sandbox.run(Command(argv=("/bin/true",)), QUICK).ok
        sandbox.commit(key)
    return key


def build(bench: Bench, key: str, names: list[str], lock: str):
    tag = f"swequarry/test-{uuid.uuid4().hex}:latest"
    image = build_task_image(bench.backend, Wanted(world=key, lock=lock, python="3.9.1", tag=tag))
    names[:0] = [image.tag]
    names.append(image.environment_image)
    return image


def test_tasks_of_one_lock_share_all_but_what_differs(docker_bench, names):
    lock = uuid.uuid4().hex * 2
    own = {b"env/own.txt": FileContent(data=b"of this task\n")}
    other = world_with(docker_bench, "shares", TreeDelta(files=own))
    try:
        first = build(docker_bench, docker_bench.world.key, names, lock)
        second = build(docker_bench, other, names, lock)
        assert first.environment_image == second.environment_image
        assert first.image != second.image
        engine = docker_bench.backend.engine
        layers = [engine.image(image.tag)["RootFS"]["Layers"] for image in (first, second)]
        assert layers[0][:-1] == layers[1][:-1]
        said = run_in(second.tag, "cat", "/opt/swequarry/env/own.txt", "/testbed/pkg/__init__.py")
        assert said == b"of this task\nVALUE = 1\n"
    finally:
        docker_bench.backend.remove_world(other)


def test_task_that_lacks_a_file_of_the_shared_environment_gets_one_of_its_own(docker_bench, names):
    lock = uuid.uuid4().hex * 2
    more = world_with(docker_bench, "more", TreeDelta(files={b"env/more.txt": FileContent(data=b"x")}))
    try:
        first = build(docker_bench, more, names, lock)
        second = build(docker_bench, docker_bench.world.key, names, lock)
        assert first.environment_image != second.environment_image
        with pytest.raises(subprocess.CalledProcessError):
            run_in(second.tag, "cat", "/opt/swequarry/env/more.txt")
    finally:
        docker_bench.backend.remove_world(more)


def test_image_that_is_there_isnt_built_twice(docker_bench, names):
    lock = uuid.uuid4().hex * 2
    first = build(docker_bench, docker_bench.world.key, names, lock)
    wanted = Wanted(world=docker_bench.world.key, lock=lock, python="3.9.1", tag=first.tag)
    assert build_task_image(docker_bench.backend, wanted) == first


def test_world_that_isnt_stored_is_named(docker_bench):
    wanted = Wanted(world="nowhere", lock="0" * 64, python="3.9.1", tag="swequarry/none:latest")
    with pytest.raises(SandboxError, match="nowhere"):
        build_task_image(docker_bench.backend, wanted)


def run_in(image: str, *argv: str) -> bytes:
    order = ["docker", "run", "--rm", "--network", "none", image, *argv]
    return subprocess.run(order, check=True, capture_output=True).stdout


# --- a registry --------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """Run Debian's docker-registry on a free port; yield its `HOST:PORT`."""
    program = shutil.which("docker-registry")
    if program is None:
        skip_or_fail("registry", "docker-registry isn't installed: apt-get install docker-registry")
    port = free_port()
    place = tmp_path / "config.yml"
    place.write_text(
        f"version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {tmp_path}\n"
        f"http:\n  addr: 127.0.0.1:{port}\n"
    )
    log = (tmp_path / "log").open("wb")
    server = subprocess.Popen([program, "serve", str(place)], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"localhost:{port}"
    finally:
        server.terminate()
        server.wait(10)
        log.close()


@pytest.fixture
def tiny_image() -> Iterator[str]:
    docker_base_image()  # skips where there is no engine
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("hello")
        member.size = 3
        archive.addfile(member, io.BytesIO(uuid.uuid4().bytes[:3]))
    engine = DockerEngine()
    name = f"swequarry/tiny-{uuid.uuid4().hex}"
    engine.api.import_image_from_data(packed.getvalue(), repository=name, tag="latest")
    yield f"{name}:latest"
    engine.remove_image(f"{name}:latest")


@pytest.mark.registry
def test_pushed_image_can_be_pulled_by_the_digest_that_was_printed(registry, tiny_image):
    engine = DockerEngine()
    remote = f"{registry}/tasks/tiny:1"
    by_digest = push_image(engine, tiny_image, remote)
    assert by_digest.startswith(f"{registry}/tasks/tiny@sha256:")
    identity = engine.image(tiny_image)["Id"]
    for name in (remote, by_digest):
        engine.remove_image(name)
    subprocess.run(["docker", "pull", "--quiet", by_digest], check=True, capture_output=True)
    try:
        assert engine.image(by_digest)["Id"] == identity
    finally:
        engine.remove_image(by_digest)


def test_registry_that_isnt_there_is_no_internal_error(tiny_image):
    remote = f"localhost:{free_port()}/tasks/tiny:1"
    with pytest.raises(RegistryError, match="is the registry running") as refused:
        push_image(DockerEngine(), tiny_image, remote)
    assert refused.value.exit_code == 6
    DockerEngine().remove_image(remote)
