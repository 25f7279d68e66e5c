"""The command line on bad input and on what it promises: codes, messages, nothing lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.git_building import Upstream, git

pytestmark = pytest.mark.timeout(300)
ROW = {
    "repo": "acme/widgets",
    "instance_id": "acme__widgets-1",
    "base_commit": "1" * 40,
    "patch": "diff --git a/w.py b/w.py\n--- a/w.py\n+++ b/w.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n",
    "test_patch": "diff --git a/test_w.py b/test_w.py\nnew file mode 100644\n--- /dev/null\n+++ b/test_w.py\n@@ -0,0 +1 @@\n+def test(): pass\n",
    "problem_statement": "x should be 2",
    "created_at": "2024-03-04T00:00:00Z",
}


def swequarry(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "SWEQUARRY_CACHE": str(folder / "cache"), "NO_COLOR": "1"}
    argv = [sys.executable, "-m", "swequarry.cli", *arguments]
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)


def run_rows(folder: Path, lines: list[str]) -> subprocess.CompletedProcess[str]:
    (folder / "rows.jsonl").write_text("".join(line + "\n" for line in lines))
    (folder / "run.yaml").write_text(
        "workspace: out\nworkers: 1\nsource:\n  kind: rows\n  rows: rows.jsonl\n  mirror: '{owner}+{name}'\n"
        f"  url: '{folder}/none'\n"
    )
    return swequarry(folder, "run", "run.yaml", "--json", "-q")


@pytest.fixture
def widgets(tmp_path: Path) -> tuple[Path, str]:
    """Make a repository and return its folder's parent and its base commit."""
    git(tmp_path, "init", "--quiet", "--bare", "acme+widgets")
    upstream = Upstream(tmp_path / "acme+widgets")
    return tmp_path, upstream.commit({b"w.py": b"x = 1\n"})


def ends(folder: Path) -> dict[str, str]:
    listed = json.loads(swequarry(folder, "rejects", "-w", "out", "--json").stdout)
    return {entry["item"]: entry["code"] for entry in listed}


def test_unknown_setting_is_refused_before_anything_is_made(tmp_path):
    (tmp_path / "run.yaml").write_text("wokers: 3\n")
    done = swequarry(tmp_path, "run", "run.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean `workers`" in done.stderr
    assert not (tmp_path / "quarry").exists()


@pytest.mark.parametrize(
    "arguments", [["run", "none.yaml"], ["status"], ["why", "x"], ["frobnicate"], ["run"]]
)
def test_wrong_command_says_what_is_wrong_and_ends_with_2(tmp_path, arguments):
    done = swequarry(tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr


def test_empty_file_of_rows_isnt_an_empty_success(tmp_path):
    done = run_rows(tmp_path, [])
    assert done.returncode == 2
    assert "rows.jsonl is empty" in done.stderr


def test_one_broken_line_costs_one_row_and_is_named(widgets):
    folder, base = widgets
    good = {**ROW, "base_commit": base}
    lines = [
        '{"repo": "acme/widgets", "instance_id": "acme__w',
        json.dumps({**good, "instance_id": "acme__widgets-2", "patch": "rubbish"}),
    ]
    done = run_rows(folder, lines)
    told = json.loads(done.stdout)
    assert told["candidates"] == told["accepted"] + told["rejected"] + told["failed"] == 2
    found = ends(folder)
    assert found["acme__widgets-2"] == "corrupt_patch"
    assert "malformed_row" in found.values()
    broken = next(item for item, code in found.items() if code == "malformed_row")
    why = swequarry(folder, "why", broken, "-w", "out").stdout
    assert "rows.jsonl:1" in why


def test_absent_base_commit_and_absent_test_change_have_their_codes(widgets):
    folder, base = widgets
    rows = [
        {**ROW, "instance_id": "acme__widgets-3"},
        {**ROW, "instance_id": "acme__widgets-4", "base_commit": base, "test_patch": ""},
    ]
    run_rows(folder, [json.dumps(row) for row in rows])
    assert ends(folder) == {"acme__widgets-3": "base_unreachable", "acme__widgets-4": "no_test_change"}
    listed = swequarry(folder, "tasks", "-w", "out", "--json")
    assert (listed.returncode, json.loads(listed.stdout)) == (3, [])


def test_missing_repository_is_a_failure_and_not_a_verdict(tmp_path):
    done = run_rows(tmp_path, [json.dumps({**ROW, "repo": "no/where", "instance_id": "no__where-1"})])
    assert done.returncode == 6, done.stderr
    told = json.loads(done.stdout)
    assert (told["candidates"], told["failed"]) == (1, 1)


def test_folder_that_is_no_repository_is_named(tmp_path):
    (tmp_path / "acme+widgets").mkdir()
    done = swequarry(
        tmp_path,
        "reconstruct",
        "acme/widgets",
        "--mirror",
        str(tmp_path / "{owner}+{name}"),
        "-w",
        "out",
        "-q",
    )
    assert done.returncode in (2, 6)
    assert "acme+widgets" in done.stderr + swequarry(tmp_path, "rejects", "-w", "out").stdout


def test_doctor_and_schema_print_json(tmp_path):
    checks = json.loads(swequarry(tmp_path, "doctor", "--json").stdout)
    assert {"git", "sandbox bubblewrap"} <= {check["name"] for check in checks}
    assert "properties" in json.loads(swequarry(tmp_path, "schema").stdout)
    assert json.loads(swequarry(tmp_path, "schema", "row").stdout)["FAIL_TO_PASS"].startswith("list")
