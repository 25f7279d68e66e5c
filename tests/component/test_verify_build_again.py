"""Extension modules in runs: never those of another source, never one that only pretends to be one."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest
from fake_backend import FakeBackend, apply_delta
from verify_worlds import RECIPE

from swequarry.delta import FileContent, TreeDelta
from swequarry.records import Recipe
from swequarry.sandbox.contract import TESTBED, Command, EndedBy, ExecResult, Limits, World
from swequarry.verify.build_again import _SHELF, BuiltAgain, build_again, compiled_paths
from swequarry.verify.passes import RunProblem
from swequarry.verify.runner import RunOptions, run_tests

SETUP = "import sys; text = open('pkg/_fast.c').read(); open('pkg/_fast.abi3.so', 'w').write('built of ' + text)\n"
"""Stands for a compiler: what it makes of a source is known."""
WORLD = World(backend="fake", key="w")


class FakeSandbox:
    """A folder on the host; isolates nothing."""

    def __init__(self, root: Path, builds_end_by: EndedBy) -> None:
        self.root = root
        self.ends = iter((EndedBy.EXITED, builds_end_by))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def put(self, delta: TreeDelta) -> None:
        apply_delta(self.root, delta)

    def get(self, path: str) -> bytes:
        return (self.root / path.removeprefix(f"{TESTBED}/")).read_bytes()

    def run(self, command: Command, limits: Limits) -> ExecResult:
        stdin = (command.stdin or b"").replace(TESTBED.encode(), os.fsencode(self.root))
        done = FakeBackend(worlds={})._run(replace(command, stdin=stdin), limits, self.root)
        return replace(done, ended_by=next(self.ends))


class Backend:
    """Gives one sandbox after another over the same project; a test run in it is an error."""

    name = "fake"

    def __init__(self, tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        self.made: list[FakeSandbox] = []
        self.builds_end_by = EndedBy.EXITED

    def create(self, _world: World) -> FakeSandbox:
        root = self.tmp_path / str(len(self.made))
        (root / "pkg").mkdir(parents=True)
        (root / "setup.py").write_text(SETUP)
        (root / "pkg" / "_fast.c").write_text("old")
        (root / "pkg" / "_fast.abi3.so").write_text("built of old")
        self.made.append(FakeSandbox(root, self.builds_end_by))
        return self.made[-1]

    def run_once(self, *_: object) -> ExecResult:
        raise AssertionError("tests were run beside modules that couldn't be built")


@pytest.fixture(autouse=True)
def _empty_shelf() -> Iterator[None]:
    _SHELF.clear()
    yield
    _SHELF.clear()


@pytest.fixture
def backend(tmp_path: Path) -> Backend:
    return Backend(tmp_path)


def _delta(**files: str) -> TreeDelta:
    named = {name.replace("__", "/").replace("_dot_", ".").encode(): text for name, text in files.items()}
    return TreeDelta(files={name: FileContent(data=text.encode()) for name, text in named.items()})


def _again(backend: Backend, delta: TreeDelta, recipe: Recipe = RECIPE) -> BuiltAgain:
    return build_again(backend, WORLD, delta, recipe, Limits())  # type: ignore[arg-type]


def test_changed_source_never_runs_beside_the_module_of_the_old_one(backend: Backend) -> None:
    made = _again(backend, _delta(pkg___fast_dot_c="new"))
    assert made.delta.files[b"pkg/_fast.abi3.so"].data == b"built of new"


def test_change_of_python_alone_costs_no_sandbox(backend: Backend) -> None:
    delta = _delta(pkg__a_dot_py="x = 1")
    assert _again(backend, delta).delta == delta
    assert not backend.made


def test_project_that_is_only_on_the_path_is_not_built(backend: Backend) -> None:
    recipe = Recipe(python="3.9", cutoff=RECIPE.cutoff, install="path")
    _again(backend, _delta(pkg___fast_dot_c="new"), recipe)
    assert not backend.made


def test_set_up_code_gets_no_module_of_its_own_choice_into_a_run(backend: Backend) -> None:
    wicked = SETUP + "open('pytest.so', 'w').write('ha'); open('pkg/more.so', 'w').write('ha')\n"
    delta = TreeDelta(
        files={
            b"setup.py": FileContent(data=wicked.encode()),
            b"pkg/_fast.c": FileContent(data=b"new"),
            b"pkg/more.pyx": FileContent(data=b"a new module"),
        }
    )
    made = _again(backend, delta)
    assert b"pytest.so" not in made.delta.files
    assert b"pkg/more.so" in made.delta.files


def test_failed_build_never_runs_tests_beside_old_modules(backend: Backend) -> None:
    delta = TreeDelta(files={b"setup.py": FileContent(data=b"import Cython_that_is_not_here\n")})
    run = run_tests(backend, WORLD, delta, ["test_a.py"], RECIPE, RunOptions(), Limits())  # type: ignore[arg-type]
    assert not run.report.collected
    assert "No module named 'Cython_that_is_not_here'" in run.report.collection_errors[0][1]
    assert b"No module named" in run.output


def test_build_that_a_limit_ends_says_nothing_about_the_sources(backend: Backend) -> None:
    backend.builds_end_by = EndedBy.WALL_LIMIT
    delta = _delta(pkg___fast_dot_c="new")
    run = run_tests(backend, WORLD, delta, ["test_a.py"], RECIPE, RunOptions(), Limits())  # type: ignore[arg-type]
    assert run.problems == (RunProblem.WALL_LIMIT,)
    assert not run.report.collection_errors


def test_build_that_a_limit_ended_is_tried_again_by_the_next_run(backend: Backend) -> None:
    backend.builds_end_by = EndedBy.WALL_LIMIT
    assert _again(backend, _delta(pkg___fast_dot_c="new")).limit is EndedBy.WALL_LIMIT
    backend.builds_end_by = EndedBy.EXITED
    made = _again(backend, _delta(pkg___fast_dot_c="new"))
    assert made.delta.files[b"pkg/_fast.abi3.so"].data == b"built of new"


def test_other_test_files_beside_the_same_sources_cost_no_other_build(backend: Backend) -> None:
    for text in ("assert 1", "assert 2"):
        made = _again(backend, _delta(pkg___fast_dot_c="new", tests__test_a_dot_py=text))
        assert made.delta.files[b"tests/test_a.py"].data == text.encode()
        assert made.delta.files[b"pkg/_fast.abi3.so"].data == b"built of new"
    assert len(backend.made) == 1
    _again(backend, _delta(pkg___fast_dot_c="newer"))
    assert len(backend.made) == 2


@pytest.mark.parametrize(
    ("path", "compiled"),
    [
        (b"pkg/a.pyx", True),
        (b"pkg/a.pyx.in", True),
        (b"pkg/src/a_template.c", True),
        (b"pkg/a.h", True),
        (b"setup.py", True),
        (b"pkg/wcs/setup_package.py", True),
        (b"pkg/a.py", False),
        (b"docs/a.rst", False),
        (b"pkg/my_setup.py", False),
    ],
)
def test_what_modules_are_made_of_is_told_from_the_rest(path: bytes, *, compiled: bool) -> None:
    assert bool(compiled_paths([path])) is compiled
