"""Small projects for the verifier's unit tests, and short ways to run them."""

from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent

from fake_backend import FakeBackend

from swequarry.delta import FileContent, TreeDelta
from swequarry.records import Recipe
from swequarry.sandbox.contract import Limits, World
from swequarry.verify.runner import RunOptions, RunResult, run_tests

WORLD = World(backend="fake", key="w")
RECIPE = Recipe(python="3.11", cutoff=datetime(2024, 1, 1, tzinfo=UTC))
LIMITS = Limits(wall_s=60)


def write_files(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(dedent(content), encoding="utf-8")
    return root


def delta(files: dict[str, str], removed: tuple[str, ...] = ()) -> TreeDelta:
    contents = {name.encode(): FileContent(data=dedent(text).encode()) for name, text in files.items()}
    return TreeDelta(files=contents, removed=tuple(name.encode() for name in removed))


def backend_for(root: Path, files: dict[str, str]) -> FakeBackend:
    return FakeBackend(worlds={"w": write_files(root, files)})


def run(
    root: Path,
    files: dict[str, str],
    *targets: str,
    recipe: Recipe = RECIPE,
    limits: Limits = LIMITS,
    backend: FakeBackend | None = None,
    **options: object,
) -> RunResult:
    """Run targets (all of `files` that are tests when none are named) of a project made of `files`."""
    chosen = targets or tuple(name for name in files if "test" in name and name.endswith(".py"))
    backend = backend or backend_for(root, files)
    backend.worlds["w"] = write_files(root, files)
    return run_tests(backend, WORLD, TreeDelta(), chosen, recipe, RunOptions(**options), limits)  # type: ignore[arg-type]


def outcomes(result: RunResult) -> dict[str, str]:
    """Return outcome by id, ids without the file."""
    return {r.id.partition("::")[2]: r.outcome.value for r in result.report.results}
