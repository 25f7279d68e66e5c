"""The same pull requests in both backends: same worlds, same verdicts."""

import json
from pathlib import Path

import pytest

from swequarry.config import parse_settings
from swequarry.outcome import Boundary, Failed
from swequarry.pipeline.demo.build import MIRROR_TEMPLATE, REPO, build_repository, write_issues
from swequarry.pipeline.reporting import tasks_of
from swequarry.pipeline.run import run_settings
from swequarry.pipeline.workspace import Workspace
from swequarry.sandbox.backends import open_backend
from tests.integration.conftest import docker_base_image, skip_or_fail

pytestmark = [pytest.mark.docker, pytest.mark.index, pytest.mark.timeout(1200)]
PULLS = (1, 4, 8)


def verdicts(folder: Path, backend: str, image: str, python: str) -> dict[str, dict]:
    source = folder / "source"
    build_repository(source)
    write_issues(source / "issues.jsonl")
    settings = parse_settings(
        {
            "workspace": str(folder / backend),
            "cache": str(folder / "cache"),
            "source": {
                "repositories": [REPO.full_name],
                "mirror": str(source / MIRROR_TEMPLATE),
                "issues": str(source / "issues.jsonl"),
                "pulls": list(PULLS),
            },
            "environment": {"python": python},
            "sandbox": {"backend": backend, "base_image": image},
        }
    )
    summary = run_settings(settings)
    workspace = Workspace.open(settings)
    outcomes = [ending.outcome for ending in workspace.ledger.endings(summary.run)]
    broken = [found for found in outcomes if isinstance(found, Failed) and found.boundary is Boundary.INDEX]
    if broken:
        skip_or_fail("index", repr(broken[0]))
    return {
        task.instance_id: {
            "f2p": task.verification.fail_to_pass,
            "p2p": task.verification.pass_to_pass,
            "quarantined": [(test.id, test.reason) for test in task.verification.quarantined],
            "matrix": json.loads(workspace.blobs.get(task.verification.matrix)),
            "lock": task.environment.lock,
            "snapshot": task.initial_state.snapshot,
        }
        for task in tasks_of(workspace, summary.run)
    }


def common_python(folder: Path, image: str) -> str:
    """Return a minor version that both backends have."""
    both = [
        {
            python.version.rpartition(".")[0]
            for python in open_backend(
                parse_settings({"sandbox": {"backend": name, "base_image": image}}).sandbox, folder
            ).interpreters()
        }
        for name in ("bubblewrap", "docker")
    ]
    shared = sorted((both[0] & both[1]) - {"3.6", "3.7"}, key=lambda text: int(text.split(".")[1]))
    assert shared, f"no common interpreter: {both}"
    return shared[0]


def test_backend_doesnt_change_a_verdict(tmp_path):
    image = docker_base_image()
    python = common_python(tmp_path / "probe", image)
    ours = verdicts(tmp_path, "bubblewrap", image, python)
    assert sorted(ours) == sorted(REPO.instance_id(number) for number in PULLS)
    assert verdicts(tmp_path, "docker", image, python) == ours
