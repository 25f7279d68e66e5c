"""From pull requests to a release, its check and its successor, by the commands that a person types."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from swequarry.pipeline.demo.build import MIRROR_TEMPLATE, REPO, build_repository, write_issues
from tests.integration.conftest import skip_or_fail

pytestmark = [pytest.mark.index, pytest.mark.timeout(1200)]
PULLS = (1, 3)


def swequarry(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "SWEQUARRY_CACHE": str(folder / "cache"), "NO_COLOR": "1"}
    argv = [sys.executable, "-m", "swequarry.cli", *arguments]
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def quarry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("released")
    build_repository(folder / "source")
    write_issues(folder / "source" / "issues.jsonl")
    done = swequarry(
        folder,
        *("reconstruct", REPO.full_name, *(word for number in PULLS for word in ("--pull", str(number)))),
        *("-w", "out", "--json", "-q", "--mirror", str(folder / "source" / MIRROR_TEMPLATE)),
        *("--issues", "source/issues.jsonl", "--set", "checks.enabled=false"),
    )
    told = json.loads(done.stdout)
    if any("index" in failure for failure in told["failures"]):
        skip_or_fail("index", str(told["failures"]))
    assert told["accepted"] == len(PULLS), done.stderr
    return folder


def release(folder: Path, name: str, *more: str) -> dict:
    done = swequarry(folder, "release", name, "--version", "1.0", "-w", "out", "--json", *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_release_of_real_runs_has_measured_budgets_and_the_hash_of_the_dataset_of_the_run(quarry):
    told = release(quarry, "one", "--test-since", "2024-03-04T10:00:00")
    assert told["splits"] == {"train": 1, "test": 1}
    assert told["counts"]["without_measured_budget"] == 0
    manifest = json.loads((quarry / "out/dataset/manifest.json").read_bytes())
    assert told["verified_sha256"] == manifest["dataset_sha256"]
    again = release(quarry, "again", "--test-since", "2024-03-04T10:00:00")
    assert again["release_sha256"] == told["release_sha256"]
    assert swequarry(quarry, "check", "one").returncode == 0


def test_split_that_a_task_moved_to_is_told_by_diff(quarry):
    told = release(quarry, "shuffled", "--test-repository", "nobody/*")
    assert told["splits"] == {"train": 2}
    done = swequarry(quarry, "diff", "one", "shuffled", "--json")
    assert done.returncode == 1
    assert [task["split"] for task in json.loads(done.stdout)["changed"]] == [["test", "train"]]


def test_release_is_rechecked_in_its_own_worlds_and_in_worlds_made_from_it_alone(quarry):
    release(quarry, "one", "--test-since", "2024-03-04T10:00:00")
    for number, more in enumerate(
        (
            ("-w", "out"),
            ("-w", "elsewhere", "--set", f"source.mirror={quarry / 'source' / MIRROR_TEMPLATE}"),
        )
    ):
        done = swequarry(quarry, "recheck", "one", "-o", f"check-{number}", "--json", "-q", *more)
        assert done.returncode == 0, done.stdout + done.stderr
        assert json.loads(done.stdout)["counts"]["unchanged"] == len(PULLS)
