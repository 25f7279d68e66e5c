"""Every dataset format: read back as it was written, the same bytes again, nothing silently left out."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from task_factory import Blobs, make_task

from swequarry.config import ExportSettings
from swequarry.errors import InputError, UsageError
from swequarry.export.adapters.harbor import HarborExporter
from swequarry.export.formats import exporter_of, format_names
from swequarry.export.interface import ImageReference, PublicTask, Surroundings
from swequarry.export.public import public_of_row
from swequarry.export.rows import make_row
from swequarry.records import Canaries, CheckFile

SEALED = ("harbor", "swebench-repo")
"""Formats that need an image."""
FORMATS = ("harbor", "parquet", "rebench", "swebench", "swebench-repo")
DASHED = "tests/test_a.py::test_dash[a - b]"


def image(n=7):
    return ImageReference(name=f"registry.example/tasks/w{n}@sha256:{'a' * 64}", digest=f"sha256:{'a' * 64}")


def around(*tasks):
    return Surroundings(images={task.instance_id: image() for task in tasks})


def write(name, blobs, tasks, folder, **more):
    exporter = exporter_of(name)
    exporter.write(tasks, blobs.get_blob, folder, ExportSettings(**more), around(*tasks))
    return exporter


def told(task, blobs):
    """Return the public fields of a task with every test id, whatever a log parser would make of it."""
    return PublicTask(
        instance_id=task.instance_id,
        repo=task.candidate.repo.full_name,
        base_commit=task.initial_state.base_commit,
        problem_statement=task.instruction.text,
        patch=blobs.get_blob(task.candidate.gold_patch),
        test_patch=blobs.get_blob(task.verifier.test_patch),
        fail_to_pass=task.verifier.fail_to_pass,
        pass_to_pass=task.verifier.pass_to_pass,
        image=image().name,
    )


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_formats_are_found_by_their_modules_alone():
    assert format_names() == FORMATS
    assert [exporter_of(name).name for name in FORMATS] == list(FORMATS)


def test_unknown_format_names_those_there_are():
    with pytest.raises(UsageError, match="harbor, parquet, rebench, swebench, swebench-repo"):
        exporter_of("swebench5")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
plain_ids = st.builds(
    "tests/test_a.py::test_x[{}]".format, st.text(st.sampled_from("ab1.é☕'\"\\,"), max_size=8)
)
patches = st.builds(
    lambda lines: (
        b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1,%d @@\n" % len(lines)
        + b"".join(b"+" + line.replace("\n", " ").encode() + b"\n" for line in lines)
    ),
    st.lists(texts, min_size=1, max_size=3),
)


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=25, deadline=None)
@given(
    statement=texts,
    patch=patches,
    fail=st.lists(plain_ids, min_size=1, max_size=4, unique=True),
    passing=st.lists(plain_ids, max_size=3, unique=True),
)
def test_task_comes_back_from_every_format_as_it_was(name, statement, patch, fail, passing):
    blobs = Blobs()
    task = make_task(
        blobs,
        statement=statement,
        gold=patch,
        test=patch,
        fail_to_pass=(*fail, DASHED),
        pass_to_pass=tuple(passing),
        backend="docker",
    )
    with tempfile.TemporaryDirectory() as folder:
        exporter = write(name, blobs, [task], Path(folder) / "d")
        (read,) = exporter.read_back(Path(folder) / "d")
    whole = told(task, blobs)
    if name == "harbor":
        assert read == whole
        assert DASHED in read.fail_to_pass
    else:
        assert read == replace(whole, fail_to_pass=tuple(fail))
        assert read == public_of_row(make_row(task, blobs.get_blob, image()))


@pytest.mark.parametrize("name", FORMATS)
def test_same_tasks_in_any_order_give_same_bytes_in_every_format(tmp_path, name):
    blobs = Blobs()
    tasks = [make_task(blobs, number=n, backend="docker", statement=f"crash {n}") for n in range(3)]
    write(name, blobs, tasks, tmp_path / "a")
    write(name, blobs, tasks[::-1], tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.parametrize("name", SEALED)
def test_task_without_an_image_is_left_out_and_not_exported_with_a_guess(tmp_path, name):
    blobs = Blobs()
    tasks = [make_task(blobs, number=1, backend="docker"), make_task(blobs, number=2)]
    exporter = exporter_of(name)
    exporter.write(tasks, blobs.get_blob, tmp_path / "d", ExportSettings(), around(tasks[0]))
    manifest = json.loads((tmp_path / "d/manifest.json").read_text())
    assert [(item["instance_id"], item["reason"]) for item in manifest["left_out"]] == [
        ("acme__widgets-2", "no_image")
    ]
    assert manifest["counts"]["given"] == 2
    assert [task.instance_id for task in exporter.read_back(tmp_path / "d")] == ["acme__widgets-1"]


@pytest.mark.parametrize("name", FORMATS)
def test_image_in_which_a_task_was_not_verified_is_refused(tmp_path, name):
    blobs = Blobs()
    task = make_task(blobs, backend="bubblewrap")
    with pytest.raises(InputError, match="verified in bubblewrap"):
        write(name, blobs, [task], tmp_path / "d")
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize("name", SEALED)
def test_id_that_leaves_its_folder_is_never_a_path(tmp_path, name):
    blobs = Blobs()
    task = replace(make_task(blobs, backend="docker"), instance_id="../../escape")
    write(name, blobs, [task], tmp_path / "in" / "d")
    assert not (tmp_path / "escape").exists()
    manifest = json.loads((tmp_path / "in/d/manifest.json").read_text())
    assert manifest["left_out"][0]["reason"] == "id_is_no_name"


@pytest.mark.parametrize("shared", [False, True])
def test_nothing_that_a_solver_sees_of_a_harbor_task_holds_tests_or_the_fix(tmp_path, shared):
    blobs = Blobs()
    task = make_task(
        blobs,
        gold=b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+THEFIX\n",
        test=b"diff --git a/t b/t\n--- a/t\n+++ b/t\n@@ -1 +1 @@\n-x\n+THETEST\n",
        backend="docker",
    )
    HarborExporter(shared=shared).write(
        [task], blobs.get_blob, tmp_path / "d", ExportSettings(), around(task)
    )
    folder = tmp_path / "d/tasks" / task.instance_id
    seen = b"".join(p.read_bytes() for p in [*(folder / "environment").rglob("*"), folder / "instruction.md"])
    assert b"THEFIX" not in seen
    assert b"THETEST" not in seen
    assert b"test_one" not in seen
    assert sorted(p.name for p in folder.iterdir()) == [
        "environment",
        "instruction.md",
        "solution",
        "task.toml",
        "tests",
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_canaries_leave_the_workspace_in_no_format(tmp_path, name):
    blobs = Blobs()
    task = make_task(blobs, backend="docker")
    file = CheckFile(path="tests/test_a.py", content=blobs.put(b"assert 0 == THECANARY"))
    canaries = Canaries(files=(file,), must_fail=("tests/test_a.py::test_one",), covered=1, fail_to_pass=1)
    guarded = replace(task, verifier=replace(task.verifier, canaries=canaries))
    write(name, blobs, [guarded], tmp_path / "d")
    written = b"".join(contents(tmp_path / "d").values())
    assert task.instance_id.encode() in written
    assert file.content.encode() not in written
    assert b"THECANARY" not in written


def test_settings_of_pytest_in_the_gold_patch_are_grading_s_and_not_the_solver_s(tmp_path):
    blobs = Blobs()
    section = b"diff --git a/%(n)s b/%(n)s\n--- a/%(n)s\n+++ b/%(n)s\n@@ -1 +1 @@\n-x\n+y\n"
    gold = b"".join(section % {b"n": name} for name in (b"src/a.py", b"pkg/conftest.py", b"setup.cfg"))
    task = make_task(blobs, gold=gold, backend="docker")
    write("harbor", blobs, [task], tmp_path / "d")
    trusted = (tmp_path / "d/tasks" / task.instance_id / "tests/trusted.patch").read_bytes()
    assert trusted == b"".join(section % {b"n": name} for name in (b"pkg/conftest.py", b"setup.cfg"))


@pytest.mark.parametrize("name", FORMATS)
def test_b045_b047_b049_b050_unstable_tests_are_in_no_list_of_any_format(tmp_path, name):
    blobs = Blobs()
    reasons = ("unstable_id", "time", "mixed outcomes", "network")
    flaky = tuple((f"tests/test_a.py::test_{n}", reason) for n, reason in enumerate(reasons))
    task = make_task(blobs, quarantined=flaky, backend="docker")
    (read,) = write(name, blobs, [task], tmp_path / "d").read_back(tmp_path / "d")
    assert not {test for test, _ in flaky} & {*read.fail_to_pass, *read.pass_to_pass}


def test_b049_unstable_tests_are_left_out_of_the_graded_run_of_a_harbor_task(tmp_path):
    blobs = Blobs()
    task = make_task(blobs, quarantined=(("tests/test_a.py::test_hangs", "timing"),), backend="docker")
    write("harbor", blobs, [task], tmp_path / "d")
    orders = json.loads((tmp_path / "d/tasks" / task.instance_id / "tests/task.json").read_text())
    assert orders["leave_out"] == ["tests/test_a.py::test_hangs"]


def test_b067_row_says_which_tests_were_looked_at():
    blobs = Blobs()
    task = make_task(blobs)
    row = make_row(replace(task, verification=replace(task.verification, scope="full")), blobs.get_blob)
    assert row.verification.scope == "full"
