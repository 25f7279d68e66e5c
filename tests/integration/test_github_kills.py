"""Mining killed ten times, with faults on one answer in twenty: the same table, and nothing asked for twice."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from github_helpers import needs_schema, served
from github_server.faults import Schedule
from github_server.quarry import make_quarry

KILLS, COUNT, BATCH = 10, 60, 3
TESTS = Path(__file__).resolve().parents[1]


def start(server, folder: Path, batch: int = BATCH) -> subprocess.Popen:
    env = {**os.environ, "GITHUB_TOKEN": "t1", "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{TESTS}"}
    command = [sys.executable, TESTS / "github_miner.py", server.api, folder, str(batch)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def end(process: subprocess.Popen) -> str:
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    return out.strip()


def remembered(folder: Path) -> set[tuple[str, int]]:
    """Return the kind and number of all that is in the memory now."""
    found: set[tuple[str, int]] = set()
    for file in folder.glob("c/github/*.sqlite"):
        with sqlite3.connect(file) as connection:
            found |= set(connection.execute("SELECT kind, number FROM nodes WHERE kind != 'state'"))
    return found


def asked_for(entry) -> set[tuple[str, int]]:
    """Return the kind and number of all that a request asks about."""
    kind = "pull" if " title body" in entry.body else "landing"
    kind = "issue" if "fragment Node on IssueOrPullRequest" in entry.body else kind
    return {(kind, int(n)) for n in re.findall(r"\bn(\d+): ", entry.body)}


@pytest.mark.timeout(1800)
def test_ten_kills_and_faults_leave_the_same_table_and_ask_nothing_twice(tmp_path):
    needs_schema()
    quarry = make_quarry(tmp_path / "acme+widgets.git", COUNT)
    with served(quarry.world) as server:
        whole = end(start(server, tmp_path, 100))
    shutil.rmtree(tmp_path / "c")
    with served(quarry.world, schedule=Schedule(share=0.05, seed=3)) as server:
        kills = 0
        while kills < KILLS:
            known, seen = remembered(tmp_path), len(server.log)
            process = start(server, tmp_path)
            while len(server.log) < seen + 3 and process.poll() is None:
                time.sleep(0.005)
            assert process.poll() is None, "it came to its end before it could be killed"
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
            again = {one for entry in server.log[seen:] for one in asked_for(entry)} & known
            assert again == set(), "what was in the memory was asked for again"
        assert end(start(server, tmp_path)) == whole
        faults = sum(one.fault is not None for one in server.log)
        assert faults >= 1
        assert len(remembered(tmp_path)) > COUNT
