"""What is made beside the hidden tests follows from the budget, is kept, and never leaves with the dataset."""

import dataclasses
import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from task_factory import Blobs, make_task

from swequarry.config import ChecksSettings, ExportSettings
from swequarry.export.swebench import SwebenchExporter
from swequarry.ledger.attempts import AttemptEnd, AttemptStatus
from swequarry.ledger.blobs import BlobStore
from swequarry.ledger.gc import collect
from swequarry.ledger.keys import StageKey, StoredOutcome
from swequarry.ledger.ledger import Ledger
from swequarry.outcome import Accepted
from swequarry.pipeline.stages.checks import affordable_turns, measured_time
from swequarry.records import (
    BlobHash,
    Canaries,
    CheckFile,
    Checks,
    ContentHash,
    HeldOut,
    TestId,
)

ITEM = "acme__widgets-7"


def key(stage: str, version: int = 1) -> StageKey:
    return StageKey(
        stage=stage, version=version, input_hash=ContentHash("a" * 64), settings_hash=ContentHash("b" * 64)
    )


def some_checks(canary: BlobHash, twin: BlobHash) -> Checks:
    test = TestId("tests/test_a.py::test_one")
    return Checks(
        canaries=Canaries(
            files=(CheckFile(path="tests/test_a.py", content=canary),),
            must_fail=(test,),
            covered=1,
            fail_to_pass=1,
        ),
        held_out=HeldOut(
            files=(CheckFile(path="tests/test_0123456789ab.py", content=twin),),
            twins=((TestId("tests/test_0123456789ab.py::test_one"), test),),
            runs=2,
        ),
    )


@pytest.mark.parametrize(
    ("test_s", "turns"),
    [(None, 2), (0.2, 2), (40.0, 2), (41.0, 1), (60.0, 1), (61.0, 0), (112.0, 0), (113.0, None)],
)
def test_suite_of_minutes_does_not_cost_an_hour(test_s, turns):
    assert affordable_turns(ChecksSettings(budget_s=900), test_s) == turns


def test_budget_of_nothing_makes_nothing_for_tests_that_take_any_time():
    assert affordable_turns(ChecksSettings(budget_s=0), 0.1) is None


def test_time_of_the_tests_is_that_of_the_newest_whole_verification_after_the_fix(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    assert measured_time(ledger, ITEM) is None

    def verified(version: int, status: AttemptStatus, *after_s: float) -> None:
        number = ledger.begin_attempt(key("verify", version), ITEM)
        runs = [{"state": "before", "duration_s": 0.001}]
        runs += [{"state": "after", "duration_s": seconds} for seconds in after_s]
        ledger.end_attempt(number, AttemptEnd(status=status, observed={"runs": runs}))

    verified(1, AttemptStatus.DONE, 90.0, 80.0)
    verified(2, AttemptStatus.DONE, 7.0, 5.0, 6.0)
    verified(3, AttemptStatus.FAILED, 1.0)
    assert measured_time(ledger, ITEM) == 5.0


def test_canaries_and_twins_outlive_a_collection_of_blobs(tmp_path: Path) -> None:
    ledger, blobs = Ledger.open(tmp_path / "ledger.sqlite"), BlobStore(tmp_path / "blobs")
    canary, twin, lost = (blobs.put(data) for data in (b"canary", b"twin", b"lost"))
    checks = StoredOutcome(item=ITEM, outcome=Accepted(value=some_checks(canary, twin).to_json()))
    number = ledger.begin_attempt(key("checks"), ITEM)
    ledger.record(key("checks"), [checks], attempt=number, end=AttemptEnd(status=AttemptStatus.DONE))
    collect(ledger, blobs, now=os.path.getmtime(blobs.path_of(lost)) + 10, grace_s=1)  # noqa: PTH204
    assert (blobs.get(canary), blobs.get(twin), blobs.has(lost)) == (b"canary", b"twin", False)


def test_dataset_is_the_same_with_canaries_and_without_so_that_nobody_meets_one(tmp_path: Path) -> None:
    blobs = Blobs()
    canary, twin = blobs.put(b"def test_one():\n    assert 41 == 1\n"), blobs.put(b"the twin's own text")
    checks, plain = some_checks(canary, twin), make_task(blobs)
    task = dataclasses.replace(
        plain,
        verifier=dataclasses.replace(plain.verifier, canaries=checks.canaries, held_out=checks.held_out),
        provenance=dataclasses.replace(plain.provenance, checks=checks.content_hash()),
    )
    SwebenchExporter().write([task], blobs.get_blob, tmp_path / "d", ExportSettings())
    texts = {
        path: path.read_bytes().decode("utf-8", "replace")
        for path in (tmp_path / "d").rglob("*")
        if path.is_file()
    }
    texts |= {
        path: json.dumps(pq.read_table(path).to_pylist()) for path in texts if path.suffix == ".parquet"
    }
    assert any(plain.content_hash() in text for text in texts.values())
    for secret in (
        "41 == 1",
        "the twin's own text",
        "0123456789ab",
        canary,
        twin,
        "must_fail",
        checks.content_hash(),
    ):
        assert [path for path, text in texts.items() if secret in text] == []
