"""Backports and second tries: one change gives one task, whatever the order (B061)."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.variants import NOT_ON_DEFAULT, find_variants
from swequarry.outcome import RejectCode
from swequarry.records import (
    BlobHash,
    Candidate,
    CommitSha,
    IssueLink,
    LinkPlace,
    RepoRef,
    Statement,
    StatementKind,
    TreeSha,
)

START = datetime(2024, 3, 1, tzinfo=UTC)
BLOBS: dict[str, bytes] = {}


def patch(lines: list[str], at: int = 10, path: str = "src/a.py") -> bytes:
    added = "".join(f"+{line}\n" for line in lines)
    return (
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
        f"@@ -{at},2 +{at},{2 + len(lines)} @@\n before\n{added} after\n"
    ).encode()


FIX = [f"value_{number} = compute({number}, rounding={number} + 1)" for number in range(12)]


def candidate(
    number: int, gold: bytes, *, issue: int | None = 200, day: int = 0, **more
) -> tuple[str, Candidate]:
    name = BlobHash(hashlib.sha256(gold).hexdigest())
    BLOBS[name] = gold
    links = () if issue is None else (IssueLink(number=issue, place=LinkPlace.BODY, quote="Fixes"),)
    made = Candidate(
        repo=RepoRef(owner="acme", name="widgets"),
        instance_id=f"acme__widgets-{number}",
        pull_number=number,
        source="git",
        base_commit=CommitSha("a" * 40),
        base_tree=TreeSha("b" * 40),
        before_tree=TreeSha("c" * 40),
        after_tree=TreeSha("d" * 40),
        gold_patch=name,
        test_patch=name,
        gold_files=("src/a.py",),
        test_files=("tests/test_a.py",),
        cutoff=START,
        statement=Statement(kind=StatementKind.COMMITS, text="x"),
        merged_at=START + timedelta(days=day),
        links=links,
    )
    return f"acme__widgets-{number}", replace(made, **more)


def dropped(*candidates):
    found = find_variants(candidates, lambda name: BLOBS[name])
    assert all(one.code is RejectCode.VARIANT for one in found.values())
    return {item.rpartition("-")[2]: one.evidence[0].rpartition("-")[2] for item, one in found.items()}


BACKPORTS = [
    candidate(201, patch(FIX), day=2),
    candidate(202, patch(FIX, at=13), day=1, flags=(NOT_ON_DEFAULT,)),
    candidate(203, patch(FIX, at=7), day=3, flags=("other_branch",)),
    candidate(204, patch(["another = 1"]), day=4),
]


@given(st.permutations(BACKPORTS))
def test_one_task_stands_for_all_backports_in_whatever_order_they_come(order):
    assert dropped(*order) == {"202": "201", "203": "201"}


def test_backport_with_other_surroundings_is_told_by_its_issue():
    adapted = patch([*FIX[:-1], "value_11 = None"])
    assert dropped(candidate(201, patch(FIX)), candidate(202, adapted, day=1)) == {"202": "201"}
    assert dropped(candidate(201, patch(FIX)), candidate(202, adapted, day=1, issue=9)) == {}


def test_two_different_fixes_of_one_issue_are_two_tasks():
    assert dropped(candidate(201, patch(FIX)), candidate(202, patch(["something = 'else'"]))) == {}


def test_same_change_elsewhere_is_another_task():
    other = RepoRef(owner="acme", name="gadgets")
    assert dropped(candidate(201, patch(FIX)), candidate(202, patch(FIX), repo=other)) == {}
    assert dropped(candidate(201, patch(FIX)), candidate(202, patch(FIX, path="src/b.py"), issue=None)) == {}


def test_rows_of_a_dataset_are_taken_as_they_are():
    assert dropped(candidate(201, patch(FIX), source="rows"), candidate(202, patch(FIX), source="rows")) == {}


@pytest.mark.parametrize("gold", [b"", b"no patch", b"diff --git a/x b/x\nBinary files differ\n"])
def test_a_patch_without_lines_is_like_no_other(gold):
    assert dropped(candidate(1, gold, issue=None), candidate(2, gold, issue=None)) == {}


def test_chains_of_variants_end_at_one_and_each_says_why():
    found = find_variants(
        [candidate(1, patch(FIX)), candidate(2, patch(FIX), day=1), candidate(3, patch(FIX[:-1]), day=2)],
        lambda name: BLOBS[name],
    )
    assert found["acme__widgets-2"].message.endswith("it makes the same change as acme__widgets-1")
    assert "both resolve #200" in found["acme__widgets-3"].message
    assert {one.evidence for one in found.values()} == {("variant_of=acme__widgets-1",)}


def test_two_that_are_alike_only_by_a_third_are_told_too():
    lines = [FIX[:10], FIX, FIX[2:]]
    made = [
        candidate(n, patch(part), day=day) for n, day, part in zip((1, 3, 2), (0, 2, 1), lines, strict=True)
    ]
    assert dropped(*made) == {"2": "1", "3": "1"}
