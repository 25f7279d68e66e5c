import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from swequarry.ledger import gc
from swequarry.ledger.attempts import AttemptEnd, AttemptStatus
from swequarry.ledger.blobs import BlobStore
from swequarry.ledger.keys import StageKey, StoredOutcome
from swequarry.ledger.ledger import Ledger
from swequarry.outcome import Accepted, RejectCode, Rejected
from swequarry.records import BlobHash, ContentHash

NOW = 1_000_000.0
KEY = StageKey(stage="s", version=1, input_hash=ContentHash("a" * 64), settings_hash=ContentHash("b" * 64))


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


@pytest.fixture
def ledger(ledger_place: str) -> Iterator[Ledger]:
    opened = Ledger.open(ledger_place)
    yield opened
    opened.close()


def old_blob(blobs: BlobStore, data: bytes) -> BlobHash:
    name = blobs.put(data)
    os.utime(blobs.path_of(name), (NOW - gc.DEFAULT_GRACE_S, NOW - gc.DEFAULT_GRACE_S))
    return name


def test_only_blobs_that_nothing_names_go(ledger: Ledger, blobs: BlobStore) -> None:
    patch, quoted, log, seen, ending, setting, kept = (old_blob(blobs, bytes([n])) for n in range(7))
    lost = old_blob(blobs, b"named by nobody")
    number = ledger.begin_attempt(KEY, "x")
    ledger.record(
        KEY,
        [
            StoredOutcome(item="x", outcome=Accepted(value={"deep": [{"patch": patch}]})),
            StoredOutcome(
                item="y",
                outcome=Rejected(code=RejectCode.LEAK, message="m", evidence=(f"see sha256:{quoted}",)),
            ),
        ],
        attempt=number,
        end=AttemptEnd(status=AttemptStatus.FAILED, log=log, observed={"output": seen}),
    )
    run = ledger.save_run({"fingerprints": setting})
    ledger.settle(run, "s", StoredOutcome(item="x", outcome=Accepted(value={"report": ending})))
    dry = gc.collect(ledger, blobs, now=NOW, keep=[kept], dry_run=True)
    assert blobs.has(lost)
    report = gc.collect(ledger, blobs, now=NOW, keep=[kept])
    assert report == dry
    assert (report.deleted, report.freed_bytes, report.named, report.young) == (1, 15, 7, 0)
    assert not blobs.has(lost)
    assert all(blobs.has(name) for name in (patch, quoted, log, seen, ending, setting, kept))
    assert gc.collect(ledger, blobs, now=NOW, keep=[kept]).deleted == 0


def test_blob_of_a_running_stage_stays(ledger: Ledger, blobs: BlobStore) -> None:
    name = blobs.put(b"just made")
    assert gc.collect(ledger, blobs).young == 1
    assert blobs.has(name)


def test_blob_that_a_run_puts_again_while_gc_runs_stays(
    ledger: Ledger, blobs: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = old_blob(blobs, b"wanted again")

    def meanwhile(_ledger: Ledger) -> frozenset[BlobHash]:
        blobs.put(b"wanted again")
        return frozenset()

    monkeypatch.setattr(gc, "named_blobs", meanwhile)
    assert gc.collect(ledger, blobs, now=NOW).deleted == 0
    assert blobs.get(name) == b"wanted again"


def test_empty_store_is_nothing_to_do(ledger: Ledger, blobs: BlobStore) -> None:
    assert gc.collect(ledger, blobs).deleted == 0
