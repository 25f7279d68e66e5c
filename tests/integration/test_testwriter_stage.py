"""Stage `testwriter` on a toy without a sandbox: what comes out is proven, or nothing."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from toy_task import BASE
from verified_toy import Verified, verified_toy

from swequarry.git.trees import TreeWorkbench
from swequarry.outcome import Accepted, Boundary, Failed, RejectCode, Rejected
from swequarry.pipeline.stage import StageItem, run_stage
from swequarry.pipeline.stages.testwriter import TestWriterStage, WritingInput
from swequarry.records import (
    BlobHash,
    Candidate,
    Fate,
    Strength,
    TestOrigin,
    Writing,
    WrongFix,
    WrongFixKind,
    canonical_json,
    sha256_hex,
)
from swequarry.verify.mutation_diff import readable_patch
from swequarry.verify.states import state_trees

GOLD = {"toy/money.py": BASE["toy/money.py"].replace("a - b", "b + a")}
HIDDEN = {
    "tests/test_money.py": """
        from toy.money import add, parse

        def test_parse():
            assert parse("12 EUR") == 12

        def test_add():
            assert add(2, 3) == 5
    """
}
WRONG = b"return b + a", b"return 5"


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verified]:
    toy = {"gold": GOLD, "hidden": HIDDEN, "fail_to_pass": ("test_add",), "pass_to_pass": ("test_parse",)}
    with verified_toy(tmp_path_factory.mktemp("verified"), **toy) as found:
        yield found


def without_tests(verified: Verified, statement: str) -> Candidate:
    candidate = verified.known.candidate
    with TreeWorkbench(verified.house.repository(candidate.repo)) as bench:
        gold = verified.house.workspace.blobs.get(candidate.gold_patch)
        after = bench.apply(candidate.base_tree, gold)
    return replace(
        candidate,
        test_patch=verified.house.workspace.blobs.put(b""),
        test_files=(),
        before_tree=candidate.base_tree,
        after_tree=after,
        statement=replace(candidate.statement, text=statement),
    )


def run(verified: Verified, candidate: Candidate, strength: Strength | None = None, **settings: object):
    house = verified.house_with(testwriter={"runs": 2, **settings})
    known = WritingInput(
        candidate=candidate,
        snapshot=verified.known.snapshot,
        environment=verified.known.environment,
        strength=strength,
    )
    parts = [candidate.content_hash(), strength.content_hash() if strength else ""]
    item = StageItem(key="x", input_hash=sha256_hex(canonical_json(parts)), value=known)
    workspace = house.workspace
    (stored,) = run_stage(
        TestWriterStage(house), item, workspace.ledger, workspace.blobs, max_attempts=1
    ).outcomes
    return stored.outcome


def weak(verified: Verified) -> Strength:
    """Return the strength of a suite that lets a wrong fix pass."""
    with TreeWorkbench(verified.house.repository(verified.known.candidate.repo)) as bench:
        _, after = state_trees(bench, verified.known.candidate, verified.house.workspace.blobs.get)
        gold = bench.delta(verified.known.candidate.base_tree, after).files[b"toy/money.py"].data
    patch = readable_patch(b"toy/money.py", gold, gold.replace(*WRONG))
    fix = WrongFix(
        kind=WrongFixKind.MUTANT,
        fate=Fate.SURVIVED,
        path="toy/money.py",
        line=4,
        operator="constant",
        diff=verified.house.workspace.blobs.put(patch),
    )
    return Strength(wrong_fixes=(fix,))


def test_fix_without_tests_gets_one_from_its_issue(verified):
    outcome = run(verified, without_tests(verified, "Sums\n\n`add(2, 3)` should be 5."))
    assert isinstance(outcome, Accepted), outcome
    writing = Writing.from_json(outcome.value)
    (test, *_) = writing.added
    assert (test.origin, test.method, test.good_for) == (TestOrigin.DERIVED, "expected_value", ("only_test",))
    assert test.public
    assert writing.candidate is not None
    assert writing.candidate.test_files == tuple(sorted(test.path for test in writing.added))
    assert "tests_added" in writing.candidate.flags
    with TreeWorkbench(verified.house.repository(writing.candidate.repo)) as bench:
        state_trees(
            bench, writing.candidate, verified.house.workspace.blobs.get
        )  # raises where they disagree


def test_fix_without_tests_whose_issue_shows_nothing_that_turns_is_rejected(verified):
    outcome = run(verified, without_tests(verified, "Texts\n\n`parse('3 EUR')` should be 3."), budget_runs=3)
    assert isinstance(outcome, Rejected)
    assert outcome.code is RejectCode.NO_TEST_CHANGE
    assert any("passes_before" in line for line in outcome.evidence)


def test_wrong_fix_that_upstream_lets_pass_is_rejected_by_a_neighbour(verified):
    strength, candidate = weak(verified), verified.known.candidate
    outcome = run(verified, candidate, strength)
    assert isinstance(outcome, Accepted), outcome
    writing = Writing.from_json(outcome.value)
    assert [test.kills for test in writing.added] == [(strength.wrong_fixes[0].diff,)]
    assert writing.added[0].method == "neighbour"
    assert writing.candidate is not None
    get = verified.house.workspace.blobs.get
    with TreeWorkbench(verified.house.repository(candidate.repo)) as bench:
        before, _ = state_trees(bench, candidate, get)
        more, _ = state_trees(bench, writing.candidate, get)
        changes = bench.changes(before, more)
    assert [change.paths for change in changes] == [(writing.added[0].path.encode(),)]


def test_nothing_is_written_where_nothing_is_wanting(verified):
    before = len(verified.backend.runs)
    outcome = run(verified, verified.known.candidate, Strength(wrong_fixes=()))
    assert isinstance(outcome, Accepted)
    writing = Writing.from_json(outcome.value)
    assert (writing.added, writing.candidate) == ((), None)
    assert len(verified.backend.runs) == before


def test_writer_that_is_off_writes_nothing_and_says_so(verified):
    outcome = run(verified, verified.known.candidate, weak(verified), enabled=False)
    assert Writing.from_json(outcome.value).left_out == ("tests: testwriter.enabled is off",)


def test_broken_sandbox_is_no_verdict_about_a_fix_without_tests(verified, monkeypatch):
    monkeypatch.setattr(verified.backend, "broken", True)
    outcome = run(verified, without_tests(verified, "Sums\n\n`add(2, 4)` should be 6."))
    assert isinstance(outcome, Failed)
    assert outcome.boundary is Boundary.SANDBOX


def test_record_of_what_was_written_survives_its_json():
    writing = Writing(left_out=("x",))
    assert Writing.from_json(writing.to_json()) == writing
    assert BlobHash("x") not in writing.to_json()
