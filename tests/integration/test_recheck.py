"""A check of a release goes on where it stopped, says nothing of what it couldn't run, and lists what changed."""

import json
import platform
from collections import defaultdict
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import pytest
from fake_backend import BARE, FakeBackend
from finished_run import FinishedRun
from git_building import REPO

from swequarry.cli import recheck_command
from swequarry.cli.main import run as command
from swequarry.errors import SandboxError, UsageError, WorldChangedError
from swequarry.export.formats import exporter_of
from swequarry.export.releases.read import read_dataset
from swequarry.ledger.keys import StageKey, StoredOutcome
from swequarry.outcome import Accepted
from swequarry.pipeline import released_task
from swequarry.pipeline.recheck import RecheckOptions, Status, recheck
from swequarry.pipeline.release import ReleaseOrder, release_run
from swequarry.pipeline.released_task import ReleasedTasks, supply_blobs
from swequarry.pipeline.stages.house import House
from swequarry.records import ClosureAudit, ContentHash, Snapshot
from swequarry.verify.drift import DriftReason

BASE = {b"toy.py": b"def add(a, b):\n    return a - b\n", b"tests/test_toy.py": b"def test_old(): pass\n"}
GOLD = {**BASE, b"toy.py": b"def add(a, b):\n    return a + b\n"}
TEST = b"import datetime\nfrom toy import add\n\ndef test_old(): pass\n\ndef test_add():\n    assert add(1, 2) == 3\n"
BOMB = TEST + b"    assert datetime.date.today() < datetime.date(2024, 3, 1)\n"
FLIP = TEST + b"    import os; assert int(os.environ['PYTHONHASHSEED']) % 2 == 0\n"


class StoredWorlds(FakeBackend):
    """Has every world: that of the one base."""

    broken = frozenset()

    def has_world(self, _key):
        return True

    def sweep(self):
        return 0

    def run_once(self, world, delta, command, limits):
        if any(text in content.data for content in delta.files.values() for text in self.broken):
            raise SandboxError("no namespace")
        return super().run_once(world, delta, command, limits)


@pytest.fixture
def made(tmp_path):
    return FinishedRun.make(tmp_path)


@pytest.fixture
def house(made):
    folder = made.folder / "world"
    for name, data in BASE.items():
        path = folder / name.decode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    house = House(made.settings, made.workspace)
    worlds = defaultdict(lambda: folder)
    house.__dict__["backend"] = StoredWorlds(worlds=worlds, variables={**BARE, "PYTHONPYCACHEPREFIX": ""})
    return house


LOCK = f"pytest=={version('pytest')}\n".encode()


def released(made, *hidden, lock=LOCK, **more):
    """Release a task for each content of the hidden test file, and return the release."""
    start = made.upstream().commit(BASE)
    tasks = []
    for number, content in enumerate(hidden, start=1):
        task = made.task(
            number, start, GOLD, tests={**BASE, b"tests/test_toy.py": content}, backend="fake",
            fail_to_pass=("tests/test_toy.py::test_add",), pass_to_pass=("tests/test_toy.py::test_old",),
            test_files=("tests/test_toy.py",),
        )  # fmt: skip
        snapshot = Snapshot(
            repo=REPO, base_commit=task.candidate.base_commit, base_tree=task.candidate.base_tree,
            history="full", audit=ClosureAudit(objects=1, checks=()),
        )  # fmt: skip
        key = StageKey(
            stage="snapshot",
            version=1,
            input_hash=ContentHash(f"{number:064x}"),
            settings_hash=ContentHash("0" * 64),
        )
        outcome = StoredOutcome(item=task.instance_id, outcome=Accepted(value=snapshot.to_json()))
        made.workspace.ledger.record(key, [outcome])
        environment = replace(
            task.environment,
            python_version=platform.python_version(),
            lock=made.workspace.blobs.put(lock),
            **more,
        )
        state = replace(task.initial_state, snapshot=snapshot.content_hash())
        tasks.append(replace(task, environment=environment, initial_state=state))
    run = made.finish(*tasks)
    order = ReleaseOrder(
        name="tasks", version="1.0", settings=made.settings, exporter=exporter_of("swebench")
    )
    release_run(made.workspace, run, order, made.folder / "r")
    return read_dataset(made.folder / "r")


def check(house, dataset, output="out", **options):
    told = []
    found = recheck(
        house, dataset, house.workspace.root.parent / output, RecheckOptions(**options), told.append
    )
    assert sorted(one.instance_id for one in told) == [one.instance_id for one in found]
    return {one.instance_id: one for one in found}


def test_each_task_is_told_by_what_became_of_it_and_only_changed_ones_are_listed(made, house):
    dataset = released(made, TEST, BOMB, FLIP)
    found = check(house, dataset)
    assert [(one.status, one.reason) for one in found.values()] == [
        (Status.UNCHANGED, None),
        (Status.CHANGED, DriftReason.CLOCK),
        (Status.CHANGED, DriftReason.FLAKE),
    ]
    summary = json.loads((made.folder / "out/recheck.json").read_bytes())
    assert summary["counts"] == {"tasks": 3, "unchanged": 1, "changed": 2, "infra_failed": 0}
    assert summary["changed_by_reason"] == {"clock": 1, "flake": 1}
    listed = json.loads((made.folder / "out/deprecated.json").read_bytes())
    assert [(one["instance_id"], one["reason"]) for one in listed["tasks"]] == [
        ("acme__widgets-2", "clock"), ("acme__widgets-3", "flake"),
    ]  # fmt: skip
    assert listed["of"]["manifest_sha256"] == dataset.manifest_sha256


def test_next_call_does_only_what_has_no_answer_and_never_lists_what_broke(made, house):
    dataset = released(made, TEST, BOMB)
    house.backend.broken = {BOMB}
    found = check(house, dataset)
    assert [one.status for one in found.values()] == [Status.UNCHANGED, Status.INFRA_FAILED]
    assert json.loads((made.folder / "out/deprecated.json").read_bytes())["tasks"] == []
    house.backend.broken = frozenset()
    house.backend.runs.clear()
    found = check(house, dataset)
    assert [one.status for one in found.values()] == [Status.UNCHANGED, Status.CHANGED]
    house.backend.runs.clear()
    assert check(house, dataset) == found
    assert house.backend.runs == []
    check(house, dataset, rounds=3)
    assert house.backend.runs != []


def test_output_of_another_release_or_of_somebody_else_is_not_continued(made, house):
    dataset = released(made, TEST)
    check(house, dataset)
    with pytest.raises(UsageError, match="name another folder"):
        check(house, replace(dataset, manifest_sha256="1" * 64))
    (made.folder / "mine").mkdir()
    (made.folder / "mine/thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="something else"):
        check(house, dataset, output="mine")


def test_world_that_the_index_no_longer_gives_is_the_environment_after_a_second_try(made, house, monkeypatch):
    dataset, tries = released(made, TEST), []

    def gone(self, task):
        tries.append(task.instance_id)
        raise WorldChangedError("the index now gives lock 1")

    monkeypatch.setattr(ReleasedTasks, "world", gone)
    (one,) = check(house, dataset).values()
    assert (one.status, one.reason, one.state) == (Status.CHANGED, DriftReason.ENVIRONMENT, None)
    assert len(tries) == 2


def test_packages_that_are_not_those_of_the_lock_are_the_environment(made, house):
    broken = TEST + b"    assert False\n"
    (one,) = check(house, released(made, broken, lock=b"pytest==1.0\nnever-heard-of==2.0\n")).values()
    assert one.reason is DriftReason.ENVIRONMENT
    assert "never-heard-of 2.0 is gone" in one.detail
    assert f"pytest is {version('pytest')} instead of 1.0" in one.detail


def test_another_python_than_the_tasks_is_this_machines_fault_and_no_verdict(made, house):
    broken = TEST + b"    assert False\n"
    dataset = released(made, broken)
    (task,) = dataset.tasks.values()
    other = replace(task, environment=replace(task.environment, python_version="3.4.1"))
    (one,) = check(house, replace(dataset, tasks={task.instance_id: other})).values()
    assert one.status is Status.INFRA_FAILED
    assert "verified with Python 3.4.1" in one.detail


def test_task_is_asked_at_the_times_of_its_merge_and_of_its_verification_here(made, house):
    dataset = released(made, TEST)
    (task,) = dataset.tasks.values()
    assert ReleasedTasks(house).moments(task) == (task.candidate.cutoff,)
    made.measured(task, 1.0)
    verified, merged = ReleasedTasks(house).moments(task)
    assert merged == task.candidate.cutoff
    assert abs((datetime.now(verified.tzinfo) - verified).total_seconds()) < 600


def test_patches_and_locks_that_a_workspace_lacks_come_from_the_release(made, house, tmp_path_factory):
    dataset = released(made, TEST)
    other = FinishedRun.make(tmp_path_factory.mktemp("other"))
    (task,) = dataset.tasks.values()
    supply_blobs(dataset, other.workspace.blobs)
    for blob in (task.candidate.gold_patch, task.candidate.test_patch, task.environment.lock):
        assert other.workspace.blobs.get(blob) == made.workspace.blobs.get(blob)


def test_command_says_what_changed_and_its_list_keeps_the_task_out_of_the_next_release(
    made, house, monkeypatch, capsys
):
    released(made, TEST, BOMB)
    monkeypatch.setattr(recheck_command, "house_of_last_run", lambda _workspace: house)
    place, out = ["-w", str(made.settings.workspace)], str(made.folder / "out")
    assert command(["recheck", str(made.folder / "r"), "-o", out, "-q", *place]) == 1
    printed = capsys.readouterr().out
    assert "1 unchanged, 1 changed, 0 infra_failed" in printed
    assert "acme__widgets-2: changed (clock)" in printed
    assert command(["recheck", str(made.folder / "r"), "-o", out, "-q", "--json", *place]) == 1
    assert json.loads(capsys.readouterr().out)["schema_version"] == 1
    again = [str(made.folder / "r2"), "--version", "1.1", "--deprecated", f"{out}/deprecated.json"]
    assert command(["release", *again, *place, "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert counts["left_out_by_reason"] == {"deprecated": 1}
    assert counts["rows"] == 1
    house.backend.broken = {TEST}
    assert command(["recheck", str(made.folder / "r2"), "-o", out + "2", "-q", *place]) == 6
    assert Path(out + "2", "deprecated.txt").read_text() == ""


def test_mirror_that_gives_another_snapshot_here_says_nothing_of_the_task(made, house, monkeypatch):
    dataset = released(made, TEST)
    (task,) = dataset.tasks.values()
    other = replace(task, initial_state=replace(task.initial_state, snapshot=ContentHash("9" * 64)))
    asked = []

    def take(house, candidate):
        asked.append(house.settings.history)
        return Snapshot(
            repo=REPO, base_commit=candidate.base_commit, base_tree=candidate.base_tree,
            history="full", audit=ClosureAudit(objects=2, checks=()),
        )  # fmt: skip

    monkeypatch.setattr(released_task, "take", take)
    (one,) = check(house, replace(dataset, tasks={task.instance_id: other})).values()
    assert one.status is Status.INFRA_FAILED
    assert "gives another snapshot" in one.detail
    assert asked == ["full", "full"]
