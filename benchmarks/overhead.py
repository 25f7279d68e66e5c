"""What a verification run costs beside bare pytest on the same tests.

`python -m benchmarks.overhead [--rounds N] [--sample]` prints one JSON object and needs no data. The bound is
150 ms + 1.10 x bare: `bare` is `python -m pytest` on this machine without any sandbox, `run` is one
`run_tests` in bubblewrap, from the call to its report: sandbox, copy on write, recorder, watchdog, reading.
Both use the same interpreter and packages, compiled, and run in the same rounds one after the other, so that
a busy machine weighs on both. The bound is judged on the best of each, which comes nearest to a quiet
machine; the medians are told beside them.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from swequarry.config import SandboxSettings
from swequarry.delta import FileContent, TreeDelta
from swequarry.records import Recipe
from swequarry.sandbox.backends import open_backend
from swequarry.sandbox.contract import ENVIRONMENT, Command, Interpreter, Limits, SandboxBackend, World
from swequarry.verify.runner import RunOptions, run_tests

BOUND_S, FACTOR = 0.150, 1.10
PROJECTS = {
    "2 tests": "def test_1(): pass\ndef test_2(): pass\n",
    "1000 fast tests": (
        "import pytest\n@pytest.mark.parametrize('n', range(1000))\ndef test_fast(n): assert n >= 0\n"
    ),
    "100 tests of 5 ms": (
        "import pytest, time\n@pytest.mark.parametrize('n', range(100))\ndef test_work(n):\n"
        "    end = time.process_time() + 0.005\n    while time.process_time() < end: pass\n"
    ),
}
_RECIPE = Recipe(python="3", cutoff=datetime(2024, 1, 1, tzinfo=UTC))
_PACKAGES = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")


def package_files() -> dict[str, bytes]:
    """Return this environment's pytest as content by path below site-packages."""
    items = [item for name in _PACKAGES for item in distribution(name).files or ()]
    wanted = [item for item in items if item.suffix == ".py" or ".dist-info/" in str(item)]
    return {str(item): Path(str(item.locate())).read_bytes() for item in wanted}


def make_world(backend: SandboxBackend, python: Interpreter, tree: Path) -> World:
    """Return a world of the tree in which pytest runs."""
    limits = Limits()
    folder = f"env/lib/python{'.'.join(python.version.split('.')[:2])}/site-packages"
    files = {f"{folder}/{name}".encode(): FileContent(data=data) for name, data in package_files().items()}
    with backend.create(backend.import_tree(tree, "tree"), interpreter=python) as sandbox:
        sandbox.run(Command(argv=(python.path, "-m", "venv", "--without-pip", f"{ENVIRONMENT}/env")), limits)
        sandbox.put(TreeDelta(files=files), ENVIRONMENT)
        sandbox.run(Command(argv=(python.path, "-m", "compileall", "-q", f"{ENVIRONMENT}/env")), limits)
        return sandbox.commit("world")


def make_bare(python: Interpreter, folder: Path) -> Path:
    """Return the interpreter of an equal environment without a sandbox."""
    subprocess.run([python.path, "-m", "venv", "--without-pip", os.fspath(folder)], check=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    for name, data in package_files().items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(data)
    subprocess.run([python.path, "-m", "compileall", "-q", os.fspath(folder)], check=True)
    return folder / "bin/python"


def timed(work: Callable[[], None]) -> float:
    """Return the wall-clock seconds of some work."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def summary(walls: Sequence[float]) -> dict[str, float]:
    """Return the best and the median of some rounds, in seconds."""
    return {"best_s": round(min(walls), 3), "median_s": round(statistics.median(walls), 3)}


def compare(
    backend: SandboxBackend, world: World, bare: Path, tree: Path, name: str, rounds: int
) -> dict[str, Any]:
    """Measure one project in turns; return both sides, the bound and whether it holds."""
    variables = {"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
    argv = [os.fspath(bare), "-m", "pytest", "-p", "no:cacheprovider", "--tb=short", name]

    def alone() -> None:
        subprocess.run(argv, cwd=tree, env=variables, check=True, capture_output=True)

    def verified() -> None:
        result = run_tests(backend, world, TreeDelta(), [name], _RECIPE, RunOptions(), Limits())
        assert result.report.complete, result
        assert not result.problems, result

    alone()
    verified()
    made = [(timed(alone), timed(verified)) for _ in range(rounds)]
    bare_figures, run_figures = (summary(column) for column in zip(*made, strict=True))
    bound_s = BOUND_S + FACTOR * bare_figures["best_s"]
    return {
        "bare": bare_figures,
        "run": run_figures,
        "bound_s": round(bound_s, 3),
        "holds": run_figures["best_s"] <= bound_s,
    }


def choose(backend: SandboxBackend) -> Interpreter:
    """Return the interpreter inside that is most like this one: the packages are this one's."""
    same = f"3.{sys.version_info.minor}."
    return max(backend.interpreters(), key=lambda python: python.version.startswith(same))


def main() -> None:
    """Read the arguments, measure, and print JSON; ends with 1 where the bound doesn't hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--sample", action="store_true", help="five rounds only")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="overhead-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        tree = folder / "tree"
        tree.mkdir()
        files = {f"test_{number}.py": text for number, text in enumerate(PROJECTS.values())}
        for file, text in files.items():
            (tree / file).write_text(text)
        backend = open_backend(SandboxSettings(backend="bubblewrap"), folder / "store")
        python = choose(backend)
        world, bare = make_world(backend, python, tree), make_bare(python, folder / "bare")
        rounds = 5 if arguments.sample else arguments.rounds
        figures = {
            project: compare(backend, world, bare, tree, file, rounds)
            for project, file in zip(PROJECTS, files, strict=True)
        }
    load = os.getloadavg()[0]
    report = {"python": python.version, "processors": os.cpu_count(), "load_average": load, **figures}
    print(json.dumps(report, indent=2))
    sys.exit(0 if all(figure["holds"] for figure in figures.values()) else 1)


if __name__ == "__main__":
    main()
