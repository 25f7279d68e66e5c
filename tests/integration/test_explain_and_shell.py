"""A person asks for an environment, enters it, and helps it: one pull request of the example, end to end."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from swequarry.ledger.attempts import AttemptStatus
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.queries import attempts_of
from swequarry.pipeline.demo.build import MIRROR_TEMPLATE, REPO, build_repository, write_issues
from tests.integration.conftest import skip_or_fail

pytestmark = [pytest.mark.index, pytest.mark.timeout(900)]
ITEM = "tally__tally-1"


def swequarry(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "SWEQUARRY_CACHE": str(folder / "cache"), "NO_COLOR": "1"}
    argv = [sys.executable, "-m", "swequarry.cli", *arguments]
    return subprocess.run(
        argv, cwd=folder, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


def run_line(folder: Path, overrides: str = "{}") -> dict:
    done = swequarry(
        folder,
        *("reconstruct", REPO.full_name, "--pull", "1", "-w", "out", "-j", "1", "--json", "-q"),
        *("--mirror", str(folder / "source" / MIRROR_TEMPLATE)),
        *("--issues", "source/issues.jsonl", "--set", "verify.runs=1", "--set", "environment.max_tries=1"),
        *("--set", f"environment.overrides={overrides}"),
    )
    told = json.loads(done.stdout)
    if any("index" in failure for failure in told["failures"]):
        skip_or_fail("index", str(told["failures"]))
    assert done.returncode in (0, 1), done.stderr
    return told


def builds(folder: Path) -> int:
    ledger = Ledger.open(folder / "out" / "ledger.sqlite", create=False)
    done = [a for a in attempts_of(ledger, [ITEM]) if a.key.stage == "environment"]
    return sum(attempt.status is AttemptStatus.DONE for attempt in done)


@pytest.fixture(scope="module")
def quarry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked")
    build_repository(folder / "source")
    write_issues(folder / "source" / "issues.jsonl")
    assert run_line(folder)["accepted"] == 1
    return folder


def test_explanation_names_the_line_of_each_requirement_and_what_is_locked(quarry):
    told = json.loads(swequarry(quarry, "explain-env", ITEM, "-w", "out", "--json").stdout)
    (pytest_,) = [asked for asked in told["plan"]["requirements"] if asked["text"] == "pytest"]
    assert pytest_["origins"][0].startswith("pyproject.toml:")
    assert [one["result"] for one in told["tries"]] == ["works"]
    assert "pytest" in dict(told["packages"])
    assert told["plan"]["denied"] == "tally-demo"
    assert told["durations_s"]["resolve"] > 0


@pytest.mark.parametrize(("state", "code"), [("before", 1), ("after", 0)])
def test_shell_sees_what_the_tests_saw(quarry, state, code):
    run = ["python", "-m", "pytest", "-q", "tests/test_amounts.py"]
    done = swequarry(quarry, "shell", ITEM, "-w", "out", "--state", state, "--", *run)
    assert done.returncode == code, done.stdout + done.stderr
    assert "its tests: python -m pytest tests/test_amounts.py" in done.stderr


def test_every_shell_is_a_fresh_copy_without_a_network(quarry):
    spoil = "rm -rf tests; touch mark; ! python -c \"import socket; socket.create_connection(('10.0.0.1', 9), 2)\""
    assert swequarry(quarry, "shell", ITEM, "-w", "out", "--", "sh", "-c", spoil).returncode == 0
    again = swequarry(
        quarry, "shell", ITEM, "-w", "out", "-q", "--", "sh", "-c", "test -d tests && ! test -e mark"
    )
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_shell_with_the_index_has_the_index_of_the_day_and_not_the_project(quarry):
    code = (
        "import os, socket, urllib.request as r\n"
        "index = os.environ['PIP_INDEX_URL']\n"
        "print(r.urlopen(index + 'pytest/').status)\n"
        "for name in ('tally-demo', 'Tally_Demo', 'tally'):\n"
        "    try: print(r.urlopen(index + name + '/').status)\n"
        "    except OSError as error: print(error.code)\n"
        "try: socket.create_connection(('10.0.0.1', 9), 2)\n"
        "except OSError: print('closed')"
    )
    asked = ("shell", ITEM, "-w", "out", "--network", "index", "--", "python", "-c", code)
    done = swequarry(quarry, *asked)
    assert done.stdout.split() == ["200", "404", "404", "404", "closed"], done.stderr
    assert "with the index as of 20" in done.stderr


def test_attacks_on_a_task_of_the_line_are_rejected_and_its_gold_is_accepted(quarry):
    chosen = ("--attack", "conftest of the tests", "--attack", "a value that equals everything")
    done = swequarry(quarry, "selftest", ITEM, "-w", "out", "-q", "--json", *chosen)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert [(one["name"], one["verdict"]) for one in told["solvers"]] == [
        ("gold", "accepted"),
        ("conftest of the tests runs nothing", "rejected"),
        ("a value that equals everything", "rejected"),
    ]
    assert told["canary_share"] == 1.0
    shown = json.loads(swequarry(quarry, "show", ITEM, "-w", "out", "--json").stdout)
    assert shown["verifier"]["canaries"]["covered"] == len(shown["verifier"]["fail_to_pass"])
    assert "canaries for" in swequarry(quarry, "why", ITEM, "-w", "out").stdout


def test_only_an_override_for_this_repository_builds_it_again(quarry):
    before = builds(quarry)
    run_line(quarry, '{somebody/else: {python: "3.9"}, "other/*": {without: [six]}}')
    assert builds(quarry) == before
    run_line(quarry, '{"tally/*": {requirements: ["hypothesis>=99999"]}}')
    assert builds(quarry) == before + 1
    told = json.loads(swequarry(quarry, "explain-env", ITEM, "-w", "out", "--json").stdout)
    assert told["verdict"].startswith("rejected as build_failed")
    (tried,) = told["tries"]
    assert any("hypothesis>=99999" in line for line in tried["decisive_lines"])
    assert "override" in {entry["key"] for entry in told["evidence"]}
    refused = swequarry(quarry, "shell", ITEM, "-w", "out", "--", "true")
    assert refused.returncode == 2
    assert "no environment is stored" in refused.stderr
