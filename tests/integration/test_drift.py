"""What a released task does otherwise than it did is found, and its cause is measured; broken machinery is no drift."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fake_backend import BARE, FakeBackend
from toy_task import toy_task
from verify_worlds import WORLD

from swequarry.errors import SandboxError
from swequarry.records import State
from swequarry.sandbox.contract import EndedBy
from swequarry.verify.attacks import Target
from swequarry.verify.drift import Drift, DriftReason, Known, find_drift

BASE = {"toy.py": "def add(a, b):\n    return a - b\n", "tests/test_toy.py": "def test_old(): pass\n"}
GOLD = {"toy.py": "def add(a, b):\n    return a + b\n"}
THEN = datetime(2020, 6, 1, tzinfo=UTC)


def drift(
    folder: Path,
    body: str,
    *,
    moments: Sequence[datetime] = (THEN,),
    differences: Sequence[str] = (),
    rounds: int = 2,
    tamper=None,
    old: str = "pass",
) -> Drift | None:
    """Look at a task whose fixed test also holds some lines, and whose other test is `old`."""
    hidden = {
        "tests/test_toy.py": "import datetime, os\nfrom toy import add\n\n"
        f"def test_old():\n    {old}\n\ndef test_add():\n    assert add(1, 2) == 3\n    {body}\n"
    }
    with toy_task(
        folder,
        base=BASE,
        gold=GOLD,
        hidden=hidden,
        fail_to_pass=("test_add",),
        pass_to_pass=("test_old",),
        named="tests/test_toy.py::{}",
    ) as toy:
        rig = toy.rig
        if tamper is not None:
            worlds = {WORLD.key: toy.folder / "world"}
            variables = {**BARE, "PYTHONPYCACHEPREFIX": ""}
            rig = replace(rig, backend=FakeBackend(worlds=worlds, variables=variables, tamper=tamper))
        gold = Target(rig.bench, toy.case).gold()
        known = Known(now=datetime.now(UTC), moments=moments, differences=lambda: differences)
        return find_drift(rig, toy.case, gold, known, rounds)


def test_task_that_does_what_it_did_has_no_drift(tmp_path):
    assert drift(tmp_path, "pass") is None


def test_test_that_ends_differently_in_further_runs_is_a_flake_and_is_named(tmp_path):
    found = drift(tmp_path, "assert int(os.environ['PYTHONHASHSEED']) % 2 == 0")
    assert (found.state, found.reason) == (State.AFTER, DriftReason.FLAKE)
    assert found.tests == ("tests/test_toy.py::test_add",)
    assert "passed/failed" in found.detail


def test_one_round_alone_cannot_see_what_only_another_seed_shows(tmp_path):
    assert drift(tmp_path, "assert int(os.environ['PYTHONHASHSEED']) % 2 == 0", rounds=1) is None


def test_time_bomb_is_the_clocks_whatever_else_differs(tmp_path):
    body = "assert datetime.date.today() < datetime.date(2021, 1, 1)"
    found = drift(tmp_path, body, differences=["pytest is 8 instead of 7"])
    assert (found.state, found.reason) == (State.AFTER, DriftReason.CLOCK)
    assert "with the clock at 2020-06-01 they end as they did" in found.detail


def test_bomb_in_a_test_that_only_has_to_stay_is_found_too(tmp_path):
    found = drift(tmp_path, "pass", old="assert datetime.datetime.now().year < 2021")
    assert (found.reason, found.tests) == (DriftReason.CLOCK, ("tests/test_toy.py::test_old",))


def test_what_the_faking_itself_changes_is_not_blamed_on_the_clock(tmp_path):
    found = drift(tmp_path, "assert type(datetime.date) is not type")
    assert found.reason is DriftReason.UNKNOWN


def test_other_packages_are_named_where_the_clock_explains_nothing(tmp_path):
    found = drift(tmp_path, "assert False", differences=["pytest is 8 instead of 7"])
    assert found.reason is DriftReason.ENVIRONMENT
    assert "pytest is 8 instead of 7" in found.detail


def test_cause_that_nothing_shows_stays_unknown(tmp_path):
    found = drift(tmp_path, "assert False", moments=())
    assert (found.reason, found.tests) == (DriftReason.UNKNOWN, ("tests/test_toy.py::test_add",))


def test_hidden_test_that_passes_without_the_fix_is_a_change_of_the_unfixed_state(tmp_path):
    with_fix = {"toy.py": GOLD["toy.py"]}
    hidden = {"tests/test_toy.py": "from toy import add\n\ndef test_add():\n    assert add(1, 2) == 3\n"}
    with toy_task(
        tmp_path, base=with_fix, gold={"other.py": ""}, hidden=hidden, fail_to_pass=("test_add",),
        pass_to_pass=(), named="tests/test_toy.py::{}",
    ) as toy:  # fmt: skip
        gold = Target(toy.rig.bench, toy.case).gold()
        found = find_drift(toy.rig, toy.case, gold, Known(now=datetime.now(UTC)))
    assert (found.state, found.tests) == (State.BEFORE, ("tests/test_toy.py::test_add",))


def test_killed_run_is_no_drift(tmp_path):
    def killed(_number, result):
        return replace(result, exit_code=137, ended_by=EndedBy.SIGNALLED, report=b"")

    with pytest.raises(SandboxError):
        drift(tmp_path, "pass", tamper=killed)


def test_run_that_met_a_limit_is_no_drift(tmp_path):
    def slow(number, result):
        return (
            replace(result, exit_code=None, ended_by=EndedBy.WALL_LIMIT, report=b"") if number > 1 else result
        )

    with pytest.raises(SandboxError):
        drift(tmp_path, "pass", tamper=slow)
