"""The clean room: what reaches it, what it says of honest failures, and what it never turns into a verdict."""

import importlib.util
import marshal
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fake_backend import BARE, FakeBackend
from toy_task import BASE, GOLD, HIDDEN, Toy, contents, toy_task, write_tree
from verify_worlds import WORLD

from swequarry.records import TestId, TestOutcome
from swequarry.sandbox.contract import EndedBy
from swequarry.verify.attacks import Target
from swequarry.verify.candidate import folder_tree, sift
from swequarry.verify.grade import Reason, Verdict, grade


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    with toy_task(tmp_path_factory.mktemp("toy")) as made:
        rig, _ = made.rig.surveyed(made.case.recipe)
        yield replace(made, rig=rig)


def solved(folder: Path) -> Path:
    return write_tree(folder, contents(BASE, GOLD))


def test_a_folder_is_graded_without_asking_its_git(toy: Toy, tmp_path: Path) -> None:
    folder = solved(tmp_path / "work")
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text("[core]\nfsmonitor = touch /tmp/never\n")
    (folder / "toy/.git").write_text("gitdir: /nowhere\n")
    (folder / "conftest.py").write_text("raise SystemExit(0)\n")
    (folder / "out").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
    found = grade(toy.rig, toy.case, folder)
    assert found.verdict is Verdict.RESOLVED
    assert {(note.code, note.place) for note in found.notes} == {
        ("R1", "conftest.py"), ("R17", "out"), ("R17", "pipe"),
    }  # fmt: skip


def test_what_base_ignores_is_left_where_it_was_built(toy: Toy, tmp_path: Path) -> None:
    base = Target(toy.rig.bench, toy.case).tree(toy.case.base, {".gitignore": b"build/\n*.log\n!kept.log\n"})
    folder = write_tree(tmp_path / "work", contents(BASE))
    for name in ("build/x.py", "toy/a.log", "toy/kept.log"):
        write_tree(folder, {name.encode(): b"x\n"})
    (folder / ".gitignore").write_text("toy/\n")
    tree, notes = folder_tree(toy.rig.bench, base, folder)
    changes = toy.rig.bench.changes(base, tree)
    assert {change.paths[0] for change in changes} == {b".gitignore", b"toy/kept.log"}
    assert notes == ()


def test_tests_that_the_solver_deleted_come_back(toy: Toy, tmp_path: Path) -> None:
    folder = solved(tmp_path / "work")
    for name in ("tests/test_money.py", "tests/conftest.py", "tests/__init__.py"):
        (folder / name).unlink()
    assert grade(toy.rig, toy.case, folder).verdict is Verdict.RESOLVED


def test_a_broken_neighbour_is_an_honest_failure(toy: Toy) -> None:
    broken = dict(GOLD)
    broken["toy/money.py"] = GOLD["toy/money.py"].replace("return int(text.split()[0])", "return 0")
    files = contents(broken)
    found = grade(
        toy.rig, toy.case, Target(toy.rig.bench, toy.case).patch({"toy/money.py": files[b"toy/money.py"]})
    )
    assert (found.verdict, found.reason, found.evidence) == (Verdict.NOT_RESOLVED, Reason.TESTS, ())
    assert found.failed == tuple(
        (TestId(f"tests/test_money.py::{name}"), TestOutcome.FAILED)
        for name in ("test_parse", "test_parse_other")
    )


@pytest.mark.parametrize("patch", [b"no patch", b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"])
def test_what_does_not_apply_is_not_resolved(toy: Toy, patch: bytes) -> None:
    found = grade(toy.rig, toy.case, patch)
    assert (found.verdict, found.reason, found.runs) == (Verdict.NOT_RESOLVED, Reason.NO_PATCH, ())


def test_a_run_killed_from_outside_gives_no_verdict(toy: Toy) -> None:
    def killed(_number, result):
        return replace(result, exit_code=137, ended_by=EndedBy.SIGNALLED, report=b"")

    world = toy.folder / "world"
    backend = FakeBackend(
        worlds={WORLD.key: world}, tamper=killed, variables={**BARE, "PYTHONPYCACHEPREFIX": ""}
    )
    found = grade(replace(toy.rig, backend=backend), toy.case, b"")
    assert (found.verdict, found.reason) == (Verdict.INFRA_FAILED, Reason.MACHINERY)
    assert len(backend.runs) == 4  # two of the candidate's, two of the gold patch


def test_a_crash_is_a_failure_and_no_tampering(toy: Toy) -> None:
    text = contents(GOLD)[b"toy/money.py"].replace(
        b"    return a + b", b"    import os\n    os.kill(os.getpid(), 11)"
    )
    found = grade(toy.rig, toy.case, Target(toy.rig.bench, toy.case).patch({"toy/money.py": text}))
    assert (found.verdict, found.reason) == (Verdict.NOT_RESOLVED, Reason.TESTS)
    assert (TestId("tests/test_money.py::test_add"), TestOutcome.CRASHED) in found.failed


def test_stale_byte_code_of_the_world_is_not_run(toy: Toy, tmp_path: Path) -> None:
    world = write_tree(tmp_path / "world", contents(BASE))
    source = (world / "toy/money.py").read_bytes()
    code = compile("def add(a, b): return 'stale'\nlabel = parse = add\n", "toy/money.py", "exec")
    header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + importlib.util.source_hash(source)
    (world / "toy/__pycache__").mkdir()
    name = f"money.{sys.implementation.cache_tag}.pyc"
    (world / "toy/__pycache__" / name).write_bytes(header + marshal.dumps(code))
    backend = FakeBackend(worlds={WORLD.key: world}, variables={**BARE, "PYTHONPYCACHEPREFIX": ""})
    rig = replace(toy.rig, backend=backend)
    assert grade(rig, toy.case, Target(rig.bench, toy.case).gold()).verdict is Verdict.RESOLVED


def test_graded_run_and_verifying_run_say_the_same_of_gold(toy: Toy) -> None:
    gold = toy.rig.bench.delta(toy.case.base, toy.case.after)
    guarded = toy.rig.run(gold, toy.case.test_files, toy.case.recipe, 1)
    plain = replace(toy.rig, survey=None).run(gold, toy.case.test_files, toy.case.recipe, 1)
    assert guarded.report == plain.report
    assert guarded.report.complete
    assert guarded.addopts_kept == plain.addopts_kept == ()


def test_hidden_tests_are_placed_byte_for_byte(toy: Toy) -> None:
    changes = {
        ".gitattributes": b"*.py text eol=crlf ident\n",
        "tests/test_money.py": b"def test_parse(): pass\n",
        "toy/money.py": contents(GOLD)[b"toy/money.py"],
    }
    rig, world = toy.rig.surveyed(toy.case.recipe)
    tree = Target(rig.bench, toy.case).tree(toy.case.base, changes)
    delta = sift(rig.bench, toy.case, tree, world).delta
    assert delta.files[b"tests/test_money.py"].data == contents(HIDDEN)[b"tests/test_money.py"]
    assert delta.files[b"toy/money.py"].data == changes["toy/money.py"]
    assert set(delta.files) == {b"tests/test_money.py", b"toy/money.py"}
