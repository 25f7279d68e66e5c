"""`swequarry tests`: who wrote each hidden test of a task, and its proof."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from finished_run import FinishedRun
from task_factory import make_task

from swequarry.cli.main import run as command
from swequarry.pipeline.writing import export_tests, hidden_tests
from swequarry.records import AddedTest, BlobHash, Task, TestId, TestOrigin

TEXT = b"def test_x():\n    assert 1\n"
WRITTEN = TestId("tests/test_new.py::test_x")


@pytest.fixture
def made(tmp_path: Path) -> FinishedRun:
    return FinishedRun.make(tmp_path)


def task_of(made: FinishedRun) -> Task:
    task = make_task(made.workspace.blobs, fail_to_pass=("tests/test_a.py::test_one", WRITTEN))  # type: ignore[arg-type]
    added = AddedTest(
        path="tests/test_new.py",
        content=made.workspace.blobs.put(TEXT),
        origin=TestOrigin.DERIVED,
        method="neighbour",
        tests=(WRITTEN,),
        failing=((WRITTEN, "assert 1 == 2"),),
        good_for=("kills_wrong_fix",),
        kills=(BlobHash("a" * 64),),
        runs_before=2,
        runs_after=4,
    )
    return replace(task, verifier=replace(task.verifier, added=(added,)))


def test_origin_and_proof_of_each_hidden_test_are_told(made):
    found = {one.id: one for one in hidden_tests(task_of(made))}
    assert found[WRITTEN].origin is TestOrigin.DERIVED
    assert (found[WRITTEN].kills, found[WRITTEN].runs) == (1, "2 before, 4 after")
    assert found[TestId("tests/test_a.py::test_one")].origin is TestOrigin.UPSTREAM
    assert found[TestId("tests/test_a.py::test_two")].kind == "PASS_TO_PASS"


def test_command_prints_them_and_writes_the_added_files(made, capsys):
    task = task_of(made)
    made.finish(task)
    place = made.folder / "out"
    argv = ["tests", task.instance_id, "-w", str(made.settings.workspace), "--export-tests", str(place)]
    assert command([*argv, "--json"]) == 0
    told = {one["id"]: one for one in json.loads(capsys.readouterr().out)}
    assert told[WRITTEN]["method"] == "neighbour"
    assert (place / "tests" / "test_new.py").read_bytes() == TEXT
    assert command(argv) == 0
    assert "kills_wrong_fix" in capsys.readouterr().out.replace("\n", "")
    assert command(["show", task.instance_id, "-w", str(made.settings.workspace)]) == 0
    assert "  added: tests/test_new.py (derived, neighbour)" in capsys.readouterr().out


def test_only_added_files_leave_the_workspace(made, tmp_path):
    task = task_of(made)
    assert [
        path.name for path in export_tests(task.verifier.added, made.workspace.blobs.get, tmp_path / "o")
    ] == ["test_new.py"]


def test_task_with_added_tests_survives_its_json_and_others_keep_their_hash(made):
    task = task_of(made)
    assert Task.from_json(task.to_json()) == task
    bare = replace(task, verifier=replace(task.verifier, added=()))
    assert "added" not in bare.to_json()["verifier"]
    assert bare.content_hash() != task.content_hash()


def test_writing_for_an_unknown_item_says_so(made, capsys):
    made.finish(task_of(made))
    assert command(["write-tests", "nobody-9", "-w", str(made.settings.workspace)]) == 2
    assert "knows no item" in capsys.readouterr().err
