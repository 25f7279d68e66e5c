"""The whole line over the example repository, undisturbed and killed at random moments."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.conftest import skip_or_fail

pytestmark = [pytest.mark.index, pytest.mark.timeout(1500)]

KILLS = 10


def demo(folder: Path, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "swequarry.cli",
        "demo",
        "--json",
        "-q",
        "-w",
        str(folder / "quarry"),
        *more,
    ]


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "SWEQUARRY_CACHE": str(folder / "cache")}


def run_demo(folder: Path) -> dict:
    done = subprocess.run(demo(folder), env=environment(folder), capture_output=True, text=True, check=False)
    if done.returncode == 6:
        failed = [
            pull for pull in json.loads(done.stdout)["pulls"] if pull["did"].startswith("failed: index")
        ]
        if failed:
            skip_or_fail("index", f"the package index isn't within reach: {failed[0]['did']}")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def attempts_in(folder: Path) -> int:
    from swequarry.ledger.ledger import Ledger
    from swequarry.ledger.queries import count_attempts

    return count_attempts(Ledger.open(folder / "quarry" / "ledger.sqlite", create=False))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    folder = tmp_path_factory.mktemp("undisturbed")
    return folder, run_demo(folder)


def test_no_pull_request_of_the_example_ends_otherwise_than_its_script_says(undisturbed):
    _, told = undisturbed
    assert len(told["pulls"]) >= 12
    assert [pull for pull in told["pulls"] if not pull["as_expected"]] == []


def test_second_run_of_the_same_command_does_no_work(undisturbed):
    folder, told = undisturbed
    before = attempts_in(folder)
    assert run_demo(folder)["dataset_sha256"] == told["dataset_sha256"]
    assert attempts_in(folder) == before


def test_killed_runs_dont_change_the_dataset(undisturbed, tmp_path):
    _, told = undisturbed
    chance = random.Random(20240304)
    for _ in range(KILLS):
        running = subprocess.Popen(
            demo(tmp_path),
            env=environment(tmp_path),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(chance.uniform(1, 9))
        running.send_signal(signal.SIGKILL)
        running.wait()
    assert run_demo(tmp_path)["dataset_sha256"] == told["dataset_sha256"]
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True, check=False).stdout
    assert left == "", "processes outlived their driver"
