"""A person's terminal in a sandbox: a real one inside, and nothing foreign that touches the one outside."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass

from swequarry.config import SandboxSettings
from tests.integration.conftest import docker_base_image

PERSON = """
import sys
from pathlib import Path
from swequarry.config import SandboxSettings
from swequarry.sandbox.backends import open_backend
from swequarry.sandbox.contract import Limits, World
from swequarry.sandbox.terminal import Terminal

name, image, store, *argv = sys.argv[1:]
backend = open_backend(SandboxSettings(backend=name, base_image=image), Path(store))
limits = Limits(wall_s=120, disk_bytes=64 << 20, tmp_bytes=64 << 20, memory_bytes=1 << 30, processes=200)
with Terminal() as terminal, backend.create(World(backend=name, key="with python"), binds=(terminal.bind,)) as box:
    sys.exit(terminal.attend(box, argv, {"PS1": "ready> ", "TERM": "dumb"}, limits).exit_code)
"""
ROWS, COLUMNS = 33, 101


@dataclass
class Session:
    code: int
    shown: str
    unread: int
    restored: bool


def sit_down(bench, *argv: str, script: tuple[tuple[str, str], ...] = ()) -> Session:
    """Run a command with a terminal; type each text of the script when its cue has been shown."""
    name = bench.backend.name
    image = docker_base_image() if name == "docker" else SandboxSettings().base_image
    outer, inner = pty.openpty()
    fcntl.ioctl(outer, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    before = termios.tcgetattr(inner)
    order = [sys.executable, "-c", PERSON, name, image, str(bench.store), *argv]
    person = subprocess.Popen(order, stdin=inner, stdout=inner, stderr=inner, start_new_session=True)
    seen, start, left = b"", 0, list(script)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (person.poll() is None or select.select([outer], [], [], 0)[0]):
        if select.select([outer], [], [], 0.1)[0]:
            seen += os.read(outer, 1 << 16)
        if left and left[0][0].encode() in seen[start:]:
            start = len(seen)
            os.write(outer, left.pop(0)[1].encode())
    code = person.wait(10)
    unread = struct.unpack("i", fcntl.ioctl(inner, termios.FIONREAD, b"\0" * 4))[0]
    restored = termios.tcgetattr(inner) == before
    os.close(outer)
    os.close(inner)
    return Session(code, seen.decode("utf-8", "replace"), unread, restored)


def test_shell_has_a_terminal_of_the_right_size_and_passes_on_its_exit_code(bench):
    done = sit_down(bench, script=(("ready> ", "stty size; echo $((6*7)); exit 5\n"),))
    assert done.code == 5, done.shown
    assert f"{ROWS} {COLUMNS}" in done.shown
    assert "42" in done.shown
    assert done.restored


def test_interrupt_key_ends_the_command_and_not_the_shell(bench):
    script = (
        ("ready> ", "sh -c 'echo started; exec sleep 100'\n"),  # who says it has the terminal by then
        ("\nstarted", "\x03"),
        ("ready> ", "echo still $((1+1)) here; exit\n"),
    )
    done = sit_down(bench, script=script)
    assert "still 2 here" in done.shown
    assert done.code == 0


def test_command_that_leaves_children_behind_ends_all_the_same(bench):
    done = sit_down(bench, "/bin/sh", "-c", "sleep 100 & echo left; exit 3")
    assert (done.code, "left" in done.shown) == (3, True)


def test_absent_command_is_no_fault_of_the_machinery(bench):
    assert sit_down(bench, "no-such-program").code == 127


def test_keystrokes_pushed_from_inside_never_reach_the_terminal_outside(bench):
    push = (
        "import fcntl, termios\n"
        "for letter in 'rm -rf x\\n':\n"
        "    try: fcntl.ioctl(0, termios.TIOCSTI, letter.encode())\n"
        "    except OSError: pass\n"
        "print('pushed')"
    )
    done = sit_down(bench, "python", "-c", push)
    assert "pushed" in done.shown
    assert done.unread == 0


def test_answers_of_the_terminal_arent_left_for_the_shell_outside(bench):
    """The program asks where the cursor is and leaves; the answer comes while nobody reads."""
    ask = "import time; print('\\x1b[6n asked', flush=True); time.sleep(1)"
    done = sit_down(bench, "python", "-c", ask, script=(("asked", "\x1b[1;1R"),))
    assert "asked" in done.shown
    assert done.unread == 0


def test_no_descriptor_of_the_outside_is_open_inside(bench):
    code = "import os; print(sorted({os.readlink(f'/proc/self/fd/{n}') for n in (0, 1, 2)}))"
    done = sit_down(bench, "python", "-c", code)
    assert "['/dev/pts/0']" in done.shown
