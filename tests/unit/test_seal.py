"""The seal as a record, as a verdict and as text."""

from dataclasses import replace

from swequarry.cli.seal_text import seal_lines
from swequarry.outcome import Accepted, RejectCode, Rejected
from swequarry.pipeline.stages.seal import judge
from swequarry.records import ContentHash, LeakFinding, Seal, Task
from tests.task_factory import Blobs, make_task

SEAL = Seal(
    scanner=1,
    snapshot=ContentHash("1" * 64),
    environment=ContentHash("2" * 64),
    checks=("objects", "lines and n-grams"),
    lines=7,
    words=2,
    blocks=3,
)
LEAK = LeakFinding(path="/opt/swequarry/cache/a.whl!a.py", kind="gold", evidence=("3 of 4 lines",))


def test_a_finding_rejects_with_the_offending_path():
    outcome = judge(replace(SEAL, findings=(LEAK,)))
    assert isinstance(outcome, Rejected)
    assert outcome.code is RejectCode.LEAK
    assert LEAK.path in outcome.message
    assert outcome.evidence == ("/opt/swequarry/cache/a.whl!a.py: gold: 3 of 4 lines",)
    assert judge(SEAL) == Accepted(value=SEAL)


def test_a_task_from_before_the_seal_keeps_its_hash_and_says_that_it_has_none():
    task = make_task(Blobs())
    assert "seal" not in task.to_json()
    assert "none" in seal_lines(task, [])[0]


def test_a_task_tells_what_was_checked_and_what_was_not():
    task = replace(make_task(Blobs()), seal=replace(SEAL, not_scanned=("/opt/big.bin",)))
    assert Task.from_json(task.to_json()) == task
    text = "\n".join(seal_lines(task, []))
    for said in ("sealed", "7 lines, 2 names, 3 blocks", "checked: objects", "not scanned", "/opt/big.bin"):
        assert said in text
