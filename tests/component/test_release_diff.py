"""What two datasets differ in: no change of a task is called none, and tests are told from other fields."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from task_factory import Blobs, make_task

from swequarry.config import ExportSettings
from swequarry.errors import InputError
from swequarry.export.releases.diff import compare
from swequarry.export.releases.read import Dataset, read_dataset
from swequarry.export.swebench import SwebenchExporter
from swequarry.records import BlobHash, CommitSha, ContentHash, TestId

BLOBS = Blobs()
TASK = make_task(BLOBS)


def dataset(*tasks, splits=None, told=None, left_out=None, name="tasks"):
    return Dataset(
        name=name,
        version="1.0",
        format="swebench",
        manifest_sha256="0" * 64,
        folders={"": Path()},
        tasks={task.instance_id: task for task in tasks},
        split_of=splits or {task.instance_id: "" for task in tasks},
        told=told or {},
        left_out=left_out or {},
    )


def changed(old, new):
    found = compare(dataset(old), dataset(new))
    return found.changed[0] if found.changed else None


def environment(task, **changes):
    return replace(task, environment=replace(task.environment, **changes))


def verifier(task, **changes):
    made = {name: tuple(TestId(test) for test in tests) for name, tests in changes.items()}
    task = replace(task, verifier=replace(task.verifier, **made))
    return replace(task, verification=replace(task.verification, **made))


CHANGES = {
    "text": lambda t: replace(t, instruction=replace(t.instruction, text="other")),
    "lock": lambda t: environment(t, lock=BlobHash("9" * 64)),
    "python": lambda t: environment(t, python_version="3.11.8"),
    "budget": lambda t: replace(t, budget=replace(t.budget, test_time_s=60)),
    "gold": lambda t: replace(t, candidate=replace(t.candidate, gold_patch=BlobHash("8" * 64))),
    "base": lambda t: replace(t, initial_state=replace(t.initial_state, base_commit=CommitSha("a" * 40))),
    "matrix": lambda t: replace(t, verification=replace(t.verification, matrix=BlobHash("7" * 64))),
    "parent": lambda t: replace(t, provenance=replace(t.provenance, snapshot=ContentHash("6" * 64))),
    "tests": lambda t: verifier(t, fail_to_pass=["tests/test_a.py::test_one", "tests/test_a.py::test_three"]),
}


@given(before=st.sets(st.sampled_from(sorted(CHANGES))), after=st.sets(st.sampled_from(sorted(CHANGES))))
def test_tasks_with_different_hashes_are_never_called_unchanged_and_equal_ones_never_changed(before, after):
    old = new = TASK
    for name in sorted(before):
        old = CHANGES[name](old)
    for name in sorted(after):
        new = CHANGES[name](new)
    found = compare(dataset(old), dataset(new))
    assert bool(found) is (old.content_hash() != new.content_hash())
    assert found.unchanged + len(found.changed) == 1
    if found:
        assert found.changed[0].fields or found.changed[0].tests


def test_field_is_named_by_its_place_with_both_values():
    (field,) = changed(TASK, CHANGES["python"](TASK)).fields
    assert (field.field, field.old, field.new) == ("environment.python_version", "3.11.7", "3.11.8")
    (field,) = changed(TASK, CHANGES["budget"](TASK)).fields
    assert (field.field, field.old, field.new) == ("budget.test_time_s", "nothing", "60")


def test_of_a_long_list_only_what_the_other_side_lacks_is_told():
    recipe = TASK.environment.recipe
    old, new = (
        environment(TASK, recipe=replace(recipe, requirements=(*(f"p{n}" for n in range(99)), last)))
        for last in ("attrs==1", "attrs==2")
    )
    (field,) = changed(old, new).fields
    assert (field.field, field.old, field.new) == (
        "environment.recipe.requirements",
        '["attrs==1"]',
        '["attrs==2"]',
    )


def test_tests_that_came_and_went_are_told_by_list_and_not_as_fields():
    new = verifier(
        TASK,
        fail_to_pass=["tests/test_a.py::test_three"],
        pass_to_pass=["tests/test_a.py::test_two", "tests/test_a.py::test_one"],
    )
    found = changed(TASK, new)
    assert found.fields == ()
    assert {(t.list_name, t.added, t.removed) for t in found.tests} == {
        ("FAIL_TO_PASS", ("tests/test_a.py::test_three",), ("tests/test_a.py::test_one",)),
        ("PASS_TO_PASS", ("tests/test_a.py::test_one",), ()),
    }


def test_what_only_follows_from_other_fields_is_named_where_it_is_all_there_is():
    assert [one.field for one in changed(TASK, CHANGES["matrix"](TASK)).fields] == ["verification.matrix"]


def test_added_removed_and_moved_tasks_are_told_with_the_reason():
    one, two, three = (make_task(BLOBS, number=n) for n in (1, 2, 3))
    old = dataset(one, two, splits={one.instance_id: "train", two.instance_id: "test"})
    new = dataset(
        one,
        three,
        splits={one.instance_id: "test", three.instance_id: "test"},
        left_out={two.instance_id: "deprecated"},
    )
    found = compare(old, new)
    assert found.added == (three.instance_id,)
    assert [(gone.instance_id, gone.reason) for gone in found.removed] == [(two.instance_id, "deprecated")]
    assert [(task.instance_id, task.split) for task in found.changed] == [
        (one.instance_id, ("train", "test"))
    ]


def test_flag_that_came_is_a_change():
    flagged = {TASK.instance_id: {"answer_in_base": [{"kind": "changelog"}]}}
    (task,) = compare(dataset(TASK), dataset(TASK, told=flagged)).changed
    assert task.answer_in_base


def test_exported_set_is_read_as_it_is_and_another_folder_is_refused(tmp_path):
    SwebenchExporter().write([TASK], BLOBS.get_blob, tmp_path / "d", ExportSettings())
    read = read_dataset(tmp_path / "d")
    assert (read.version, dict(read.tasks)) == (None, {TASK.instance_id: TASK})
    assert not compare(read, read)
    assert read.verified_sha256(TASK.instance_id) == TASK.content_hash()
    for text in (None, "[]", "{}", "x"):
        if text is None:
            (tmp_path / "d/manifest.json").unlink()
        else:
            (tmp_path / "d/manifest.json").write_text(text)
        with pytest.raises(InputError, match="neither a release nor an exported set"):
            read_dataset(tmp_path / "d")
