"""Harbor itself lints, runs and grades the task directories that we write."""

import json
from pathlib import Path

import pytest
from harnesses import TAG

from benchmarks.harnesses import without_network_mode
from swequarry.config import ExportSettings
from swequarry.export.adapters.harbor import HarborExporter
from swequarry.export.interface import ImageReference, Surroundings

pytestmark = [pytest.mark.docker, pytest.mark.index, pytest.mark.timeout(900)]
DIGEST = "registry.example/tasks/toy@sha256:" + "a" * 64


def write(toy, folder, *, shared=False, image=TAG):
    around = Surroundings(images={toy.task.instance_id: ImageReference(name=image)})
    HarborExporter(shared=shared).write([toy.task], toy.blobs.get_blob, folder, ExportSettings(), around)
    return folder / "tasks" / toy.task.instance_id


def findings(harbor, task):
    linted = harbor("lint", str(task), "--select", "ALL", "--json")
    return [finding["rule"] for finding in json.loads(linted.stdout or "[]")]


def test_harbor_lint_has_no_finding_in_all_its_rules(harbor, toy, tmp_path):
    assert findings(harbor, write(toy, tmp_path / "d", image=DIGEST)) == []


def test_harbor_lint_objects_to_the_shared_verifier_and_to_nothing_else(harbor, toy, tmp_path):
    task = write(toy, tmp_path / "d", image=DIGEST, shared=True)
    assert findings(harbor, task) == ["shared-verifier"]


@pytest.fixture(scope="module")
def rewards(harbor, toy, tmp_path_factory):
    """Run the solution, and an agent that does nothing, in both modes of the verifier; all in one job."""
    folder = tmp_path_factory.mktemp("harbor-run")
    for mode, shared in (("separate", False), ("shared", True)):
        task = write(toy, folder / mode, shared=shared)
        # Harbor enforces this with an image that only a registry has; the rest is as it was written.
        without_network_mode(task)
    job = {
        "job_name": "contract",
        "jobs_dir": str(folder / "jobs"),
        "quiet": True,
        "n_concurrent_trials": 2,
        "agents": [{"name": "oracle"}, {"name": "nop"}],
        "datasets": [{"path": str(folder / mode / "tasks")} for mode in ("separate", "shared")],
    }
    (folder / "job.json").write_text(json.dumps(job))
    ran = harbor("run", "-c", str(folder / "job.json"), "-y", "-q")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = {}
    for path in (folder / "jobs/contract").glob("*/result.json"):
        result = json.loads(path.read_text())
        mode = Path(result["task_id"]["path"]).parent.parent.name
        said = result["verifier_result"] or {"rewards": result["exception_info"]}
        found[mode, result["agent_info"]["name"]] = said["rewards"]
    return found


@pytest.mark.parametrize("mode", ["separate", "shared"])
def test_harbor_gives_the_solution_one_and_idleness_nothing(rewards, mode):
    assert rewards[mode, "oracle"] == {"reward": 1.0}
    assert rewards[mode, "nop"] == {"reward": 0.0}
