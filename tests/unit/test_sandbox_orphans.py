"""First processes of namespaces whose bubblewrap is gone, in a made-up /proc."""

import signal
from pathlib import Path

import pytest

from swequarry.sandbox import orphans

UID = 4711


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "proc"
    folder.mkdir()
    (folder / "uptime").write_text("1 1\n")
    monkeypatch.setattr(orphans, "_PROC", folder)
    return folder


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "bwrap"
    path.write_bytes(b"program")
    return path


def process(
    proc: Path, pid: int, program: Path, *, parent: int, inner: str, name: str = "bwrap", uid: int = UID
) -> None:
    folder = proc / str(pid)
    folder.mkdir()
    ids = "\t".join([str(uid)] * 4)
    text = f"Name:\t{name}\nPPid:\t{parent}\nUid:\t{ids}\nNSpid:\t{pid}\t{inner}\n"
    (folder / "status").write_text(text.replace("\t\n", "\n"))
    (folder / "exe").symlink_to(program)


def test_only_first_processes_without_a_bubblewrap_above_are_found(proc: Path, program: Path) -> None:
    process(proc, 1, program, parent=0, inner="", name="init", uid=0)
    process(proc, 50, program, parent=1, inner="")  # a living monitor
    process(proc, 51, program, parent=50, inner="1")  # its namespace
    process(proc, 60, program, parent=1, inner="1")  # the orphan
    process(proc, 61, program, parent=60, inner="2")  # not the first of its namespace
    assert list(orphans.find_orphans(UID, program)) == [60]


def test_other_users_and_other_programs_are_left_alone(proc: Path, program: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"other")
    process(proc, 1, program, parent=0, inner="", name="init", uid=0)
    process(proc, 60, program, parent=1, inner="1", uid=UID + 1)
    process(proc, 61, other, parent=1, inner="1")
    process(proc, 62, program, parent=1, inner="1", name="python")
    assert list(orphans.find_orphans(UID, program)) == []


def test_orphans_are_killed_and_counted(proc: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process(proc, 1, program, parent=0, inner="", name="init", uid=0)
    process(proc, 60, program, parent=1, inner="1")
    process(proc, 61, program, parent=1, inner="1")
    killed: list[tuple[int, int]] = []

    def kill(pid: int, number: int) -> None:
        if pid == 61:
            raise ProcessLookupError
        killed.append((pid, number))

    monkeypatch.setattr(orphans.os, "kill", kill)
    assert orphans.end_orphans(UID, program) == 1
    assert killed == [(60, signal.SIGKILL)]
