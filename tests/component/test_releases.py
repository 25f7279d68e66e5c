"""A release divides without telling tests to training, says what it left out, and is the same whenever made."""

import json
import os
import shutil
import time
import tomllib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from finished_run import EARLY, LATE, FinishedRun
from hypothesis import given
from hypothesis import strategies as st
from task_factory import Blobs, make_task

from swequarry.cli.main import run as command
from swequarry.config import ReleaseSettings
from swequarry.errors import InputError, RepositoryError, UsageError
from swequarry.export.check import check_folder
from swequarry.export.formats import exporter_of
from swequarry.export.interface import ImageReference
from swequarry.export.push import plan_push
from swequarry.export.releases.budgets import MeasuredRuns, timed
from swequarry.export.releases.deprecated import (
    Deprecation,
    choose_deprecated,
    read_deprecated,
    write_deprecated,
)
from swequarry.export.releases.read import read_dataset
from swequarry.export.releases.splits import Split, split_of, spoilt
from swequarry.git.heldfixes import HeldFix
from swequarry.pipeline.release import ReleaseOrder, release_run
from swequarry.pipeline.release_evidence import visible_tests
from swequarry.records import AnswerKind, RepoRef, StatementKind, canonical_json

SINCE = ReleaseSettings(test_since=datetime(2024, 3, 1, tzinfo=UTC))
OLD = {b"a.py": b"def add(left, right):\n    return left - right\n", b"README.md": b"x\n"}
NEW = {
    **OLD,
    b"a.py": b"def add(left, right):\n    total = left + right\n    return rounded_to_cents(total)\n",
}
NEXT = {**NEW, b"b.py": b"def subtract(left, right):\n    return rounded_to_cents(left - right)\n"}


@pytest.fixture
def made(tmp_path):
    return FinishedRun.make(tmp_path)


def order(made, settings=SINCE, **more):
    chosen = made.settings.model_copy(update={"release": settings})
    given = {"name": "tasks", "version": "1.0", "exporter": exporter_of("swebench"), **more}
    return ReleaseOrder(settings=chosen, **given)


def write(made, tasks, folder="r", settings=SINCE, **more):
    run = made.finish(*tasks)
    return release_run(made.workspace, run, order(made, settings, **more), made.folder / folder).manifest


def two_in_a_row(made, first_at, second_at):
    """Return two tasks of which the second's base holds the fix of the first."""
    upstream = made.upstream()
    start = upstream.commit(OLD)
    merged = upstream.commit(NEW, parents=(start,))
    return (
        made.task(1, start, NEW, merge=merged, merged_at=first_at),
        made.task(2, merged, NEXT, merged_at=second_at),
    )


def sides(manifest):
    return {task["instance_id"]: task["split"] for task in manifest["tasks"]}


def files(folder):
    return {
        path.relative_to(folder).as_posix(): (
            path.stat().st_mode,
            path.stat().st_mtime_ns,
            path.is_file() and path.read_bytes(),
        )
        for path in [folder, *folder.rglob("*")]
    }


# --- splits


def test_training_task_whose_base_holds_the_fix_of_a_test_task_is_left_out_with_the_evidence(made):
    manifest = write(made, two_in_a_row(made, LATE, EARLY))
    assert sides(manifest) == {"acme__widgets-1": "test"}
    (out,) = manifest["left_out"]
    assert (out["instance_id"], out["reason"]) == ("acme__widgets-2", "holds_test_answer")
    assert "acme__widgets-1: commit" in out["detail"]


def test_test_task_may_hold_the_fix_of_a_training_task(made):
    manifest = write(made, two_in_a_row(made, EARLY, LATE))
    assert sides(manifest) == {"acme__widgets-1": "train", "acme__widgets-2": "test"}
    assert manifest["left_out"] == []


def test_answer_of_a_task_that_does_not_go_out_keeps_nobody_out(made):
    first, second = two_in_a_row(made, LATE, EARLY)
    manifest = write(
        made, [first, second], deprecated=[Deprecation(instance_id=first.instance_id, reason="flake")]
    )
    assert sides(manifest) == {"acme__widgets-2": "train"}
    assert [(out["instance_id"], out["reason"]) for out in manifest["left_out"]] == [
        ("acme__widgets-1", "deprecated")
    ]


def test_fork_on_the_training_side_is_seen_through_its_common_root(made):
    start = made.upstream().commit(OLD)
    fork = RepoRef(owner="other", name="gadgets")
    shutil.copytree(made.upstream().path, made.upstream(fork).path, dirs_exist_ok=True)
    picked = made.upstream(fork).commit(NEW, parents=(start,))
    tasks = [made.task(1, start, NEW), made.task(2, picked, NEXT, repo=fork)]
    manifest = write(made, tasks, settings=ReleaseSettings(test_repositories=("acme/*",)))
    assert sides(manifest) == {"acme__widgets-1": "test"}
    assert manifest["counts"]["left_out_by_reason"] == {"holds_test_answer": 1}


def test_line_that_the_fix_finds_elsewhere_in_its_own_base_accuses_nobody(made):
    upstream = made.upstream()
    idiom = {**OLD, b"c.py": NEW[b"a.py"]}
    start = upstream.commit(idiom)
    late = made.task(1, start, {**idiom, b"a.py": NEW[b"a.py"]}, merged_at=LATE)
    early = made.task(2, start, {**idiom, b"b.py": NEXT[b"b.py"]})
    assert sides(write(made, [late, early])) == {"acme__widgets-1": "test", "acme__widgets-2": "train"}


def test_single_line_that_is_left_of_a_fix_accuses_only_the_same_file(made):
    one = {**OLD, b"a.py": OLD[b"a.py"] + b"\n\ndef sign(amount):\n    return amount_with_its_sign(amount)\n"}
    start = made.upstream().commit({**OLD, b"d.py": b"def sign(amount):\n"})
    idiom = made.upstream().commit({**OLD, b"c.py": b"    return amount_with_its_sign(amount)\n"})
    late = made.task(1, start, {**one, b"d.py": b"def sign(amount):\n"}, merged_at=LATE)
    early = made.task(
        2, idiom, {**OLD, b"b.py": NEXT[b"b.py"], b"c.py": b"    return amount_with_its_sign(amount)\n"}
    )
    assert sides(write(made, [late, early])) == {"acme__widgets-1": "test", "acme__widgets-2": "train"}
    same = made.upstream().commit(one)
    held = made.task(3, same, {**one, b"b.py": NEXT[b"b.py"]})
    manifest = write(made, [late, held], folder="same")
    assert manifest["counts"]["left_out_by_reason"] == {"holds_test_answer": 1}


def test_changelog_lines_that_a_fix_repeats_or_moves_are_no_answer(made):
    entry = b"- Amounts are added and no longer subtracted.\n"
    tree = {**OLD, b"CHANGES.md": b"1.0\n" + entry, b"NEWS.md": b"1.0\n"}
    start = made.upstream().commit(tree)
    moved = {**tree, b"a.py": NEW[b"a.py"], b"CHANGES.md": b"1.1\n" + entry + b"1.0\n" + entry}
    elsewhere = {**tree, b"a.py": NEW[b"a.py"], b"NEWS.md": b"1.0\n" + entry}
    tasks = [made.task(1, start, moved), made.task(2, start, elsewhere)]
    manifest = write(made, tasks, settings=ReleaseSettings())
    assert [[place["path"] for place in task["answer_in_base"]] for task in manifest["tasks"]] == [
        [],
        ["CHANGES.md"],
    ]


def test_missing_mirror_stops_a_release_since_nothing_is_known_of_its_bases(made):
    tasks = two_in_a_row(made, LATE, EARLY)
    shutil.rmtree(made.upstream().path)
    with pytest.raises(RepositoryError):
        write(made, tasks)
    assert not (made.folder / "r").exists()


def test_run_that_is_not_finished_is_no_release(made):
    run = made.finish(*two_in_a_row(made, EARLY, LATE), open_=1)
    with pytest.raises(UsageError, match="1 candidates are on their way"):
        release_run(made.workspace, run, order(made), made.folder / "r")


repositories = st.sampled_from(["acme/widgets", "Acme/gadgets", "other/widgets"])


@given(name=repositories, share=st.floats(0, 1), others=st.floats(0, 1))
def test_no_repository_changes_sides_as_the_share_grows(name, share, others):
    owner, _, short = name.partition("/")
    task = make_task(Blobs(), repo=RepoRef(owner=owner, name=short))
    small, large = sorted((share, others))
    sides = [split_of(task.candidate, ReleaseSettings(test_share=one)) for one in (small, large)]
    assert sides != [Split.TEST, Split.TRAIN]


def test_each_rule_alone_puts_a_task_to_the_test_and_none_at_all_does_too():
    candidate = make_task(Blobs()).candidate
    merged = candidate.merged_at
    by_rule = {
        Split.TEST: (
            ReleaseSettings(),
            ReleaseSettings(test_repositories=("ACME/*",)),
            ReleaseSettings(test_since=merged),
            ReleaseSettings(test_share=1.0),
            ReleaseSettings(test_share=0.0, test_since=merged),
        ),
        Split.TRAIN: (
            ReleaseSettings(test_repositories=("acme/other",)),
            ReleaseSettings(test_since=merged + timedelta(seconds=1)),
            ReleaseSettings(test_share=0.0),
        ),
    }
    for split, cases in by_rule.items():
        assert [split_of(candidate, case) for case in cases] == [split] * len(cases)


holds = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=12)


@given(sides_=st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(Split)), pairs=holds)
def test_after_leaving_out_no_training_world_tells_a_test_and_no_test_was_lost(sides_, pairs):
    told = [HeldFix(holder=holder, fix=fix, rule="lines", evidence="") for holder, fix in pairs]
    out = spoilt(sides_, told)
    kept = {name: side for name, side in sides_.items() if name not in out}
    assert not any(kept.get(h) is Split.TRAIN and kept.get(f) is Split.TEST for h, f in pairs)
    assert all(sides_[name] is Split.TRAIN for name in out)


# --- what is written


def test_books_of_a_release_balance_whatever_keeps_a_task_out(made):
    upstream = made.upstream()
    start = upstream.commit(OLD)
    whole = made.task(1, start, NEW)
    from_commits = made.task(2, start, NEW, kind=StatementKind.COMMITS)
    latin = made.task(3, start, {**OLD, b"a.py": b"x = '\xe9'\n"})
    old = made.task(4, start, NEW)
    entry = Deprecation(instance_id=old.instance_id, reason="clock")
    manifest = write(made, [whole, from_commits, latin, old], settings=ReleaseSettings(), deprecated=[entry])
    counts = manifest["counts"]
    assert counts["given"] == 4 == counts["rows"] + counts["left_out"]
    assert counts["left_out_by_reason"] == {"deprecated": 1, "patch_not_utf8": 1, "statement_from_commits": 1}
    assert {task["instance_id"]: task["row"] for task in manifest["tasks"]} == {
        whole.instance_id: True, latin.instance_id: False,
    }  # fmt: skip


def test_release_made_again_on_another_day_is_the_same_to_the_byte_mode_and_time(made, monkeypatch):
    tasks = two_in_a_row(made, EARLY, LATE)
    write(made, tasks)
    before = files(made.folder / "r")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 400 * 86400)
    mask = os.umask(0o077)
    try:
        write(made, reversed(tasks), folder="again")
    finally:
        os.umask(mask)
    assert files(made.folder / "again") == before
    assert {stamp for _, stamp, _ in before.values()} == {315_532_800 * 10**9}
    assert {oct(mode & 0o777) for mode, _, _ in before.values()} == {"0o755", "0o644"}


def test_version_that_is_there_is_never_given_another_content(made):
    tasks = two_in_a_row(made, EARLY, LATE)
    write(made, tasks)
    write(made, tasks)
    before = files(made.folder / "r")
    with pytest.raises(UsageError, match="another --version"):
        write(made, tasks[:1])
    assert files(made.folder / "r") == before
    assert write(made, tasks[:1], version="1.1")["version"] == "1.1"


def test_folder_of_somebody_else_is_not_replaced(made):
    (made.folder / "r").mkdir()
    (made.folder / "r" / "thesis.txt").write_text("x")
    with pytest.raises(InputError):
        write(made, two_in_a_row(made, EARLY, LATE))
    assert (made.folder / "r" / "thesis.txt").exists()


def test_both_splits_are_read_from_the_folder_by_datasets(made):
    datasets = pytest.importorskip("datasets")
    write(made, two_in_a_row(made, EARLY, LATE))
    for config in ("lists", "strings"):
        loaded = datasets.load_dataset(str(made.folder / "r"), config, cache_dir=str(made.folder / "hf"))
        assert {split: rows["instance_id"] for split, rows in loaded.items()} == {
            "train": ["acme__widgets-1"], "test": ["acme__widgets-2"],
        }  # fmt: skip


@pytest.mark.parametrize("format_name", ["parquet", "rebench"])
def test_other_formats_are_released_and_checked_like_the_first(made, format_name):
    write(made, two_in_a_row(made, EARLY, LATE), exporter=exporter_of(format_name))
    found = check_folder(made.folder / "r")
    assert (found.format, found.tasks, found.problems) == (f"release of {format_name}", 2, ())


def test_released_harbor_tasks_have_their_limits_from_measured_runs_and_keep_their_programs(made):
    start = made.upstream().commit(OLD)
    task = made.measured(made.task(1, start, NEW, backend="docker"), 70.0)
    untimed = made.task(2, start, NEW, backend="docker")
    image = ImageReference(name=f"registry.example/w@sha256:{'a' * 64}", digest=f"sha256:{'a' * 64}")
    images = {one.instance_id: image for one in (task, untimed)}
    write(made, [task, untimed], settings=ReleaseSettings(), exporter=exporter_of("harbor"), images=images)
    assert check_folder(made.folder / "r").problems == ()
    timed_, policy = (
        tomllib.loads((made.folder / f"r/test/tasks/{one.instance_id}/task.toml").read_text())
        for one in (task, untimed)
    )
    assert (timed_["agent"]["timeout_sec"], timed_["verifier"]["timeout_sec"]) == (1440.0, 3 * 360 + 600)
    assert (policy["agent"]["timeout_sec"], policy["verifier"]["timeout_sec"]) == (600.0, 3 * 600 + 600)
    script = made.folder / f"r/test/tasks/{task.instance_id}/solution/solve.sh"
    assert script.stat().st_mode & 0o777 == 0o755


def test_check_of_a_release_names_what_changed_and_mends_what_can_be_proven(made):
    write(made, two_in_a_row(made, EARLY, LATE))
    folder = made.folder / "r"
    (folder / "train/data/lists.jsonl").write_bytes(b"")
    (folder / "README.md").write_bytes(b"other")
    said = {(item.path, item.problem) for item in check_folder(folder).problems}
    assert {("train/data/lists.jsonl", "changed"), ("README.md", "changed")} <= said
    with pytest.raises(UsageError, match="isn't pushed"):
        plan_push(folder, "acme/tasks", private=True)
    found = check_folder(folder, fix=True)
    assert found.mended == ("train/data/lists.jsonl",)
    assert [item.path for item in found.problems] == ["README.md"]


def test_task_that_was_moved_between_splits_by_hand_is_a_problem(made):
    write(made, two_in_a_row(made, EARLY, LATE))
    path = made.folder / "r/manifest.json"
    manifest = json.loads(path.read_bytes())
    manifest["tasks"][0]["split"] = "test"
    path.write_text(json.dumps(manifest))
    assert any("acme__widgets-1" in item.problem for item in check_folder(made.folder / "r").problems)


# --- answers in the base, budgets


def test_tasks_are_flagged_with_what_their_base_tells(made):
    tree = {**OLD, b"CHANGES.md": b"- Adding is right now (#5)\n", b"old/copy.py": NEW[b"a.py"]}
    start = made.upstream().commit(tree)
    manifest = write(made, [made.task(1, start, {**tree, b"a.py": NEW[b"a.py"]})], settings=ReleaseSettings())
    (task,) = manifest["tasks"]
    assert {(place["kind"], place["path"]) for place in task["answer_in_base"]} == {
        ("changelog", "CHANGES.md"), ("gold_lines", "old/copy.py"),
    }  # fmt: skip
    assert manifest["counts"]["answer_in_base_by_kind"] == {"changelog": 1, "gold_lines": 1}
    assert manifest["left_out"] == []


@pytest.mark.parametrize(("outcome", "found"), [("failed", 1), ("passed", 0), ("missing", 0)])
def test_hidden_test_that_failed_at_the_base_was_visible_there(outcome, found):
    blobs = Blobs()
    test = "tests/test_a.py::test_one"
    matrix = blobs.put(canonical_json({"version": 1, "tests": {test: {"base": [outcome]}}}))
    task = make_task(blobs)
    task = replace(task, verification=replace(task.verification, matrix=matrix))
    places = list(visible_tests(task, blobs.get_blob))
    assert [place.kind for place in places] == [AnswerKind.VISIBLE_TEST] * found
    assert all(test in place.evidence and place.path == "tests/test_a.py" for place in places)


def test_budget_is_the_stated_multiple_of_the_slowest_run_of_this_very_verification(made):
    start = made.upstream().commit(OLD)
    task = made.measured(made.task(1, start, NEW), 3.0, 70.5)
    never = made.task(2, start, NEW)
    other = made.task(3, start, NEW)
    made.measured(replace(other, verification=replace(other.verification, runs_after=9)), 500.0)
    manifest = write(made, [task, never, other], settings=ReleaseSettings())
    budgets = {entry["instance_id"]: entry["budget"] for entry in manifest["tasks"]}
    assert budgets[task.instance_id] == {
        "time_s": 1440, "test_time_s": 360, "slowest_run_s": 70.5, "measured_runs": 2,
    }  # fmt: skip
    for unmeasured in (never, other):
        assert budgets[unmeasured.instance_id] == {"time_s": 600, "slowest_run_s": None, "measured_runs": 0}
    assert manifest["counts"]["without_measured_budget"] == 2
    released = read_dataset(made.folder / "r").tasks[task.instance_id]
    assert (released.budget.time_s, released.budget.test_time_s) == (1440, 360)


@given(slowest=st.floats(0.001, 10_000), multiple=st.integers(1, 50), policy=st.integers(1, 100_000))
def test_no_budget_is_less_than_its_multiple_or_its_policy(slowest, multiple, policy):
    task = make_task(Blobs())
    task = replace(task, budget=replace(task.budget, time_s=policy))
    settings = ReleaseSettings(test_time_multiple=multiple, solver_time_multiple=multiple)
    budget = timed(task, MeasuredRuns(slowest_s=slowest, runs=1), settings).budget
    assert budget.test_time_s >= multiple * slowest
    assert budget.test_time_s % 60 == 0
    assert budget.time_s >= max(policy, multiple * slowest)


def test_task_keeps_the_hash_of_its_verification_beside_that_of_its_budget(made):
    task = made.measured(made.task(1, made.upstream().commit(OLD), NEW), 5.0)
    manifest = write(made, [task], settings=ReleaseSettings())
    (entry,) = manifest["tasks"]
    assert entry["verified_sha256"] == task.content_hash() != entry["content_sha256"]
    assert entry["content_sha256"] == read_dataset(made.folder / "r").tasks[task.instance_id].content_hash()


# --- deprecated tasks


def test_list_keeps_out_the_version_that_it_names_and_no_other(tmp_path):
    task = make_task(Blobs())
    entries = [
        Deprecation(
            instance_id=task.instance_id, reason="clock", detail="d", verified_sha256=task.content_hash()
        ),
        Deprecation(instance_id="gone", reason="flake"),
    ]
    path, text = write_deprecated(tmp_path, entries, {"name": "tasks"})
    assert read_deprecated(path) == tuple(entries)
    assert text.read_text().splitlines() == ["acme__widgets-7\tclock\td", "gone\tflake\t"]
    chosen = choose_deprecated([task], entries)
    assert chosen.deprecated == {task.instance_id: "clock: d"}
    assert [entry.instance_id for entry in chosen.unknown] == ["gone"]
    anew = replace(task, budget=replace(task.budget, time_s=601))
    assert choose_deprecated([anew], entries).deprecated == {}
    by_hand = Deprecation(instance_id=task.instance_id, reason="no")
    assert choose_deprecated([anew], [by_hand]).deprecated == {task.instance_id: "no"}


@pytest.mark.parametrize("text", ["", "[]", '{"kind": "x"}', '{"kind": "deprecated", "schema_version": 2, "tasks": []}',
                                  '{"kind": "deprecated", "schema_version": 1, "tasks": [{"id": 1}]}'])  # fmt: skip
def test_file_that_is_no_list_is_refused_and_not_taken_for_an_empty_one(tmp_path, text):
    (tmp_path / "d.json").write_text(text)
    with pytest.raises(InputError, match=r"d\.json isn't a deprecation list"):
        read_deprecated(tmp_path / "d.json")


# --- the commands


def test_commands_release_export_and_diff_agree(made, capsys):
    first, second = two_in_a_row(made, EARLY, LATE)
    made.finish(first, second)
    place = ["-w", str(made.settings.workspace), "--json"]
    old, new, plain = (str(made.folder / name) for name in ("old", "new", "plain"))
    assert command(["release", old, "--version", "1.0", "--test-since", "2024-03-01", *place]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema_version"], told["splits"]) == (1, {"train": 1, "test": 1})
    write_deprecated(made.folder, [Deprecation(instance_id=second.instance_id, reason="flake")], {})
    listed = ["--deprecated", str(made.folder / "deprecated.json")]
    assert (
        command(
            ["release", new, "--version", "1.1", "--set", "release.test_time_multiple=7", *listed, *place]
        )
        == 0
    )
    assert command(["export", plain, *listed, *place]) == 0
    capsys.readouterr()
    assert command(["diff", old, new, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["schema_version"], found["added"], found["unchanged"]) == (1, [], 0)
    assert found["removed"] == [{"instance_id": second.instance_id, "reason": "deprecated"}]
    assert found["changed"][0]["split"] == ["train", "test"]
    assert command(["diff", new, plain]) == 1
    assert "split: test -> none" in capsys.readouterr().out
    assert command(["diff", old, old]) == 0
    assert command(["check", old]) == 0


def test_settings_that_a_finished_run_cannot_take_any_more_are_refused(made, capsys):
    made.finish(*two_in_a_row(made, EARLY, LATE))
    argv = ["release", str(made.folder / "r"), "--version", "1", "-w", str(made.settings.workspace)]
    assert command([*argv, "--set", "verify.runs=9"]) == 2
    assert "only `release` and `export`" in capsys.readouterr().err
    assert command([*argv, "--test-share", "2"]) == 2
    assert command([*argv, "--dry-run"]) == 2
