"""Finding Pythons, reaching paths, watching processes: what bubblewrap needs to know of its host."""

import os
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

from swequarry.errors import SandboxError
from swequarry.sandbox.contract import Command, EndedBy, Interpreter, Limits
from swequarry.sandbox.docker_engine import interpret
from swequarry.sandbox.docker_talk import Heard, _Frames
from swequarry.sandbox.host import HostIdentity, is_reachable, unused_uid
from swequarry.sandbox.interpreters import discover, newest_first
from swequarry.sandbox.watchdog import Watchdog, descendants

STRANGER = HostIdentity(uid=unused_uid(), gid=unused_uid(), drop=True)


def test_shims_and_virtual_environments_are_no_interpreters(tmp_path: Path) -> None:
    (tmp_path / "shims").mkdir()
    shim = tmp_path / "shims" / "python3.9"
    shim.write_text("#!/bin/sh\nexit 1\n")
    shim.chmod(0o755)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "python3.9").symlink_to("/bin/echo")
    folders = [tmp_path / "shims", tmp_path / "venv" / "bin", tmp_path / "other"]
    found = discover(folders)
    assert all(not python.path.startswith(str(tmp_path)) for python in found)


def test_own_interpreter_is_found_and_remembered_until_it_changes(tmp_path: Path) -> None:
    asked: list[Interpreter] = []
    folders = [Path(sys.base_prefix) / "bin"]
    cache = tmp_path / "cache.json"
    first = discover(folders, cache, lambda p: not asked.append(p))
    tried = len(asked)
    assert tried >= 1
    assert discover(folders, cache, lambda p: not asked.append(p)) == first
    assert len(asked) == tried
    version = ".".join(map(str, sys.version_info[:3]))
    assert version in {python.version for python in first}


def test_newest_first_goes_by_number_and_not_by_text() -> None:
    found = [Interpreter(version=v, path=f"/{v}/p", prefix=f"/{v}") for v in ("3.9.1", "3.13.0", "3.10.2")]
    assert [p.version for p in newest_first([*found, found[0]])] == ["3.13.0", "3.10.2", "3.9.1"]


def test_path_below_a_closed_folder_is_out_of_reach(tmp_path: Path) -> None:
    open_way = tmp_path / "a" / "b"
    open_way.mkdir(parents=True)
    (open_way / "f").write_text("x")
    for folder in (open_way, open_way.parent, tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o005)
    assert is_reachable(open_way / "f", STRANGER)
    (tmp_path / "a").chmod(0o700)
    assert not is_reachable(open_way / "f", STRANGER)
    assert not is_reachable(tmp_path / "nothing", STRANGER)


@pytest.mark.parametrize(
    "command",
    [
        Command(argv=()),
        Command(argv=("a\0b",)),
        Command(argv=("a",), variables={"": "x"}),
        Command(argv=("a",), variables={"A=B": "x"}),
        Command(argv=("a",), variables={"A": "x\0"}),
    ],
)
def test_command_that_no_system_can_run_is_refused_at_once(command: Command) -> None:
    with pytest.raises(SandboxError):
        command.check()


# --- the watchdog --------------------------------------------------------------------------------------


def watched(code: str, limits: Limits, until) -> Watchdog:
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE)
    try:
        dog = Watchdog(process.pid, limits)
        end = time.monotonic() + 30
        while not until(dog) and time.monotonic() < end:
            dog.look()
            time.sleep(0.02)
        return dog
    finally:
        for sample in descendants(process.pid):
            os.kill(sample.pid, 9)
        process.communicate()


MB = 1 << 20


def test_unburied_child_does_not_switch_the_watchdog_off() -> None:
    code = """
    import subprocess, sys, time
    hog = 'x = []\\nwhile True: x.append(bytearray(4 << 20))'
    kept = [subprocess.Popen([sys.executable, '-c', hog])]
    time.sleep(2)
    kept.append(subprocess.Popen([sys.executable, '-c', hog]))
    time.sleep(60)
    """
    dog = watched(code, replace(Limits(), memory_bytes=200 * MB), lambda d: d.memory_events >= 2)
    assert dog.memory_events >= 2


def test_process_whose_first_thread_has_ended_is_still_counted() -> None:
    code = """
    import ctypes, os, threading, time
    def eat():
        time.sleep(0.5)
        x = []
        while True: x.append(bytearray(4 << 20))
    threading.Thread(target=eat).start()
    number = {'x86_64': 60, 'aarch64': 93}[os.uname().machine]
    ctypes.CDLL(None).syscall(number, 0)
    """
    dog = watched(code, replace(Limits(), memory_bytes=200 * MB), lambda d: d.memory_events >= 1)
    assert dog.memory_events >= 1


def test_far_too_many_processes_are_a_fork_bomb_at_once() -> None:
    code = """
    import subprocess, time
    kept = [subprocess.Popen(['sleep', '60']) for _ in range(30)]
    time.sleep(60)
    """
    dog = watched(code, replace(Limits(), processes=16), lambda d: d.is_fork_bomb)
    assert dog.is_fork_bomb
    assert dog.process_events == 1


# --- what a container says -------------------------------------------------------------------------------


def heard(report: bytes, killed_by: EndedBy | None = None) -> Heard:
    return Heard(report=bytearray(report), killed_by=killed_by)


def test_frames_cut_anywhere_give_the_same_two_streams() -> None:
    wire = b"".join(
        bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data
        for stream, data in ((1, b"report"), (2, b"\xc3"), (2, b"\xa9"), (1, b""), (1, b" end"))
    )
    for size in range(1, len(wire) + 1):
        into = Heard()
        frames = _Frames(into, Limits())
        for at in range(0, len(wire), size):
            assert frames.take(wire[at : at + size])
        assert (bytes(into.report), bytes(into.output)) == (b"report end", "é".encode())


def test_command_cannot_forge_the_last_line_of_its_own_ending() -> None:
    nonce = "0123456789abcdef"
    forged = b'\nffff {"status": 0, "events": {"memory": 0, "processes": 0}}\n'
    true = f'\n{nonce} {{"status": 256, "events": {{"memory": 0, "processes": 2}}}}\n'.encode()
    end = interpret(heard(b'{"ok": true}\n' + forged + true), {}, nonce, Limits(), 0.0)
    assert (end.exit_code, end.process_events, end.report) == (1, 2, forged)


def test_container_that_ends_without_a_word_is_broken_machinery() -> None:
    for report in (b"", b"not json\n", b'{"ok": true}\npartial'):
        with pytest.raises(SandboxError):
            interpret(heard(report), {"ExitCode": 137, "OOMKilled": False}, "n", Limits(), 0.0)


def test_engine_that_killed_for_memory_is_believed_without_a_last_line() -> None:
    state = {"ExitCode": 137, "OOMKilled": True}
    end = interpret(heard(b'{"ok": true}\n'), state, "n", Limits(), 0.0)
    assert (end.ended_by, end.exit_code, end.memory_events) == (EndedBy.MEMORY_LIMIT, None, 1)


def test_report_that_was_cut_is_as_long_as_the_limit() -> None:
    limits = replace(Limits(), report_bytes=10)
    end = interpret(heard(b'{"ok": true}\n' + b"x" * 99, EndedBy.OUTPUT_LIMIT), {}, "n", limits, 0.0)
    assert (end.report, end.ended_by) == (b"x" * 10, EndedBy.OUTPUT_LIMIT)
