"""The seal as a record, as a verdict and as text."""

from dataclasses import replace
from types import SimpleNamespace

from git_building import make_upstream

from swequarry.cli.seal_text import seal_lines
from swequarry.git.repository import Repository
from swequarry.outcome import Accepted, RejectCode, Rejected
from swequarry.pipeline.stages.seal import answer_of, judge
from swequarry.records import ContentHash, LeakFinding, Seal, Task
from tests.leak_factory import BASE, FIXED, GOLD_PATCH, TEST_PATCH
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


def test_what_base_has_in_any_file_is_no_part_of_the_answer(tmp_path):
    upstream = make_upstream(tmp_path)
    half = b"\n".join(FIXED.splitlines()[:8])
    files = {b"src/tally/amounts.py": BASE, b"doc/\xff.txt": half, b"logo.png": b"\0" + FIXED, b"empty": b""}
    commit = upstream.commit(files)
    repository = Repository.open(upstream.path)
    task = make_task(Blobs())
    blobs = {task.candidate.gold_patch: GOLD_PATCH, task.candidate.test_patch: TEST_PATCH}
    house = SimpleNamespace(
        workspace=SimpleNamespace(blobs=SimpleNamespace(get=blobs.__getitem__)),
        repository=lambda _: repository,
    )
    candidate = replace(
        task.candidate, base_tree=repository.tree_of(commit), gold_files=("src/tally/amounts.py",)
    )
    answer, base = answer_of(house, candidate, task.environment)
    assert answer.lines["gold"] == {
        b'total_cents = int(thousands_removed) * 100 + int((cents + "00")[:2])',
        b"return -total_cents if negative else total_cents",
    }
    assert answer.words["gold"] == {b"total_cents"}
    assert b"test_thousands_are_read_whole" in answer.words["tests"]
    assert base.blobs == {entry.sha for entry in repository.list_tree(commit)}
