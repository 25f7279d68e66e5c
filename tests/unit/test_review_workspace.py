"""Reviews in a workspace: of its tasks, of patches for them, of what people said; and the stage that keeps them."""

import json
from dataclasses import replace

import pytest
from finished_run import FinishedRun
from typer.testing import CliRunner
from verified_toy import SEAL

from swequarry.cli.app import app
from swequarry.config import Settings
from swequarry.errors import InputError
from swequarry.outcome import Accepted, RejectCode, Rejected
from swequarry.pipeline.stage import StageContext, StageItem
from swequarry.pipeline.stages.assess import AssessInput, AssessStage
from swequarry.pipeline.stages.house import House
from swequarry.records import (
    Checks,
    ClosureAudit,
    ContentHash,
    Snapshot,
    Stability,
    Strength,
    Task,
    canonical_json,
)

BASE = {b"src/a.py": b"def rows(text):\n    return text.split()\n"}
LINES = "    lines = [line for line in text.splitlines() if line]\n    table = [line.split(',') for line in lines]\n"
FIXED = {b"src/a.py": f"def rows(text):\n{LINES}    return table or [[]]\n".encode()}
GIVEN_AWAY = f"Rows are wrong.\n```python\n{LINES}    return table or [[]]\n```\n"
START = b"diff --git a/sitecustomize.py b/sitecustomize.py\nnew file mode 100644\n--- /dev/null\n+++ b/sitecustomize.py\n@@ -0,0 +1 @@\n+x = 1\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    made = FinishedRun.make(tmp_path_factory.mktemp("run"))
    base = made.upstream().commit(BASE)
    made.finish(made.task(1, base, FIXED), made.task(2, base, FIXED, statement=GIVEN_AWAY))
    return made


@pytest.fixture
def invoke(run):
    def call(name, *words):
        given = [name, *words, "-w", str(run.workspace.root)]
        return CliRunner().invoke(app, given, standalone_mode=False)

    return call


def task_of(run, number: int) -> Task:
    ending = next(one for one in run.workspace.ledger.endings(1) if one.item.endswith(f"-{number}"))
    return Task.from_json(ending.outcome.value)


def test_task_alone_is_reviewed(invoke):
    clean, given = (invoke("review", "--task", f"-{n}", "--format", "json") for n in (1, 2))
    assert clean.return_value == 0
    assert given.return_value == 1
    said = json.loads(given.stdout)
    assert said["findings"][0]["rule"] == "solution-in-statement"
    assert said["scores"]["statement <-> intent"] > 0.5
    for name in ("text", "markdown", "sarif"):
        assert "solution-in-statement" in invoke("review", "--task", "-2", "--format", name).stdout


def test_task_that_is_not_there_is_said(invoke):
    assert isinstance(invoke("review", "--task", "nobody-9").exception, InputError)


def test_patch_is_held_against_the_fix_of_its_task(run, invoke, tmp_path):
    gold = tmp_path / "gold.diff"
    gold.write_bytes(run.workspace.blobs.get(task_of(run, 1).candidate.gold_patch))
    assert invoke("review", "--patch", str(gold), "--task", "-1").return_value == 0
    other = tmp_path / "other.diff"
    other.write_bytes(START)
    result = invoke("review", "--patch", str(other), "--task", "-1", "--format", "json")
    assert result.return_value == 1
    assert "auto-loaded-file" in {one["rule"] for one in json.loads(result.stdout)["findings"]}


def test_trajectory_is_held_against_the_fix_of_its_task(invoke, tmp_path):
    shown = "".join(f"+{line}\n" for line in FIXED[b"src/a.py"].decode().splitlines())
    step = {"action": "git show abc", "observation": shown, "response": "", "state": "{}"}
    place = tmp_path / "x.traj"
    place.write_text(json.dumps({"trajectory": [step], "info": {}}))
    result = invoke("review", "--trajectory", str(place), "--task", "-1", "--format", "json")
    assert [one["rule"] for one in json.loads(result.stdout)["episodes"][0]["findings"]] == ["answer-seen"]
    assert result.return_value == 1


def test_word_of_a_person_is_kept_and_counted(run, invoke, tmp_path):
    patch = tmp_path / "fix.diff"
    patch.write_bytes(START)
    given = [
        "--patch",
        str(patch),
        "--verdict",
        "honest",
        "--rule",
        "auto-loaded-file",
        "--note",
        "their own",
    ]
    assert json.loads(invoke("label", "widgets-1", *given, "--json").stdout)["verdict"] == "honest"
    assert invoke("label", "widgets-2", "--verdict", "flawed").return_value == 0
    result = invoke("calibrate", "--alone", "--json")
    sets = {
        (one["set"], one["honest"]): (one["patches"], one["blocked"])
        for one in json.loads(result.stdout)["sets"]
    }
    assert sets == {("gold patches of the run", True): (2, 0), ("labels", True): (1, 1)}
    assert json.loads(result.stdout)["demoted"] == ["auto-loaded-file"]
    assert invoke("review", "--patch", str(patch)).return_value == 0
    (run.workspace.root / "calibration.json").unlink()
    assert invoke("review", "--patch", str(patch)).return_value == 1


def assessed(run, number: int, **review: object):
    task = task_of(run, number)
    snapshot = Snapshot(
        repo=task.candidate.repo,
        base_commit=task.candidate.base_commit,
        base_tree=task.candidate.base_tree,
        history="full",
        audit=ClosureAudit(objects=1, checks=()),
    )
    known = AssessInput(
        candidate=task.candidate,
        snapshot=snapshot,
        environment=task.environment,
        measured=task.verification,
        stability=Stability(
            unstable=(), stable=(), tried=(), runs=0, table=run.workspace.blobs.put(canonical_json([]))
        ),
        stable=task.verification,
        seal=SEAL,
        checks=Checks(),
        strength=Strength(wrong_fixes=()),
    )
    settings = Settings.model_validate({**run.settings.model_dump(mode="json"), "review": review})
    stage = AssessStage(House(settings, run.workspace))
    item = StageItem(key=task.instance_id, input_hash=ContentHash("0" * 64), value=known)
    (found,) = stage.run(item, StageContext(blobs=run.workspace.blobs, log=None))
    return found.outcome


def test_task_that_the_review_blocks_stays_what_was_measured_and_says_so(run):
    outcome = assessed(run, 2)
    assert isinstance(outcome, Accepted)
    task = Task.from_json(outcome.value)
    assert task.review.blocked
    assert task.verifier.fail_to_pass == task.verification.fail_to_pass
    assert not Task.from_json(assessed(run, 1).value).review.blocked
    assert replace(task, review=None).content_hash() == task.content_hash()


def test_task_that_the_review_blocks_is_dropped_where_the_settings_say_so(run):
    outcome = assessed(run, 2, blocked_tasks="drop")
    assert isinstance(outcome, Rejected)
    assert outcome.code is RejectCode.REVIEW
    assert outcome.evidence[0].startswith("solution-in-statement")
    assert isinstance(assessed(run, 1, blocked_tasks="drop"), Accepted)
