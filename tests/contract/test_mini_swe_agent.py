"""The SWE-bench runner of mini-swe-agent starts on our rows and hands in what a scripted model did."""

import json
import os
import subprocess

import pytest
import yaml
from harnesses import MINI_SWE_AGENT, TAG, export, tool

pytestmark = [pytest.mark.docker, pytest.mark.index, pytest.mark.timeout(600)]
FIX = "sed -i 's/return a - b/return a + b/' toy/money.py"
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat patch.txt"


def said(command):
    return {"role": "assistant", "content": "", "extra": {"actions": [{"command": command}], "cost": 0.0}}


def test_mini_swe_agent_works_in_the_image_that_the_row_names(toy, toys, pytestconfig, tmp_path):
    binaries = tool(pytestconfig.cache, "mini-swe-agent", MINI_SWE_AGENT, (3, 10))
    dataset = export("swebench", {"gold": toys["gold"]}, tmp_path / "d")
    model = {"model_class": "deterministic", "model_name": "scripted", "cost_per_call": 0.0}
    outputs = [said(f"{FIX} && git diff -- toy > patch.txt"), said(SUBMIT)]
    (tmp_path / "model.yaml").write_text(yaml.safe_dump({"model": {**model, "outputs": outputs}}))
    argv = [str(binaries / "python"), "-m", "minisweagent.run.benchmarks.swebench", "--subset", str(dataset)]
    argv += ["--split", "test", "-o", str(tmp_path / "out"), "-c", "swebench.yaml"]
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "MSWEA_CONFIGURED": "true"}
    env = {**os.environ, **offline, "HOME": str(tmp_path)}
    ran = subprocess.run(
        [*argv, "-c", str(tmp_path / "model.yaml")],
        check=False,
        capture_output=True,
        text=True,
        env=env,
        timeout=280,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (prediction,) = json.loads((tmp_path / "out/preds.json").read_text()).values()
    assert prediction["instance_id"] == toys["gold"].task.instance_id
    assert "+    return a + b" in prediction["model_patch"], ran.stdout


def test_agent_that_runs_as_root_may_use_git_in_the_task_image(toy):
    argv = ["docker", "run", "--rm", "--network", "none", TAG, "git", "-C", "/testbed", "status"]
    assert subprocess.run(argv, check=False, capture_output=True).returncode == 0
