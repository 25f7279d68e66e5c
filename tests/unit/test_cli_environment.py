"""`explain-env`, `shell` and `images prune` over a workspace made by hand: no sandbox is started."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from swequarry.cli.main import run as swequarry
from swequarry.config import Settings, parse_settings
from swequarry.ledger.attempts import AttemptEnd, AttemptStatus
from swequarry.ledger.keys import StoredOutcome
from swequarry.outcome import Accepted, Boundary, Failed, RejectCode, Rejected
from swequarry.pipeline.known_item import key_of
from swequarry.pipeline.line import joint_hash
from swequarry.pipeline.prune import named_worlds, prune_worlds
from swequarry.pipeline.stages.environment import EnvironmentStage, with_override
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.stages.mine import MineStage
from swequarry.pipeline.stages.search_story import OBSERVED, SearchStory, ToldTry
from swequarry.pipeline.stages.snapshot import SnapshotStage
from swequarry.pipeline.stages.worlds import base_key, environment_key
from swequarry.pipeline.workspace import Workspace
from swequarry.records import (
    ClosureAudit,
    ContentHash,
    EnvironmentTry,
    Evidence,
    Record,
    Snapshot,
    Task,
    canonical_json,
)
from tests.task_factory import LOCK, MERGED, Blobs, make_task

OVERRIDES = {"acme/*": {"python": "3.9"}}
REJECTED = Rejected(code=RejectCode.BUILD_FAILED, message="1 recipe was tried", evidence=("plan: x",))


class Books:
    """A workspace with one run, and what the stages of one item left in it."""

    def __init__(self, root: Path, overrides: dict | None = None) -> None:
        self.settings: Settings = parse_settings(
            {
                "workspace": str(root / "quarry"),
                "cache": str(root / "cache"),
                "environment": {"overrides": overrides or {}},
            }
        )
        self.workspace = Workspace.open(self.settings)
        self.house = House(self.settings, self.workspace)
        self.task: Task = make_task(Blobs())
        self.item = self.task.instance_id
        candidate = self.task.candidate
        self.snapshot = Snapshot(
            repo=candidate.repo,
            base_commit=candidate.base_commit,
            base_tree=candidate.base_tree,
            history="full",
            audit=ClosureAudit(objects=1, checks=()),
        )
        self.workspace.blobs.put(LOCK)
        self.run = self.workspace.ledger.save_run(self.settings.model_dump(mode="json"))
        self.workspace.ledger.save_selection(self.run, [self.item])
        self._end(MineStage(self.house), ContentHash("1" * 64), Accepted(value=candidate.to_json()))
        self._end(
            SnapshotStage(self.house), candidate.content_hash(), Accepted(value=self.snapshot.to_json())
        )

    def _end(self, stage, input_hash, outcome, **observed) -> StoredOutcome:
        key = key_of(stage, input_hash)
        number = self.workspace.ledger.begin_attempt(key, self.item)
        stored = StoredOutcome(item=self.item, outcome=outcome)
        end = AttemptEnd(status=AttemptStatus.DONE, observed=observed)
        self.workspace.ledger.record(key, [stored], attempt=number, end=end)
        return stored

    def environment(self, outcome, story: Record | None = None, **observed) -> None:
        """Let the environment stage end, and with it the item."""
        if story is not None:
            observed[OBSERVED] = self.workspace.blobs.put(canonical_json(story.to_json()))
        plain = joint_hash(self.task.candidate.content_hash(), self.snapshot.content_hash())
        wanted = with_override(plain, self.settings, self.task.candidate.repo)
        stored = self._end(EnvironmentStage(self.house), wanted, outcome, **observed)
        if isinstance(outcome, Accepted):
            stored = StoredOutcome(item=self.item, outcome=Accepted(value=self.task.to_json()))
        self.workspace.ledger.settle(self.run, "environment", stored)

    def story(self, *results: str) -> SearchStory:
        recipe = self.task.environment.recipe
        return SearchStory(
            candidate_cutoff=MERGED,
            base_committed_at=MERGED,
            interpreters=("3.12.1", "3.9.18"),
            evidence=(Evidence(key="extra:test", value="iniconfig", path="setup.cfg", line=12),),
            planned=(recipe,),
            tries=tuple(
                ToldTry(
                    recipe=recipe,
                    attempt=EnvironmentTry(
                        recipe=recipe.content_hash(), result=result, decisive_lines=(f"why {result}",)
                    ),
                )
                for result in results
            ),
        )

    def ask(self, capsys, *arguments: str) -> tuple[int, str, str]:
        end = arguments.index("--") if "--" in arguments else len(arguments)
        place = ("-w", str(self.workspace.root))
        code = swequarry([*arguments[:end], *place, *arguments[end:]])
        said = capsys.readouterr()
        return code, said.out, said.err


def test_tries_of_a_rejected_environment_are_shown_and_no_world_is_offered(tmp_path, capsys):
    books = Books(tmp_path)
    books.environment(REJECTED, books.story("build_failed: resolve", "trial_failed"))
    code, out, _ = books.ask(capsys, "explain-env", books.item)
    assert code == 0
    assert "rejected as build_failed: 1 recipe was tried" in out
    assert "1. plan, Python" in out
    assert "| why trial_failed" in out
    assert "extra:test = iniconfig  [setup.cfg:12]" in out
    assert "there is no world to enter" in out


def test_json_of_an_environment_has_lock_losses_and_the_command_to_enter(tmp_path, capsys):
    books = Books(tmp_path)
    books.environment(
        Accepted(value=books.task.environment.to_json()),
        books.story("works"),
        lost=[["numba", "no wheel"]],
        notes=["undated: foo"],
        build_s={"resolve": 1.5},
    )
    code, out, _ = books.ask(capsys, "explain-env", books.item, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["verdict"] == "found"
    assert told["packages"] == [["iniconfig", "2.0.0"]]
    assert told["lost"] == [["numba", "no wheel"]]
    assert told["durations_s"] == {"resolve": 1.5}
    assert told["plan"]["python"] == books.task.environment.recipe.python
    assert told["enter"] == f"swequarry shell {books.item} -w {books.workspace.root}"


def test_override_is_named_as_the_reason_for_the_interpreter(tmp_path, capsys):
    books = Books(tmp_path, OVERRIDES)
    books.environment(Accepted(value=books.task.environment.to_json()), books.story("works"))
    _, out, _ = books.ask(capsys, "explain-env", books.item)
    assert "setting environment.overrides.acme/* asks for it" in out


def test_what_an_override_says_is_told_to_hold(tmp_path, capsys):
    books = Books(tmp_path)
    said = Evidence(
        key="override", value="requirements: pytest<7", path="settings: environment.overrides.a/b"
    )
    story = replace(books.story("works"), evidence=(said,))
    books.environment(Accepted(value=books.task.environment.to_json()), story)
    _, out, _ = books.ask(capsys, "explain-env", books.item)
    assert "pytest<7  [settings: environment.overrides.a/b]; no rule loosens it" in out


def test_bound_of_a_lock_file_and_what_a_rule_added_are_told_apart_from_imports(tmp_path, capsys):
    books = Books(tmp_path)
    planned = replace(
        books.task.environment.recipe, requirements=("attrs",), optional=(), constraints=("six==1.15.0",)
    )
    mended = replace(planned, requirements=("attrs", "pyyaml"), constraints=("six==1.15.0", "numpy<2"))
    tries = (
        ToldTry(recipe=planned, attempt=EnvironmentTry(recipe=planned.content_hash(), result="trial_failed")),
        ToldTry(
            recipe=mended,
            attempt=EnvironmentTry(recipe=mended.content_hash(), rule="some-rule", result="works"),
        ),
    )
    locked = Evidence(key="locked_versions", value="1", path="poetry.lock")
    story = replace(books.story(), planned=(planned,), tries=tries, evidence=(locked,))
    found = replace(books.task.environment, recipe=mended)
    books.environment(Accepted(value=found.to_json()), story)
    plan = json.loads(books.ask(capsys, "explain-env", books.item, "--json")[1])["plan"]
    origins = {one["text"]: one["origins"] for one in plan["requirements"] + plan["constraints"]}
    assert origins == {
        "attrs": ["no line names it: files of the project import it"],
        "pyyaml": ["repair rule some-rule"],
        "six==1.15.0": ["poetry.lock (locked_versions)"],
        "numpy<2": ["repair rule some-rule"],
    }


def test_environment_of_an_older_version_is_shown_without_inventing_reasons(tmp_path, capsys):
    books = Books(tmp_path)
    books.environment(Accepted(value=books.task.environment.to_json()))
    code, out, _ = books.ask(capsys, "explain-env", books.item)
    assert code == 0
    assert "not kept: this environment was found by an older version" in out


@pytest.mark.parametrize("command", [["explain-env"], ["shell"]])
def test_unknown_item_is_refused_with_the_nearest(tmp_path, capsys, command):
    books = Books(tmp_path)
    code, out, err = books.ask(
        capsys, *command, "acme__wigdets-7", *(["--", "true"] if "shell" in command else [])
    )
    assert (code, out) == (2, "")
    assert f"did you mean {books.item}?" in err


def test_shell_without_an_environment_says_why_there_is_none(tmp_path, capsys):
    books = Books(tmp_path)
    books.environment(REJECTED, books.story("trial_failed"))
    code, _, err = books.ask(capsys, "shell", books.item, "--", "true")
    assert code == 2
    assert f"no environment is stored for {books.item}: rejected at environment as build_failed" in err
    assert f"swequarry explain-env {books.item}" in err


def test_shell_without_a_terminal_and_without_a_command_starts_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("swequarry.cli.shell_command.is_terminal", lambda: False)
    code, _, err = Books(tmp_path).ask(capsys, "shell", "acme__widgets-7")
    assert code == 2
    assert "a shell needs a terminal" in err


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Failed(boundary=Boundary.GIT, message="no pack"), "failed at mine, the git broke: no pack"),
        (REJECTED, "rejected at mine as build_failed"),
    ],
)
def test_item_that_ended_at_mining_isnt_said_to_be_untouched(tmp_path, capsys, outcome, said):
    books = Books(tmp_path)
    item = "acme__gadgets-8"
    books.workspace.ledger.save_selection(books.run, [item])
    books.workspace.ledger.settle(books.run, "mine", StoredOutcome(item=item, outcome=outcome))
    code, out, _ = books.ask(capsys, "why", item)
    assert code == 0
    assert said in out
    assert "no tries of its own: it ended at mine" in out
    assert "no stage has tried it yet" not in out
    assert "log:" not in out


# --- prune -------------------------------------------------------------------------------------------


class Store:
    """A backend that only remembers what was removed; its store has a file for each world."""

    name = "bubblewrap"

    def __init__(self, root: Path, *keys: str) -> None:
        self.root = root
        self.removed: list[str] = []
        self.sweeps = 0
        (root / "worlds").mkdir(parents=True)
        for number, key in enumerate(keys):
            (root / "worlds" / f"{number}.json").write_text(json.dumps({"key": key}))

    def remove_world(self, key: str) -> None:
        self.removed.append(key)

    def sweep(self) -> int:
        self.sweeps += 1
        return len(self.removed)


def test_world_that_a_result_names_and_young_ones_stay(tmp_path):
    books = Books(tmp_path)
    books.environment(Accepted(value=books.task.environment.to_json()))
    base = base_key(books.snapshot)
    kept = {base, environment_key(base, books.task.environment)}
    named = named_worlds([books.workspace])
    assert named == kept
    store = Store(tmp_path / "store", *sorted(kept), "environment-old", "environment-older", "young")
    for number in (2, 3):
        os.utime(store.root / "worlds" / f"{number}.json", (1, 1))
    done = prune_worlds(store, store.root, named)
    assert store.removed == ["environment-old", "environment-older"]
    assert (done.removed, done.named, done.young) == (2, 2, 1)
    assert (store.sweeps, done.swept) == (1, 2), "swept once, after the last"


def test_dry_run_counts_and_removes_nothing(tmp_path):
    store = Store(tmp_path / "store", "environment-old")
    done = prune_worlds(store, store.root, frozenset(), now=time.time() + 10, grace_s=0, dry_run=True)
    assert (store.removed, store.sweeps, done.removed) == ([], 0, 1)


def test_prune_refuses_workspaces_of_different_caches(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Workspace, "worlds", property(lambda self: self.root / "worlds"))
    first, second = Books(tmp_path / "a"), Books(tmp_path / "b")
    code = swequarry(["images", "prune", "-w", str(first.workspace.root), "-w", str(second.workspace.root)])
    assert code == 2
    assert "different caches" in capsys.readouterr().err


def test_prune_tells_of_indexes_that_nobody_uses(tmp_path, capsys):
    books = Books(tmp_path)
    books.workspace.leaks.mkdir(parents=True)
    for name, used_at in (("old", 1), ("new", time.time())):
        (books.workspace.leaks / name).touch()
        os.utime(books.workspace.leaks / name, (used_at, used_at))
    _, out, _ = books.ask(capsys, "images", "prune", "--dry-run")
    assert out == "leaks: would remove 1 indexes; kept 1 used of late\n"
    told = json.loads(books.ask(capsys, "images", "prune", "--json")[1])
    assert [(one["backend"], one["removed"], one["young"]) for one in told] == [("leaks", 1, 1)]
    assert [place.name for place in books.workspace.leaks.iterdir()] == ["new"]


def test_images_arent_built_from_tasks_that_no_image_was_verified_for(tmp_path, capsys):
    books = Books(tmp_path)
    books.environment(Accepted(value=books.task.environment.to_json()))
    code, _, err = books.ask(capsys, "images", "build", books.item)
    assert code == 2
    assert "sandbox.backend=docker" in err
