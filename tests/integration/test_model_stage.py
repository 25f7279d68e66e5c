"""The stages that a language model and the interface policy are part of, on a toy without a sandbox."""

from collections.abc import Iterator

import pytest
from scripted_model import Reply, completion, fenced, scripted
from test_testwriter_stage import GOLD, HIDDEN, run, without_tests
from verified_toy import Verified, verified_toy

from swequarry.outcome import Accepted, Boundary, Failed, RejectCode, Rejected
from swequarry.pipeline.stage import StageItem, run_stage
from swequarry.pipeline.stages.interface import InterfaceInput, InterfaceStage
from swequarry.records import InterfaceAction, InterfaceRecord, TestOrigin, Writing

SAID = "Adding goes wrong: the sum of two and three ought to be five in the toy's add."
TEST = "from toy.money import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5\n"


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verified]:
    toy = {"gold": GOLD, "hidden": HIDDEN, "fail_to_pass": ("test_add",), "pass_to_pass": ("test_parse",)}
    with verified_toy(tmp_path_factory.mktemp("verified"), **toy) as found:
        yield found


@pytest.fixture(autouse=True)
def nobody(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SWEQUARRY_MODEL"):
        monkeypatch.delenv(name, raising=False)


def ask(monkeypatch, url, name="scripted"):
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("SWEQUARRY_MODEL", name)


def test_an_issue_without_code_becomes_a_task_through_a_model_and_without_one_does_not(verified, monkeypatch):
    candidate = without_tests(verified, SAID)
    alone = run(verified, candidate)
    assert isinstance(alone, Rejected)
    assert alone.code is RejectCode.NO_TEST_CHANGE
    with scripted(completion(fenced(TEST))) as model:
        ask(monkeypatch, model.url)
        outcome = run(verified, candidate)
    assert isinstance(outcome, Accepted), outcome
    (added,) = Writing.from_json(outcome.value).added
    assert (added.origin, added.method) == (TestOrigin.GENERATED, "model:reproduction")
    assert verified.house.workspace.blobs.get(added.content) == TEST.encode()
    exchange = next(one for one in added.evidence if one.startswith("exchange ")).split()[1]
    assert verified.house.workspace.blobs.has(exchange)
    assert len(model.requests) == 1


def test_a_hostile_model_gets_nothing_into_a_task(verified, monkeypatch):
    hostile = "def test_x():\n    import os\n    os.system('id')\n    assert False\n"
    with scripted(completion(fenced(hostile))) as model:
        ask(monkeypatch, model.url, "hostile")
        outcome = run(verified, without_tests(verified, SAID))
    assert isinstance(outcome, Rejected)
    assert outcome.code is RejectCode.NO_TEST_CHANGE


def test_a_broken_model_server_is_a_failure_to_try_again_never_a_rejection(verified, monkeypatch):
    with scripted(Reply(b"<html>")) as model:
        ask(monkeypatch, model.url, "broken")
        outcome = run(verified, without_tests(verified, SAID))
    assert isinstance(outcome, Failed)
    assert outcome.boundary is Boundary.MODEL
    assert outcome.retryable


def interface(verified, policy):
    house = verified.house_with(interface={"policy": policy})
    known = verified.known
    asked = InterfaceInput(
        candidate=known.candidate, environment=known.environment, verification=known.verification
    )
    item = StageItem(key="x", input_hash=known.candidate.content_hash(), value=asked)
    (stored,) = run_stage(
        InterfaceStage(house), item, house.workspace.ledger, house.workspace.blobs, max_attempts=1
    ).outcomes
    return stored.outcome


VAGUE_GOLD = {"toy/money.py": GOLD["toy/money.py"] + "\n\ndef subtract_kindly(a, b):\n    return a - b\n"}
VAGUE_HIDDEN = {
    "tests/test_money.py": """
        from toy import money

        def test_add():
            assert money.add(2, 3) == 5

        def test_subtract():
            assert money.subtract_kindly(3, 2) == 1
    """
}


@pytest.fixture(scope="module")
def vague(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verified]:
    toy = {"gold": VAGUE_GOLD, "hidden": VAGUE_HIDDEN, "fail_to_pass": ("test_add", "test_subtract")}
    with verified_toy(tmp_path_factory.mktemp("vague"), **toy) as found:
        yield found


@pytest.mark.parametrize("policy", ["add", "drop"])
def test_the_record_says_which_test_wants_what_nobody_wrote_down(vague, policy):
    outcome = interface(vague, policy)
    assert isinstance(outcome, Accepted), outcome
    record = InterfaceRecord.from_json(outcome.value)
    (demand,) = record.demands
    assert (demand.text, demand.signature) == ("subtract_kindly", "subtract_kindly(a, b)")
    assert record.action is {"add": InterfaceAction.ADDED, "drop": InterfaceAction.DROPPED}[policy]
    assert record.dropped == (() if policy == "add" else ("tests/test_money.py::test_subtract",))


def test_the_policy_reject_ends_an_underspecified_candidate(vague):
    outcome = interface(vague, "reject")
    assert isinstance(outcome, Rejected)
    assert outcome.code is RejectCode.UNDERSPECIFIED


def test_tests_of_what_the_statement_tells_demand_nothing(verified):
    outcome = interface(verified, "reject")
    assert isinstance(outcome, Accepted), outcome
    assert InterfaceRecord.from_json(outcome.value).action is InterfaceAction.NONE
