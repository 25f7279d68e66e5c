import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from swequarry.ledger import process
from swequarry.ledger.leases import LeaseState
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.process import ProcessMark, is_gone, mark_of, own_mark

LEASE_S = 60.0


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(ledger_place: str, clock: Clock) -> Iterator[Ledger]:
    opened = Ledger.open(ledger_place, clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def sleeper() -> subprocess.Popen[bytes]:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield child
    child.kill()
    child.wait()


def living(child: subprocess.Popen[bytes]) -> ProcessMark:
    mark = mark_of(child.pid)
    assert mark is not None
    return mark


ELSEWHERE = ProcessMark(host="another-machine", pid=1, birth="boot/pid:[1]/7")


def take(ledger: Ledger, mark: ProcessMark, item: str = "x") -> LeaseState:
    return ledger.leases.acquire("line", item, mark, lease_s=LEASE_S)


def test_item_has_one_worker_at_a_time(ledger: Ledger, sleeper: subprocess.Popen[bytes]) -> None:
    assert take(ledger, living(sleeper)) is LeaseState.TAKEN
    assert take(ledger, own_mark()) is LeaseState.HELD
    assert take(ledger, own_mark(), "y") is LeaseState.TAKEN
    ledger.leases.release("line", "x", living(sleeper))
    assert take(ledger, own_mark()) is LeaseState.TAKEN


def test_scopes_do_not_meet(ledger: Ledger, sleeper: subprocess.Popen[bytes]) -> None:
    take(ledger, living(sleeper))
    assert ledger.leases.acquire("other", "x", own_mark(), lease_s=LEASE_S) is LeaseState.TAKEN


def test_item_of_a_killed_worker_is_free_at_once(ledger: Ledger, sleeper: subprocess.Popen[bytes]) -> None:
    take(ledger, living(sleeper))
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)  # a zombie now: dead, but not yet reaped
    assert take(ledger, own_mark()) is LeaseState.TAKEN


def test_worker_of_another_machine_holds_until_its_deadline(ledger: Ledger, clock: Clock) -> None:
    take(ledger, ELSEWHERE)
    clock.now += LEASE_S - 1
    assert take(ledger, own_mark()) is LeaseState.HELD
    clock.now += 1
    assert take(ledger, own_mark()) is LeaseState.TAKEN


def test_renewed_lease_outlives_its_first_deadline(ledger: Ledger, clock: Clock) -> None:
    take(ledger, ELSEWHERE)
    clock.now += LEASE_S - 1
    assert ledger.leases.renew("line", "x", ELSEWHERE, lease_s=LEASE_S)
    clock.now += LEASE_S - 1
    assert take(ledger, own_mark()) is LeaseState.HELD


def test_worker_that_lost_its_lease_can_neither_renew_nor_release_it(ledger: Ledger, clock: Clock) -> None:
    take(ledger, ELSEWHERE)
    clock.now += LEASE_S
    take(ledger, own_mark())
    assert not ledger.leases.renew("line", "x", ELSEWHERE, lease_s=LEASE_S)
    ledger.leases.release("line", "x", ELSEWHERE)
    assert ledger.leases.report_death("line", "x", ELSEWHERE) == 0
    assert ledger.leases.held("line") == {"x": own_mark()}


def test_item_that_kills_twice_is_poison_until_pardoned(ledger: Ledger) -> None:
    for deaths in (1, 2):
        assert take(ledger, own_mark()) is LeaseState.TAKEN
        assert ledger.leases.report_death("line", "x", own_mark()) == deaths
    assert take(ledger, own_mark()) is LeaseState.POISON
    assert ledger.leases.pardon(only=["y"]) == 0
    assert ledger.leases.pardon() == 1
    assert take(ledger, own_mark()) is LeaseState.TAKEN


def test_finished_item_has_its_deaths_forgotten_and_a_stopped_one_does_not(ledger: Ledger) -> None:
    for finished, expected in ((False, 2), (True, 1)):
        take(ledger, own_mark(), str(finished))
        ledger.leases.report_death("line", str(finished), own_mark())
        take(ledger, own_mark(), str(finished))
        ledger.leases.release("line", str(finished), own_mark(), finished=finished)
        take(ledger, own_mark(), str(finished))
        assert ledger.leases.report_death("line", str(finished), own_mark()) == expected


def test_killed_driver_is_not_the_fault_of_its_items(ledger: Ledger, clock: Clock) -> None:
    for _ in range(5):
        assert take(ledger, replace(ELSEWHERE, pid=int(clock.now))) is LeaseState.TAKEN
        clock.now += LEASE_S


def test_reused_pid_is_not_the_old_process(sleeper: subprocess.Popen[bytes]) -> None:
    mark = living(sleeper)
    machine, _, start = mark.birth.rpartition("/")
    assert not is_gone(mark)
    assert is_gone(replace(mark, birth=f"{machine}/{int(start) - 1}"))


def test_process_before_a_reboot_or_in_another_container_is_never_declared_dead() -> None:
    mark = own_mark()
    boot, namespace, start = mark.birth.split("/")
    assert not is_gone(replace(mark, birth=f"{boot}/pid:[7]/{int(start) - 1}"))
    assert not is_gone(replace(mark, host="another-machine", birth=f"{boot}/{namespace}/1"))


def test_process_whose_name_has_brackets_is_read_right(tmp_path: Path) -> None:
    odd = tmp_path / "a) S (b"
    odd.symlink_to("/bin/sleep")
    with subprocess.Popen([odd, "60"]) as child:
        assert living(child).birth.rpartition("/")[2].isdigit()
        child.kill()


def test_unreadable_entry_of_a_living_process_does_not_make_it_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = own_mark()
    monkeypatch.setattr(process, "_state_and_start", lambda _pid: None)
    assert not is_gone(mark)
