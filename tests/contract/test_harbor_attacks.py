"""The grader inside Harbor's verifier isn't fooled by what a solver can hand over; no Harbor is started.

The container is as Harbor's separate verifier has it: the task image, `tests/`, and the solver's patch.
"""

import json
import subprocess

import pytest
from harnesses import TAG
from toy_image import EDITED, GOLD, difference, git
from toy_task import contents, write_tree

from swequarry.config import ExportSettings
from swequarry.export.adapters.harbor import HarborExporter

pytestmark = [pytest.mark.docker, pytest.mark.timeout(300)]
HOOK = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome = "passed"
    report.longrepr = None
"""
ATTACKS = {
    "conftest at the top": {"conftest.py": HOOK},
    "conftest beside the tests": {"tests/conftest.py": HOOK},
    "settings of pytest": {
        "setup.cfg": EDITED["setup.cfg"] + "addopts = -p evil\n",
        "evil.py": HOOK,
    },
    "module of the name of the runner": {"pytest.py": "import sys\nsys.exit(0)\n"},
    "start-up file": {"sitecustomize.py": "import os\nos._exit(0)\n"},
    "reward written by the code under test": {
        "toy/money.py": EDITED["toy/money.py"]
        + "\nimport os\ntry:\n    os.makedirs('/logs/verifier', exist_ok=True)\n"
        + "    open('/logs/verifier/reward.json', 'w').write('{\"reward\": 1.0}')\nexcept OSError:\n    pass\n",
    },
    "end of the process": {"toy/money.py": EDITED["toy/money.py"] + "\nimport os\nos._exit(0)\n"},
    "plugin by metadata": {
        "evil.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n",
        "evil.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1\n",
        "evil.py": HOOK,
    },
}


@pytest.fixture(scope="module")
def graded(toy, tmp_path_factory):
    """Return a function that gives the reward of a patch."""
    folder = tmp_path_factory.mktemp("attacks")
    exporter = HarborExporter()
    exporter.write([toy.task], toy.blobs.get_blob, folder / "d", ExportSettings(), toy.surroundings)
    tests = folder / "d/tasks" / toy.task.instance_id / "tests"
    count = iter(range(1000))

    def grade(patch: bytes):
        logs = folder / f"logs{next(count)}"
        (logs / "artifacts").mkdir(parents=True)
        (logs / "verifier").mkdir()
        (logs / "artifacts/agent.patch").write_bytes(patch)
        mounts = [
            f"{tests}:/tests:ro",
            f"{logs}/artifacts:/logs/artifacts",
            f"{logs}/verifier:/logs/verifier",
        ]
        argv = ["docker", "run", "--rm", "--network", "none"]
        argv += [word for mount in mounts for word in ("-v", mount)]
        ran = subprocess.run([*argv, TAG, "/tests/test.sh"], check=False, capture_output=True, text=True)
        assert (logs / "verifier/reward.json").is_file(), ran.stdout + ran.stderr
        return json.loads((logs / "verifier/reward.json").read_text())["reward"]

    return grade


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    tree = write_tree(tmp_path_factory.mktemp("tree") / "t", contents(EDITED))
    git(tree, "init", "--quiet")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message=base")
    return tree


@pytest.mark.parametrize("attack", ATTACKS)
def test_patch_that_fixes_nothing_earns_nothing(graded, checkout, attack):
    assert graded(difference(checkout, EDITED, ATTACKS[attack])) == 0.0


@pytest.mark.parametrize("attack", ["conftest at the top", "settings of pytest", "plugin by metadata"])
def test_honest_fix_keeps_its_reward_beside_a_file_that_does_not_count(graded, checkout, attack):
    extra = ATTACKS[attack]
    reward = graded(difference(checkout, EDITED, GOLD, extra))
    assert reward == 1.0


def test_wrong_and_partial_fixes_earn_nothing(graded, toy):
    assert graded(toy.wrong) == 0.0
    assert graded(toy.partial) == 0.0
    assert graded(b"") == 0.0
    assert graded(b"no patch at all\n") == 0.0
