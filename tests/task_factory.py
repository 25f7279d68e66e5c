"""Tasks for tests of export and report: whole, valid records with whatever one test wants changed."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from swequarry.records import (
    BlobHash,
    Budget,
    Candidate,
    CommitSha,
    ContentHash,
    Environment,
    Fate,
    GoldCoverage,
    InitialState,
    Licence,
    Perturbation,
    Provenance,
    QuarantinedTest,
    Recipe,
    RepoRef,
    Stability,
    State,
    Statement,
    StatementKind,
    Strength,
    Task,
    TestId,
    TestOutcome,
    TestStability,
    TreeProof,
    TreeSha,
    UnstableReason,
    Verification,
    Verifier,
    WrongFix,
    WrongFixKind,
    canonical_json,
    sha256_hex,
)

GOLD = b"diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
TEST = b"diff --git a/tests/test_a.py b/tests/test_a.py\n--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1 +1 @@\n-assert 1\n+assert 2\n"
LOCK = b"iniconfig==2.0.0 --hash=sha256:b6a85871a79d2e3b22d2d1b94ac2824226a63c6b741c88f7ae975f18b6778374\n"
ACME = RepoRef(owner="acme", name="widgets")
MIT = Licence(spdx="MIT", files=("LICENSE",), evidence="LICENSE: MIT")
PASSED, FAILED = TestOutcome.PASSED, TestOutcome.FAILED
MERGED = datetime(2024, 3, 1, 12, 0, tzinfo=UTC)


class Blobs(dict):
    """A blob store in memory."""

    def put(self, data: bytes) -> BlobHash:
        key = BlobHash(sha256_hex(data))
        self[key] = data
        return key

    def get_blob(self, key: BlobHash) -> bytes:
        return self[key]


def make_task(
    blobs: Blobs,
    *,
    number: int = 7,
    repo: RepoRef = ACME,
    gold: bytes = GOLD,
    test: bytes = TEST,
    fail_to_pass: tuple[str, ...] = ("tests/test_a.py::test_one",),
    pass_to_pass: tuple[str, ...] = ("tests/test_a.py::test_two",),
    quarantined: tuple[tuple[str, str], ...] = (),
    statement: str = "Widgets crash on an empty row.",
    kind: StatementKind = StatementKind.ISSUE,
    backend: str = "bubblewrap",
    licence: Licence | None = MIT,
    test_files: tuple[str, ...] = ("tests/test_a.py",),
    recipe: dict[str, Any] | None = None,
    candidate: dict[str, Any] | None = None,
) -> Task:
    base, tree = CommitSha("b" * 40), TreeSha("c" * 40)
    instance_id = repo.instance_id(number)
    made = Candidate(
        repo=repo,
        instance_id=instance_id,
        pull_number=number,
        source="git",
        base_commit=base,
        base_tree=tree,
        before_tree=TreeSha("d" * 40),
        after_tree=TreeSha("e" * 40),
        gold_patch=blobs.put(gold),
        test_patch=blobs.put(test),
        gold_files=("src/a.py",),
        test_files=test_files,
        cutoff=MERGED,
        merged_at=MERGED,
        tree_proof=TreeProof.PROVEN,
        statement=Statement(kind=kind, text=statement, issue_numbers=(5,)),
        licence=licence,
    )
    made = replace(made, **(candidate or {}))
    return Task(
        instance_id=instance_id,
        instruction=made.statement,
        initial_state=InitialState(
            repo=repo, base_commit=base, base_tree=tree, history="full", snapshot=ContentHash("1" * 64)
        ),
        environment=Environment(
            backend=backend,
            python_version="3.11.7",
            recipe=Recipe(python="3.11", cutoff=MERGED, **(recipe or {})),
            lock=blobs.put(LOCK),
            project_version="1.4.0",
        ),
        verifier=Verifier(
            test_patch=made.test_patch,
            test_files=test_files,
            test_command=("python", "-m", "pytest"),
            fail_to_pass=tuple(TestId(t) for t in fail_to_pass),
            pass_to_pass=tuple(TestId(t) for t in pass_to_pass),
        ),
        budget=Budget(time_s=600),
        provenance=Provenance(
            candidate=made.content_hash(),
            snapshot=ContentHash("1" * 64),
            environment=ContentHash("2" * 64),
            verification=ContentHash("3" * 64),
            swequarry_version="0.1.0",
        ),
        candidate=made,
        verification=Verification(
            backend=backend,
            scope="touched",
            test_command=("python", "-m", "pytest"),
            test_files=test_files,
            runs_before=3,
            runs_after=3,
            fail_to_pass=tuple(TestId(t) for t in fail_to_pass),
            pass_to_pass=tuple(TestId(t) for t in pass_to_pass),
            quarantined=tuple(
                QuarantinedTest(
                    id=TestId(t), reason=reason, before=(PASSED, FAILED, PASSED), after=(PASSED,) * 3
                )
                for t, reason in quarantined
            ),
        ),
    )


def with_measurements(
    task: Task, blobs: Blobs, *, text: str = "tests/test_a.py::test_bomb", survivors: int = 1
) -> Task:
    """Return a task whose tests were perturbed and held against wrong fixes; `text` is what is foreign in it."""
    bomb = TestStability(
        id=TestId(text),
        state=State.AFTER,
        runs=4,
        passes=2,
        reason=UnstableReason.TIME,
        flipped=(Perturbation.YEAR_AHEAD,),
        outcomes=(("none", (PASSED,)), ("order+seed", (PASSED,)), ("year_ahead", (FAILED, FAILED))),
    )
    stability = Stability(
        unstable=(bomb,),
        stable=((State.AFTER, 2), (State.BEFORE, 3)),
        tried=((State.AFTER, ("none", "order+seed", "year_ahead")),),
        runs=8,
        table=blobs.put(canonical_json([bomb.to_json()])),
    )
    kinds = (WrongFixKind.NO_OP, WrongFixKind.HUNK_LEFT_OUT, *[WrongFixKind.MUTANT] * survivors)
    fixes = tuple(
        WrongFix(
            kind=kind,
            fate=Fate.SURVIVED if kind is WrongFixKind.MUTANT else Fate.KILLED,
            path=f"src/{text}.py",
            line=3 + number,
            operator="constant" if kind is WrongFixKind.MUTANT else "",
            diff=blobs.put(GOLD + text.encode("utf-8", "replace") + b"%d" % number),
        )
        for number, kind in enumerate(kinds)
    )
    covered = GoldCoverage(
        lines=4, covered_lines=3, branches=2, covered_branches=1, uncovered=((f"src/{text}.py", 9),)
    )
    return replace(
        task, stability=stability, strength=Strength(wrong_fixes=fixes, coverage=covered, not_tried=1)
    )
