"""A run with a policy: the rest of a hopeless repository is named and not tried, and tried once it may be."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.git_building import Upstream, git
from tests.integration.conftest import skip_or_fail

pytestmark = pytest.mark.timeout(1200)
PULLS = 4
PROJECT = b"[project]\nname = 'widgets'\nversion = '1'\nrequires-python = '>=3.99'\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository whose every pull request wants a Python that no machine has."""
    folder = tmp_path_factory.mktemp("policy")
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", "acme+widgets")
    upstream = Upstream(folder / "acme+widgets")
    files = {b"pyproject.toml": PROJECT, b"w.py": b"x = 0\n"}
    tip = upstream.commit(files, message="Start")
    for number in range(1, PULLS + 1):
        test = b"from w import x\n\n\ndef test():\n    assert x == %d\n" % number
        files = {**files, b"w.py": b"x = %d\n" % number, b"test_w.py": test}
        tip = upstream.commit(
            files, parents=(tip,), message=f"Set x to {number} (#{number})", at=1_600_000_000 + number
        )
    return folder


def swequarry(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "SWEQUARRY_CACHE": str(folder / "cache"), "NO_COLOR": "1"}
    argv = [sys.executable, "-m", "swequarry.cli", *arguments]
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)


def run_line(folder: Path, workspace: str, workers: int, limit: int | None) -> tuple[dict, dict[str, str]]:
    mirror = str(folder / "{owner}+{name}")
    policy = () if limit is None else ("--set", f"policy.stop_after_failures={limit}")
    argv = (
        "reconstruct",
        "acme/widgets",
        "--mirror",
        mirror,
        "-w",
        workspace,
        "-j",
        str(workers),
        "--json",
        "-q",
    )
    done = swequarry(folder, *argv, *policy)
    if done.returncode == 5:
        skip_or_fail("bubblewrap", done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    listed = json.loads(swequarry(folder, "rejects", "-w", workspace, "--json").stdout)
    return json.loads(done.stdout), {entry["item"]: entry["code"] for entry in listed}


@pytest.mark.parametrize("workers", [1, 3])
def test_rest_of_a_repository_is_named_not_lost_and_the_same_with_any_number_of_workers(folder, workers):
    told, codes = run_line(folder, f"out-{workers}", workers, 2)
    assert told["candidates"] == PULLS == told["accepted"] + told["rejected"] + told["failed"]
    assert told["not_tried"] == 2
    assert codes == {
        "acme__widgets-4": "no_interpreter",
        "acme__widgets-3": "no_interpreter",
        "acme__widgets-2": "not_tried",
        "acme__widgets-1": "not_tried",
    }
    why = swequarry(folder, "why", "acme__widgets-1", "-w", f"out-{workers}").stdout
    assert "not tried: policy.stop_after_failures stops acme/widgets after 2" in why
    assert "acme__widgets-4: no_interpreter" in why
    card = json.loads(swequarry(folder, "scorecard", "-w", f"out-{workers}", "--json").stdout)
    assert card["stop_after_failures"] == 2
    assert card["repositories"][0]["ends"]["not_tried"] == 2


def test_rest_is_tried_once_the_setting_allows_more_and_spared_again_when_it_does_not(folder):
    assert set(run_line(folder, "out-changes", 2, 3)[1].values()) == {"no_interpreter", "not_tried"}
    assert set(run_line(folder, "out-changes", 2, None)[1].values()) == {"no_interpreter"}
    told, _ = run_line(folder, "out-changes", 2, 1)
    assert told["not_tried"] == PULLS - 1
