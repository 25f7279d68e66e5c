"""Predictions, reports and pools: nothing is graded twice, nothing is lost, and machinery gives no verdict."""

import asyncio
import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from task_factory import Blobs, make_task

from swequarry.errors import InputError, SandboxError
from swequarry.pipeline.grade_reports import file_name
from swequarry.pipeline.graded_set import GradedSet, grade_predictions
from swequarry.pipeline.grader import Graded, graded
from swequarry.pipeline.predictions import Prediction, read_predictions
from swequarry.pipeline.task_pools import Pool, pass_at_k, standing
from swequarry.records import (
    Reviewed,
    ReviewFinding,
    ReviewSeverity,
    Task,
    TestId,
    TestOutcome,
    sha256_hex,
)
from swequarry.verify.grade import Grade, Reason, Verdict

TASK = make_task(Blobs())
OTHER = make_task(Blobs(), number=8)
TASKS = {task.instance_id: task for task in (TASK, OTHER)}
SAID = Reviewed(
    findings=(ReviewFinding(rule="test-deleted", severity=ReviewSeverity.BLOCK, message="a test goes"),)
)
F2P = TestId("tests/test_a.py::test_one")


def made(task: Task, patch: bytes, verdict: Verdict, reason: Reason = Reason.TESTS) -> Graded:
    resolved = verdict is Verdict.RESOLVED
    return Graded(
        instance_id=task.instance_id,
        task=task.content_hash(),
        patch_sha256=sha256_hex(patch),
        verdict=verdict,
        reason=Reason.ALL_PASSED if resolved else reason,
        fail_to_pass=1,
        passed_fail_to_pass=int(resolved),
        failed=() if resolved else ((F2P, TestOutcome.FAILED),),
    )


class FakeGrader:
    """Resolves what says `right`; says of everything else what it is told; counts."""

    def __init__(self, *, gold: bytes = b"right gold", otherwise: Verdict = Verdict.NOT_RESOLVED) -> None:
        self.gold = gold
        self.otherwise = otherwise
        self.asked: list[tuple[str, bytes]] = []

    async def grade(self, task: str, patch: bytes) -> Graded:
        self.asked.append((task, patch))
        if b"no sandbox" in patch:
            raise SandboxError("the sandbox is gone")
        found = made(TASKS[task], patch, Verdict.RESOLVED if b"right" in patch else self.otherwise)
        return self.reviewed(TASKS[task], patch, found)

    def gold_of(self, _task: str) -> bytes:
        return self.gold

    def reviewed(self, _task: Task, patch: bytes, found: Graded) -> Graded:
        return replace(found, review=SAID if b"blocked" in patch else Reviewed())


def graded_set(grader: FakeGrader, output: Path, *patches: bytes | None, task: Task = TASK) -> GradedSet:
    predictions = [Prediction(instance_id=task.instance_id, model="org/m", patch=patch) for patch in patches]
    return asyncio.run(grade_predictions(grader, TASKS, predictions, output, lambda _p, _g: None))  # type: ignore[arg-type]


@pytest.mark.parametrize("reason", [Reason.NO_PATCH, Reason.KILLED, Reason.TESTS, Reason.LIMIT])
def test_patch_that_lets_no_test_run_earns_no_partial_credit(reason: Reason) -> None:
    done = graded(TASK, b"patch", Grade(verdict=Verdict.NOT_RESOLVED, reason=reason, message="m"))
    assert (done.passed_fail_to_pass, done.passed_pass_to_pass, done.partial_credit) == (0, 0, 0.0)


@pytest.mark.parametrize("reason", [Reason.CANARY, Reason.HELD_OUT])
def test_failed_test_of_grading_s_own_is_no_failed_hidden_test_and_earns_nothing(reason: Reason) -> None:
    failed = ((F2P, TestOutcome.CRASHED),)
    done = graded(TASK, b"patch", Grade(verdict=Verdict.NOT_RESOLVED, reason=reason, failed=failed))
    assert done.passed_fail_to_pass == len(TASK.verifier.fail_to_pass)
    assert done.partial_credit == 0.0


def test_second_call_grades_nothing_that_has_a_verdict(tmp_path: Path) -> None:
    first, second = FakeGrader(), FakeGrader()
    before = graded_set(first, tmp_path, b"right", b"wrong")
    again = graded_set(second, tmp_path, b"right", b"wrong", b"right too")
    assert [patch for _, patch in first.asked] == [b"right", b"wrong"]
    assert [patch for _, patch in second.asked] == [b"right too"]
    assert [graded for _, graded in again.found][:2] == [graded for _, graded in before.found]


def test_verdict_on_another_version_of_the_task_is_not_taken_over(tmp_path: Path) -> None:
    graded_set(FakeGrader(), tmp_path, b"right")
    place = tmp_path / "org__m" / TASK.instance_id / "report.json"
    report = json.loads(place.read_text())
    report["swequarry"][0]["task"] = "0" * 64
    place.write_text(json.dumps(report))
    grader = FakeGrader()
    graded_set(grader, tmp_path, b"right")
    assert len(grader.asked) == 1


def test_broken_machinery_is_no_verdict_and_is_tried_again(tmp_path: Path) -> None:
    done = graded_set(FakeGrader(), tmp_path, b"no sandbox", b"right")
    assert [graded.verdict for _, graded in done.found] == [Verdict.INFRA_FAILED, Verdict.RESOLVED]
    assert done.standings[0].pass_rate == 1.0
    assert done.standings[0].infra_failed == 1
    grader = FakeGrader()
    graded_set(grader, tmp_path, b"no sandbox", b"right")
    assert [patch for _, patch in grader.asked] == [b"no sandbox"]


def test_earlier_verdicts_stay_in_a_report_that_other_patches_are_added_to(tmp_path: Path) -> None:
    graded_set(FakeGrader(), tmp_path, b"right")
    graded_set(FakeGrader(), tmp_path, b"wrong")
    report = json.loads((tmp_path / "org__m" / TASK.instance_id / "report.json").read_text())
    kept = {entry["patch_sha256"] for entry in report["swequarry"]}
    assert kept == {sha256_hex(b"right"), sha256_hex(b"wrong")}


def test_damaged_report_costs_a_grading_and_no_crash(tmp_path: Path) -> None:
    graded_set(FakeGrader(), tmp_path, b"right")
    (tmp_path / "org__m" / TASK.instance_id / "report.json").write_text('{"swequarry": [{"task": 1}]}')
    grader = FakeGrader()
    graded_set(grader, tmp_path, b"right")
    assert len(grader.asked) == 1


def test_report_of_swe_bench_says_what_was_measured(tmp_path: Path) -> None:
    graded_set(FakeGrader(), tmp_path, b"wrong")
    report = json.loads((tmp_path / "org__m" / TASK.instance_id / "report.json").read_text())
    entry = report[TASK.instance_id]
    assert entry["patch_exists"]
    assert not entry["resolved"]
    assert entry["tests_status"]["FAIL_TO_PASS"] == {"success": [], "failure": [F2P]}


def test_review_that_blocks_leaves_resolved_as_it_was_measured_and_takes_accepted(tmp_path: Path) -> None:
    done = graded_set(FakeGrader(), tmp_path, b"right but blocked")
    assert [(one.resolved, one.accepted) for _, one in done.found] == [(True, False)]
    assert (done.standings[0].resolved, done.standings[0].accepted) == (1, 0)
    assert done.standings[0].pass_rate == 1.0
    report = json.loads((tmp_path / "org__m" / TASK.instance_id / "report.json").read_text())
    assert (report[TASK.instance_id]["resolved"], report[TASK.instance_id]["accepted"]) == (True, False)
    assert report["swequarry"][0]["review"]["findings"][0]["rule"] == "test-deleted"
    summary = json.loads((tmp_path / "org__m.json").read_text())
    assert (summary["resolved_ids"], summary["accepted_ids"]) == ([TASK.instance_id], [])


def test_patch_that_nobody_reviewed_is_not_accepted() -> None:
    assert not made(TASK, b"right", Verdict.RESOLVED).accepted


def test_unresolved_patch_without_findings_is_not_accepted() -> None:
    assert not replace(made(TASK, b"x", Verdict.NOT_RESOLVED), review=Reviewed()).accepted


def test_verdict_that_is_taken_over_is_reviewed_by_the_rules_of_today(tmp_path: Path) -> None:
    graded_set(FakeGrader(), tmp_path, b"right but blocked")
    place = tmp_path / "org__m" / TASK.instance_id / "report.json"
    report = json.loads(place.read_text())
    del report["swequarry"][0]["review"]
    place.write_text(json.dumps(report))
    grader = FakeGrader()
    done = graded_set(grader, tmp_path, b"right but blocked")
    assert grader.asked == []
    assert done.found[0][1].review == SAID


def test_empty_patch_is_counted_and_never_run(tmp_path: Path) -> None:
    grader = FakeGrader()
    graded_set(grader, tmp_path, None)
    summary = json.loads((tmp_path / "org__m.json").read_text())
    assert summary["empty_patch_ids"] == [TASK.instance_id]
    assert summary["completed_ids"] == []
    assert summary["incomplete_ids"] == [OTHER.instance_id]
    assert [patch for _, patch in grader.asked] == [b"right gold"]  # none resolves it: does gold?


def test_infrastructure_failure_is_not_an_unresolved_task(tmp_path: Path) -> None:
    graded_set(FakeGrader(), tmp_path, b"no sandbox")
    summary = json.loads((tmp_path / "org__m.json").read_text())
    assert summary["infra_failure_ids"] == summary["error_ids"] == [TASK.instance_id]
    assert summary["unresolved_ids"] == summary["completed_ids"] == []
    assert summary["failure_reasons"] == {TASK.instance_id: "the sandbox is gone"}


@pytest.mark.parametrize(
    ("patches", "gold", "pool"),
    [
        ([b"right", b"right 2"], b"right", Pool.MASTERED),
        ([b"right", b"wrong"], b"right", Pool.FRONTIER),
        ([b"wrong", b"wrong 2"], b"right", Pool.TOO_HARD),
        ([b"wrong"], b"wrong gold", Pool.BROKEN),
        ([b"wrong"], b"no sandbox", Pool.UNKNOWN),
        ([b"no sandbox"], b"right", Pool.UNKNOWN),
    ],
)
def test_hard_task_is_told_from_a_broken_one(
    tmp_path: Path, patches: list[bytes], gold: bytes, pool: Pool
) -> None:
    assert graded_set(FakeGrader(gold=gold), tmp_path, *patches).standings[0].pool is pool


def test_prediction_without_task_is_named_and_nothing_is_graded(tmp_path: Path) -> None:
    grader = FakeGrader()
    stray = replace(TASK, instance_id="acme__widgets-999")
    with pytest.raises(InputError, match="acme__widgets-999"):
        graded_set(grader, tmp_path, b"right", task=stray)
    assert not grader.asked


def test_cheat_earns_no_partial_credit() -> None:
    assert made(TASK, b"", Verdict.RESOLVED).partial_credit == 1.0
    assert replace(made(TASK, b"", Verdict.TAMPERED), passed_fail_to_pass=1).partial_credit == 0.0
    held_out = replace(made(TASK, b"", Verdict.NOT_RESOLVED, Reason.HELD_OUT), passed_fail_to_pass=1)
    assert held_out.partial_credit == 0.0


def test_fix_that_breaks_a_passing_test_earns_no_partial_credit() -> None:
    broke = replace(made(TASK, b"", Verdict.NOT_RESOLVED), passed_fail_to_pass=1, pass_to_pass=2)
    assert broke.partial_credit == 0.0
    assert replace(broke, passed_pass_to_pass=2).partial_credit == 1.0


@given(st.integers(1, 8), st.data())
def test_pass_at_k_is_the_share_of_draws_with_a_resolving_patch(total: int, data: st.DataObject) -> None:
    resolved = data.draw(st.integers(0, total))
    k = data.draw(st.integers(1, total))
    draws = list(combinations(range(total), k))
    share = sum(any(one < resolved for one in draw) for draw in draws) / len(draws)
    assert pass_at_k(total, resolved, k) == pytest.approx(share)


def test_variance_of_the_reward_is_that_of_a_coin() -> None:
    found = [made(TASK, b"1", Verdict.RESOLVED), made(TASK, b"2", Verdict.NOT_RESOLVED)]
    assert standing("t", found, gold_resolves=None).reward_variance == 0.25


PREDICTION = {"instance_id": "a__b-1", "model_patch": "diff", "model_name_or_path": "m"}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([PREDICTION]),
        json.dumps({"a__b-1": PREDICTION}),
        json.dumps(PREDICTION),
        json.dumps(PREDICTION) + "\n\n",
        json.dumps([PREDICTION], indent=2),
    ],
)
def test_every_form_of_predictions_is_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "preds.json"
    path.write_text(text)
    assert read_predictions(path) == (Prediction(instance_id="a__b-1", model="m", patch=b"diff"),)


@pytest.mark.parametrize("patch", ["", None, "\n"])
def test_blank_patch_is_none(tmp_path: Path, patch: str | None) -> None:
    path = tmp_path / "preds.jsonl"
    path.write_text(json.dumps({**PREDICTION, "model_patch": patch}))
    assert read_predictions(path)[0].patch is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no prediction"),
        ("[]", "no prediction"),
        ("[1]", "prediction 1"),
        ('{"instance_id": "a"}\n{"instance_id": "b"}\n{oops\n', ":3 is no JSON"),
        (json.dumps([PREDICTION, {"model_patch": "x"}]), "prediction 2"),
        (json.dumps([{**PREDICTION, "model_patch": 3}]), "prediction 1"),
    ],
)
def test_bad_predictions_are_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "preds.json"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_predictions(path)


def test_carriage_returns_of_a_patch_survive(tmp_path: Path) -> None:
    path = tmp_path / "preds.json"
    path.write_text(json.dumps([{**PREDICTION, "model_patch": "-a\r\n+b\r\n"}]))
    assert read_predictions(path)[0].patch == b"-a\r\n+b\r\n"


@given(st.text(), st.text())
def test_two_models_never_share_a_folder(one: str, other: str) -> None:
    names = file_name(one), file_name(other)
    assert all("/" not in name and name not in {"", ".", ".."} for name in names)
    if one.replace("/", "__") != other.replace("/", "__"):
        assert names[0] != names[1]
