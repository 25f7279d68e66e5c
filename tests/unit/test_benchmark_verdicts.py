"""Agreement of graders: no difference is explained away, and a rule holds only where it says so."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from task_factory import Blobs, make_task

from benchmarks.differences import Pair, explain
from benchmarks.harnesses import Told, installed, without_network_mode
from benchmarks.memory import Peak, tree_bytes
from benchmarks.variants import chosen
from swequarry.errors import InputError
from swequarry.pipeline.grader import Graded
from swequarry.records import TestId, TestOutcome, WrongFixKind
from swequarry.verify.grade import Reason, Verdict
from swequarry.verify.mutation_fixes import Attempt

TASK = make_task(Blobs())
F2P, P2P = TASK.verifier.fail_to_pass, TASK.verifier.pass_to_pass
FAILED = Graded(
    instance_id=TASK.instance_id,
    task=TASK.content_hash(),
    patch_sha256="0" * 64,
    verdict=Verdict.NOT_RESOLVED,
    reason=Reason.TESTS,
    failed=((F2P[0], TestOutcome.FAILED),),
)
RESOLVED = replace(FAILED, verdict=Verdict.RESOLVED, reason=Reason.ALL_PASSED, failed=())
YES, NO, NOTHING = Told(resolved=True), Told(resolved=False), Told(None, "no result")


def rule(
    ours: Graded, theirs: Told, tool: str = "swebench", dropped: frozenset[TestId] = frozenset()
) -> str | None:
    return explain(Pair(ours=ours, tool=tool, theirs=theirs, dropped=dropped), F2P, P2P)


@pytest.mark.parametrize(("ours", "theirs"), [(RESOLVED, YES), (FAILED, NO)])
def test_same_verdicts_are_the_same(ours: Graded, theirs: Told) -> None:
    assert rule(ours, theirs) == "same"


@pytest.mark.parametrize("tool", ["swebench", "harbor"])
@pytest.mark.parametrize(("ours", "theirs"), [(RESOLVED, NO), (FAILED, YES)])
def test_plain_difference_is_not_explained_away(ours: Graded, theirs: Told, tool: str) -> None:
    assert rule(ours, theirs, tool) is None


def test_who_cannot_say_agrees_with_nobody() -> None:
    broken = replace(FAILED, verdict=Verdict.INFRA_FAILED, reason=Reason.MACHINERY)
    assert [rule(FAILED, NOTHING), rule(broken, NO), rule(broken, NOTHING)] == ["machinery"] * 3


def test_canary_explains_only_what_the_other_one_resolves() -> None:
    canary = replace(FAILED, reason=Reason.CANARY)
    assert rule(canary, YES) == "beyond the hidden tests"
    assert rule(replace(canary, verdict=Verdict.RESOLVED), NO) is None


def test_skipped_test_explains_a_difference_only_in_pass_to_pass_and_there() -> None:
    skipped = replace(FAILED, failed=((P2P[0], TestOutcome.SKIPPED),))
    assert rule(skipped, YES) == "skipped PASS_TO_PASS counts there"
    assert rule(skipped, YES, "harbor") is None
    assert rule(replace(FAILED, failed=((F2P[0], TestOutcome.SKIPPED),)), YES) is None
    assert rule(replace(skipped, failed=(*skipped.failed, *FAILED.failed)), YES) is None


def test_dropped_test_explains_nothing_where_another_one_failed_too() -> None:
    assert rule(FAILED, YES, dropped=frozenset(F2P)) == "test dropped from the export"
    both = replace(FAILED, failed=(*FAILED.failed, (P2P[0], TestOutcome.FAILED)))
    assert rule(both, YES, dropped=frozenset(F2P)) is None


def attempt(kind: WrongFixKind, *, equivalent: bool = False) -> Attempt:
    return Attempt(kind=kind, path=b"a.py", files={b"a.py": b""}, equivalent=equivalent)


def test_partial_fix_is_no_mutant_and_none_that_does_what_gold_does() -> None:
    hunk = attempt(WrongFixKind.HUNK_LEFT_OUT, equivalent=True)
    file, mutant = attempt(WrongFixKind.FILE_LEFT_OUT), attempt(WrongFixKind.MUTANT)
    assert chosen([hunk, mutant, file], "partial") is file
    assert chosen([hunk, mutant], "partial") is None
    assert chosen([hunk, file, mutant], "wrong") is mutant


def test_memory_of_a_child_is_counted_and_gone_with_it() -> None:
    size = 100 << 20
    code = f"import sys; held = b'x' * {size}; print('ready', flush=True); sys.stdin.read()"
    with Peak(interval_s=0.01) as peak:
        before = tree_bytes(os.getpid())
        with subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            assert tree_bytes(os.getpid()) > before + size * 0.9
            child.communicate()
    assert peak.size_bytes > 0


def test_task_that_harbor_would_run_as_it_is_is_not_changed_in_silence(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text("[environment]\n")
    with pytest.raises(InputError, match="no-network"):
        without_network_mode(tmp_path)


def test_tool_that_is_installed_is_not_installed_again(tmp_path: Path) -> None:
    (tmp_path / "installed").write_text(json.dumps(["nothing==1"]))
    assert installed(tmp_path, ("nothing==1",), (99, 0)) == tmp_path / "venv/bin"
    with pytest.raises(InputError, match="no Python 99"):
        installed(tmp_path / "other", ("nothing==1",), (99, 0))
