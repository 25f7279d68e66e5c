"""A toy task in an image: a repository with a bug, verified tests, and the image that they run in.

The environment is made without an index: pytest and what it needs are taken from the environment of this test
run. They're pure Python.
"""

import importlib.metadata
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from task_factory import Blobs, make_task
from toy_task import BASE, F2P, GOLD, HIDDEN, P2P, contents, write_tree

from swequarry.config import SandboxSettings
from swequarry.delta import FileContent, TreeDelta
from swequarry.export.interface import ImageReference, Surroundings
from swequarry.records import CommitSha, Task
from swequarry.sandbox.backends import open_backend
from swequarry.sandbox.contract import ENVIRONMENT, Command, Interpreter, Limits
from swequarry.sandbox.docker_backend import DockerBackend
from swequarry.sandbox.task_image import Wanted, build_task_image

LIMITS = Limits(wall_s=120)
NEEDED = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
EDITED = {**BASE, "setup.cfg": "[metadata]\nname = toy\n\n[tool:pytest]\nxfail_strict = true\n"}
WRONG = {**GOLD, "toy/money.py": GOLD["toy/money.py"].replace("return a + b", "return 5")}
PARTIAL = {**GOLD, "toy/money.py": GOLD["toy/money.py"].replace("return a + b", "return a - b")}


@dataclass(frozen=True)
class ToyImage:
    """The task, its blobs, the name of its image, and patches that aren't the gold one."""

    task: Task
    blobs: Blobs
    image: str
    gold: bytes
    wrong: bytes
    partial: bytes

    @property
    def surroundings(self) -> Surroundings:
        return Surroundings(images={self.task.instance_id: ImageReference(name=self.image)})


def git(folder: Path, *words: str) -> bytes:
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "core.autocrlf=false"]
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True).stdout


def difference(folder: Path, *layers: dict[str, str]) -> bytes:
    """Return the patch from HEAD to a tree of layers, and leave the checkout at HEAD."""
    write_tree(folder, contents(*layers))
    git(folder, "add", "--all")
    patch = git(folder, "diff", "--cached", "--binary", "--full-index", "HEAD")
    git(folder, "reset", "--hard", "--quiet", "HEAD")
    return patch


def choose_python(backend: DockerBackend) -> Interpreter:
    """Return the image's Python of this run's version, else its newest: the packages are of this run."""
    ours = sys.version_info[:2]
    found = [(tuple(map(int, p.version.split(".")[:2])), p) for p in backend.interpreters()]
    return max(found, key=lambda pair: (pair[0] == ours, pair[0]))[1]


def site_packages(python: Interpreter) -> dict[bytes, FileContent]:
    found = {}
    minor = ".".join(python.version.split(".")[:2])
    for name in NEEDED:
        for file in importlib.metadata.files(name) or ():
            path = Path(str(file.locate()))
            if ".." not in file.parts and "__pycache__" not in file.parts and path.is_file():
                place = f"env/lib/python{minor}/site-packages/{file.as_posix()}"
                found[place.encode()] = FileContent(data=path.read_bytes())
    return found


def make_image(backend: DockerBackend, tree: Path, tag: str) -> str:
    python = choose_python(backend)
    bare_key, toy_key = (f"contract-{kind}-{uuid.uuid4().hex}" for kind in ("bare", "toy"))
    bare = backend.import_tree(tree, bare_key)
    with backend.create(bare, interpreter=python) as sandbox:
        argv = (python.path, "-m", "venv", "--without-pip", f"{ENVIRONMENT}/env")
        assert sandbox.run(Command(argv=argv), LIMITS).ok
        sandbox.put(TreeDelta(files=site_packages(python)), root=ENVIRONMENT)
        shown = sandbox.run(Command(argv=("python", "-m", "pytest", "--version")), LIMITS)
        assert shown.ok, shown
        sandbox.commit(toy_key)
    wanted = Wanted(world=toy_key, lock=uuid.uuid4().hex * 2, python=python.version, tag=tag)
    made = build_task_image(backend, wanted)
    for key in (toy_key, bare_key):
        backend.remove_world(key)
    return made.environment_image


@contextmanager
def toy_image(base_image: str, tag: str) -> Iterator[ToyImage]:
    """Make the task and its image; remove the image at the end."""
    folder = Path(tempfile.mkdtemp(prefix="swequarry-contract-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        tree = write_tree(folder / "tree", contents(EDITED))
        git(tree, "init", "--quiet", "--initial-branch=main")
        git(tree, "add", "--all")
        git(tree, "commit", "--quiet", "--message=base")
        base = git(tree, "rev-parse", "HEAD").decode().strip()
        gold, wrong, partial = (difference(tree, layer) for layer in (GOLD, WRONG, PARTIAL))
        test = difference(tree, HIDDEN)
        settings = SandboxSettings(backend="docker", base_image=base_image)
        backend = open_backend(settings, folder / "store")
        assert isinstance(backend, DockerBackend)
        below = make_image(backend, tree, tag)
        try:
            blobs = Blobs()
            yield ToyImage(
                task=toy_record(blobs, gold, test, base),
                blobs=blobs,
                image=tag,
                gold=gold,
                wrong=wrong,
                partial=partial,
            )
        finally:
            for name in (tag, below):
                backend.engine.remove_image(name)
            backend.sweep()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def toy_record(blobs: Blobs, gold: bytes, test: bytes, base: str) -> Task:
    task = make_task(
        blobs,
        gold=gold,
        test=test,
        fail_to_pass=tuple(f"tests/test_money.py::{name}" for name in F2P),
        pass_to_pass=tuple(f"tests/test_money.py::{name}" for name in P2P),
        test_files=("tests/test_money.py",),
        backend="docker",
        statement="Sums of money are wrong: `add(2, 3)` gives -1.",
        candidate={"gold_files": ("toy/money.py",)},
    )
    state = replace(task.initial_state, base_commit=CommitSha(base))
    return replace(task, initial_state=state, candidate=replace(task.candidate, base_commit=CommitSha(base)))
