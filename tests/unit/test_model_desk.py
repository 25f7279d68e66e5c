"""The line hears a model only where there is one, and a result without it is another than one with it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from task_factory import Blobs, make_task

from swequarry.config import LlmSettings, Settings, meaning_of
from swequarry.pipeline.model_writing import ModelDesk
from swequarry.pipeline.stages.interface import told, without_dropped
from swequarry.pipeline.workspace import Workspace
from swequarry.records import InterfaceAction, InterfaceRecord
from swequarry.records.interface import Demand, DemandKind
from testwriter.model.writer import ModelWriter


@pytest.fixture(autouse=True)
def nobody(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SWEQUARRY_MODEL"):
        monkeypatch.delenv(name, raising=False)


def desk(tmp_path, **settings):
    workspace = Workspace.open(Settings(workspace=tmp_path / "w", cache=tmp_path / "c"))
    return ModelDesk(SimpleNamespace(workspace=workspace), LlmSettings(**settings))


def test_without_a_model_nothing_is_heard_and_that_is_said(tmp_path):
    one = desk(tmp_path)
    assert one.writers() == ()
    assert "no model is named" in one.observed()["model"]["skipped"]
    assert one.meaning() == ()


def test_a_model_without_a_key_makes_no_other_result_than_none(tmp_path):
    assert desk(tmp_path, model="m").meaning() == ()
    assert "OPENAI_API_KEY" in desk(tmp_path, model="m").skipped


def test_with_a_key_the_result_is_made_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-12345")
    first = meaning_of(*desk(tmp_path, model="m").meaning())
    assert first != meaning_of()
    assert meaning_of(*desk(tmp_path, model="other").meaning()) != first
    assert meaning_of(*desk(tmp_path, model="m", repairs=0).meaning()) != first
    assert meaning_of(*desk(tmp_path, model="m", timeout_s=1, retries=9).meaning()) == first
    assert "12345" not in repr(desk(tmp_path, model="m").meaning())


def test_the_model_may_be_named_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEQUARRY_MODEL", "m")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    one = desk(tmp_path)
    ((name, make),) = one.writers()
    writer = make(None)
    assert name == "model"
    assert isinstance(writer, ModelWriter)
    told_ = one.observed()["model"]
    assert (told_["name"], told_["asked"], told_["exchanges"]) == ("m", 0, [])


RECORD = InterfaceRecord(
    policy="add",
    action=InterfaceAction.ADDED,
    demands=(Demand(kind=DemandKind.NAME, text="odd", signature="odd()", tests=("t.py::test_a",)),),
)


def test_the_policy_add_gives_the_statement_out_with_its_block():
    candidate = make_task(Blobs()).candidate
    found = told(candidate, RECORD).statement
    assert found.text == (
        f"{candidate.statement.text.rstrip()}\n\n## Interface\n\n"
        "Names and texts that a solution must have exactly as written here:\n\n- `odd()`\n"
    )
    assert found.revision == candidate.statement.revision + 1


def test_the_policy_drop_leaves_the_statement_and_takes_the_tests():
    task = make_task(Blobs())
    first, *others = task.verification.fail_to_pass
    record = InterfaceRecord(
        policy="drop",
        action=InterfaceAction.DROPPED,
        demands=RECORD.demands,
        dropped=(first.partition("[")[0],),
    )
    assert told(task.candidate, record) == task.candidate
    left = without_dropped(task.verification, record)
    assert first not in left.fail_to_pass
    assert set(left.fail_to_pass) <= set(others)
    assert left.pass_to_pass == task.verification.pass_to_pass


def test_a_task_without_demands_is_the_same_task_as_before():
    task = make_task(Blobs())
    assert "interface" not in task.to_json()
    assert replace(task, interface=RECORD).content_hash() != task.content_hash()
    none = InterfaceRecord(policy="add", action=InterfaceAction.NONE)
    assert told(task.candidate, none) is task.candidate
    assert without_dropped(task.verification, none) is task.verification
