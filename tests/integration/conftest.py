"""Sandboxes for the integration tests: both backends, each with a store and a small world of its own."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from needs import skip_or_fail

from swequarry.config import SandboxSettings
from swequarry.delta import TreeDelta
from swequarry.errors import SandboxError
from swequarry.pipeline.worker import leave_none_ignored
from swequarry.sandbox.backends import open_backend
from swequarry.sandbox.contract import (
    Command,
    ExecResult,
    Interpreter,
    Limits,
    SandboxBackend,
    World,
)
from swequarry.sandbox.docker_engine import LABEL_STORE, DockerEngine

leave_none_ignored()  # as a worker does: these tests may be run under nohup
QUICK = Limits(wall_s=60, disk_bytes=64 << 20, tmp_bytes=64 << 20, memory_bytes=1 << 30, processes=200)


def docker_base_image() -> str:
    """Return a base image of this machine, skipping where there is no engine or none of them."""
    engine = DockerEngine()
    try:
        engine.api.ping()
    except SandboxError as error:
        skip_or_fail("docker", str(error))
    named = os.environ.get("SWEQUARRY_BASE_IMAGE")
    if named:
        return named
    ours = engine.api.images(filters={"label": "swequarry.interpreters"})
    bases = [i for i in ours if LABEL_STORE not in i["Labels"] and i["Labels"]["swequarry.interpreters"]]
    tags = [tag for image in bases for tag in image["RepoTags"] or () if not tag.startswith("<none>")]
    if not tags:
        skip_or_fail("docker", "no base image: run `swequarry images base` or set SWEQUARRY_BASE_IMAGE")
    return tags[0]


@dataclass
class Bench:
    """A backend with a world whose `python` is on PATH, and the tree that it was made from."""

    backend: SandboxBackend
    world: World
    bare: World
    python: Interpreter
    store: Path

    def run(self, *argv: str, delta: TreeDelta | None = None, limits: Limits = QUICK, **more) -> ExecResult:
        return self.backend.run_once(self.world, delta or TreeDelta(), Command(argv=argv, **more), limits)

    def sh(self, script: str, **more) -> ExecResult:
        return self.run("/bin/sh", "-c", script, **more)

    def py(self, code: str, **more) -> ExecResult:
        return self.run("python", "-c", code, **more)


def make_tree(root: Path) -> Path:
    """Make a small project with what trees have: packages, links, modes, odd names."""
    (root / "pkg" / "sub").mkdir(parents=True)
    (root / "pkg" / "__init__.py").write_text("VALUE = 1\n")
    (root / "pkg" / "sub" / "only.py").write_text("x = 1\n")
    (root / "data_é.txt").write_text("é\n", encoding="utf-8")
    (root / "tool.sh").write_text("#!/bin/sh\necho tool\n")
    (root / "tool.sh").chmod(0o755)
    (root / "link").symlink_to("pkg/__init__.py")
    (root / "outside").symlink_to("/etc")
    (root / "with space\nand newline").write_text("odd\n")
    (root / os.fsdecode(b"caf\xe9.txt")).write_text("latin\n")
    os.utime(root / "tool.sh", ns=(10**18, 10**18 + 123456789))
    return root


def choose_python(backend: SandboxBackend) -> Interpreter:
    wanted = os.environ.get("SWEQUARRY_TEST_PYTHON", "3.9")
    found = backend.interpreters()
    assert found, "no interpreter runs inside"
    return next((p for p in found if p.version.startswith(wanted)), found[-1])


@contextlib.contextmanager
def open_bench(name: str) -> Iterator[Bench]:
    image = docker_base_image() if name == "docker" else "unused"
    folder = Path(tempfile.mkdtemp(prefix="swequarry-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        backend = open_backend(SandboxSettings(backend=name, base_image=image), folder / "store")
        missing = backend.probe()
        if missing:
            skip_or_fail(name, "; ".join(missing))
        python = choose_python(backend)
        bare = backend.import_tree(make_tree(folder / "tree"), "bare")
        with backend.create(bare, interpreter=python) as sandbox:
            argv = (python.path, "-m", "venv", "--without-pip", "/opt/swequarry/env")
            made = sandbox.run(Command(argv=argv), QUICK)
            assert made.ok, made
            world = sandbox.commit("with python")
        yield Bench(backend=backend, world=world, bare=bare, python=python, store=folder / "store")
        for key in ("with python", "bare"):
            backend.remove_world(key)
        backend.sweep()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def bench_of() -> Iterator[Callable[[str], Bench]]:
    """Return a function that gives the one bench of a backend, made when it is first asked for."""
    made: dict[str, Bench] = {}
    with contextlib.ExitStack() as held:

        def give(name: str) -> Bench:
            if name not in made:
                made[name] = held.enter_context(open_bench(name))
            return made[name]

        yield give


@pytest.fixture(params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def bench(request: pytest.FixtureRequest, bench_of: Callable[[str], Bench]) -> Bench:
    return bench_of(request.param)


@pytest.fixture
def marker() -> str:
    """Return a word that no other process of this machine has in its arguments."""
    return f"swq{os.getpid()}x{os.urandom(6).hex()}"


def processes_with(marker: str) -> list[int]:
    """Return the pids of the host whose arguments hold a word, our own left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found
