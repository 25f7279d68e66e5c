"""The conformance suite, third part: code that wants out, and processes that die in the middle."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from conftest import QUICK, Bench, processes_with

from swequarry.delta import FileContent, TreeDelta
from swequarry.errors import SandboxError
from swequarry.sandbox.contract import Command, EndedBy

SECRET = "hunter2-of-the-host"


def test_secrets_of_the_host_are_in_no_environment(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEQUARRY_TEST_TOKEN", SECRET)
    code = (
        "import glob\n"
        "for name in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):\n"
        "    try: print(open(name, 'rb').read())\n    except OSError: pass"
    )
    end = bench.py(code)
    assert end.ok
    assert b"PATH" in end.output
    assert SECRET.encode() not in end.output
    assert b"TOKEN" not in end.output


def test_no_descriptor_but_the_four_is_open(bench: Bench, tmp_path: Path) -> None:
    leak = os.open(tmp_path, os.O_PATH)
    os.set_inheritable(leak, True)
    try:
        code = (
            "import os\nfor fd in range(3, 1024):\n"
            "    with __import__('contextlib').suppress(OSError): os.fstat(fd); print(fd)"
        )
        assert bench.py(code).output == b"3\n"
    finally:
        os.close(leak)


def test_command_has_no_capability_and_can_gain_none(bench: Bench) -> None:
    end = bench.sh("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status")
    found = dict(line.split(":", 1) for line in end.output.decode().splitlines())
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(found[name], 16) == 0, name
    assert found["NoNewPrivs"].strip() == "1"
    assert found["Seccomp"].strip() == "2"


@pytest.mark.parametrize(
    "call",
    [
        "libc.unshare(0x10000000)",
        "libc.unshare(0x20000)",
        "libc.mount(b'x', b'/tmp', b'tmpfs', 0, None)",
        "libc.syscall({'x86_64': 250, 'aarch64': 219}[os.uname().machine], 0, 0, 0, 0, 0)",
        "libc.syscall({'x86_64': 321, 'aarch64': 280}[os.uname().machine], 0, 0, 0)",
        "libc.chroot(b'/tmp')",
        "libc.setuid(0)",
    ],
)
def test_privileged_calls_are_refused(bench: Bench, call: str) -> None:
    code = f"import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); print({call}, ctypes.get_errno())"
    assert bench.py(code).output.split()[0] == b"-1"


def test_nothing_of_the_host_is_writable(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "private").write_text("of the host")
    code = (
        f"private = {str(tmp_path)!r}"
        """
import os
for path in ('/usr/x', '/etc/x', '/x', '/dev/x', '/opt/x', '/home/x', '/var/x', '/run/x', '/proc/sys/kernel/core_pattern',
             '/proc/sys/vm/drop_caches', '/proc/sysrq-trigger', '/etc/passwd', '/usr/bin/env'):
    try: os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)); print('wrote', path)
    except OSError: pass
for path in ('/var/run/docker.sock', '/run/docker.sock', '/run/systemd', '/home/sandbox/.ssh', private):
    try: os.stat(path); print('sees', path)
    except OSError: pass
for device in ('/dev/kmsg', '/dev/mem', '/dev/sda', '/dev/vda', '/dev/fuse', '/dev/kvm', '/dev/loop0'):
    try: os.close(os.open(device, os.O_RDONLY)); print('opened', device)
    except OSError: pass
for what in (lambda: os.mknod('/tmp/n', 0o20666, os.makedev(1, 1)), lambda: os.mknod('/testbed/n', 0o60666, os.makedev(8, 0))):
    try: what(); print('made a device')
    except OSError: pass
"""
    )
    end = bench.py(code)
    assert (end.exit_code, end.output) == (0, b""), end.output.decode()


def test_processes_of_the_host_are_neither_seen_nor_reached(bench: Bench, marker: str) -> None:
    victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", marker])
    try:
        code = (
            "import os, signal\n"
            f"seen = [p for p in os.listdir('/proc') if p.isdigit() and {marker!r}[1:] in open(f'/proc/{{p}}/cmdline').read()"
            " and int(p) != os.getpid() and p != '1']\nprint(seen)\n"
            f"try: os.kill({victim.pid}, 9)\nexcept OSError: print('refused')\n"
            "try: os.kill(-1, 0)\nexcept OSError: pass\n"
        )
        assert bench.py(code).output == b"[]\nrefused\n"
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


def test_killing_everything_inside_is_a_signal_and_not_broken_machinery(bench: Bench) -> None:
    end = bench.py(
        "import os\nfor pid in (-1, 1, os.getpid()):\n    try: os.kill(pid, 9)\n    except OSError: pass"
    )
    assert (end.exit_code, end.ended_by) == (137, EndedBy.SIGNALLED)


@pytest.mark.parametrize(
    "path", [b"out/x", b"deep/out/x", b"out/../x", b"../x", b"/etc/x", b"a//b", b"", b"a/./b", b"."]
)
def test_put_never_leaves_the_root(bench: Bench, path: bytes, tmp_path: Path) -> None:
    with bench.backend.create(bench.world) as sandbox:
        links = f"mkdir deep; ln -s {tmp_path} out; ln -s /opt/swequarry deep/out"
        assert sandbox.run(Command(argv=("/bin/sh", "-c", links)), QUICK).ok
        with pytest.raises(SandboxError):
            sandbox.put(TreeDelta(files={path: FileContent(data=b"escaped")}))
        with contextlib.suppress(SandboxError):
            sandbox.put(TreeDelta(removed=(path,)))
        with pytest.raises((SandboxError, FileNotFoundError)):
            sandbox.get("/testbed/" + os.fsdecode(path))
        assert not sandbox.run(Command(argv=("test", "-e", "/opt/swequarry/x")), QUICK).ok
    assert list(tmp_path.iterdir()) == []


def test_get_reads_regular_files_only_and_never_hangs(bench: Bench) -> None:
    script = "mkfifo fifo; ln -s /etc/passwd pw; ln -s . loop; mkdir d; printf secret >zero; chmod 000 zero"
    with bench.backend.create(bench.world) as sandbox:
        assert sandbox.run(Command(argv=("/bin/sh", "-c", script)), QUICK).ok
        for name in ("fifo", "pw", "d", "loop"):
            with pytest.raises(FileNotFoundError):
                sandbox.get(f"/testbed/{name}")
        with pytest.raises(SandboxError):
            sandbox.get("/testbed/loop/loop/zero")
        assert sandbox.get("/testbed/zero") == b"secret"
        sandbox.put(TreeDelta(files={b"fifo": FileContent(data=b"file"), b"pw": FileContent(data=b"own")}))
        assert sandbox.get("/testbed/pw") == b"own"


def test_folders_without_permissions_and_without_end_are_cleared_away(bench: Bench) -> None:
    code = """
import os
os.makedirs('closed/inner'); open('closed/inner/f', 'w').close(); os.chmod('closed/inner', 0); os.chmod('closed', 0)
for _ in range(3000):
    os.mkdir('d' * 50); os.chdir('d' * 50)
"""
    with bench.backend.create(bench.world) as sandbox:
        assert sandbox.run(Command(argv=("python", "-c", code)), QUICK).ok
    assert left_behind(bench) == []


def left_behind(bench: Bench) -> list[str]:
    """Return what sandboxes have left in the store of a backend or its engine."""
    if bench.backend.name == "docker":
        store = bench.backend.store  # type: ignore[attr-defined]
        return [c for c, _ in bench.backend.engine.labelled_containers(store.id)]  # type: ignore[attr-defined]
    return [p.name for p in (bench.store / "bubblewrap" / "sandboxes").iterdir()]


KILLED = """
import sys
from pathlib import Path
from swequarry.config import SandboxSettings
from swequarry.delta import FileContent, TreeDelta
from swequarry.sandbox.backends import open_backend
from swequarry.sandbox.contract import Command, Limits, World
backend = open_backend(SandboxSettings(backend=sys.argv[1], base_image=sys.argv[2]), Path(sys.argv[3]))
world = World(backend=sys.argv[1], key="with python")
sleep = Command(argv=("python", "-c", "import time; time.sleep(600)", sys.argv[4]))
if sys.argv[5] == "once":
    backend.run_once(world, TreeDelta(files={b"x": FileContent(data=b"x")}), sleep, Limits())
else:
    with backend.create(world) as sandbox:
        sandbox.run(sleep, Limits())
"""


@pytest.mark.parametrize("how", ["once", "create"])
def test_killed_parent_leaves_nothing_that_sweep_does_not_find(bench: Bench, marker: str, how: str) -> None:
    image = getattr(getattr(bench.backend, "bases", None), "_setting", "unused")
    argv = [sys.executable, "-c", KILLED, bench.backend.name, image, str(bench.store), marker, how]
    before = left_behind(bench)
    with bench.backend.create(bench.world) as living:
        parent = subprocess.Popen(argv)
        wait_until(lambda: len(processes_with(marker)) > 1)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        assert bench.backend.sweep() >= 1
        wait_until(lambda: bench.backend.sweep() == 0 and processes_with(marker) == [])
        assert living.run(Command(argv=("true",)), QUICK).ok, "sweep took what is alive"
    assert left_behind(bench) == before


def wait_until(holds, timeout_s: float = 30) -> None:
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end, "didn't come true"
        time.sleep(0.05)


@pytest.mark.parametrize("bench", ["bubblewrap"], indirect=True)
def test_set_uid_file_of_hostile_code_is_out_of_reach_for_others(bench: Bench) -> None:
    with bench.backend.create(bench.world) as sandbox:
        assert sandbox.run(Command(argv=("/bin/sh", "-c", "cp /bin/sh s; chmod 6777 s")), QUICK).ok
        status = (bench.store / "bubblewrap").stat()
        assert status.st_mode & 0o007 == 0
        assert list((bench.store / "bubblewrap" / "sandboxes").glob("*/top/testbed/s"))


@pytest.mark.parametrize("bench", ["bubblewrap"], indirect=True)
def test_store_with_an_odd_path_works(bench: Bench, tmp_path: Path) -> None:
    from swequarry.sandbox.bubblewrap import BubblewrapBackend

    odd = BubblewrapBackend(tmp_path / textwrap.dedent("st ore,a:b\\c'\"$é"))
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "f").write_text("odd")
    world = odd.import_tree(tmp_path / "tree", "k/../ey\n")
    end = odd.run_once(
        world, TreeDelta(files={b"g": FileContent(data=b"g")}), Command(argv=("cat", "f", "g")), QUICK
    )
    assert end.output == b"oddg"
