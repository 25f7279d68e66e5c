"""`swebench` itself checks our task repository and grades patches of our rows; one run for all kinds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from harnesses import export

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]
PROGRAM = Path(sys.executable).with_name("swebench")
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}


def swebench(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    if not PROGRAM.is_file():
        pytest.skip("swebench isn't installed (dev dependency)")
    env = {**os.environ, **OFFLINE, "HF_HOME": str(folder / "hf")}
    argv = [str(PROGRAM), *words]
    return subprocess.run(argv, cwd=folder, check=False, capture_output=True, text=True, env=env, timeout=280)


def test_swebench_finds_nothing_wrong_with_our_task_repository(toys, tmp_path):
    checked = swebench(tmp_path, "dataset", "check", str(export("swebench-repo", toys, tmp_path / "d")))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "looks well formed" in checked.stdout


@pytest.fixture(scope="module")
def resolved(toys, tmp_path_factory):
    """Return which kinds of patches swebench resolves, and what it couldn't grade."""
    folder = tmp_path_factory.mktemp("eval")
    rows = export("swebench", toys, folder / "d") / "data/strings.jsonl"
    patches = {kind: b"" if kind == "empty" else getattr(toy, kind) for kind, toy in toys.items()}
    predictions = [
        {
            "instance_id": toys[kind].task.instance_id,
            "model_name_or_path": "contract",
            "model_patch": patch.decode(),
        }
        for kind, patch in patches.items()
    ]
    (folder / "preds.json").write_text(json.dumps(predictions))
    words = ("--predictions", str(folder / "preds.json"), "--run-id", "contract", "--workers", "2")
    ran = swebench(folder, "eval", str(rows), *words)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (report,) = folder.glob("*contract*.json")
    told = json.loads(report.read_text())
    assert told["error_ids"] == [], told
    names = {toy.task.instance_id: kind for kind, toy in toys.items()}
    return {names[instance] for instance in told["resolved_ids"]}


def test_swebench_resolves_the_gold_patch_and_no_other(resolved):
    assert resolved == {"gold"}
