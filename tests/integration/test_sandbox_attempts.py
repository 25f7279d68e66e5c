"""The conformance suite, fifth part: single attempts on the kernel, the first process, disks and readers."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import QUICK, Bench, docker_base_image, make_tree

from swequarry.config import SandboxSettings
from swequarry.delta import FileContent, TreeDelta
from swequarry.errors import SandboxError
from swequarry.sandbox.backends import open_backend
from swequarry.sandbox.contract import FETCH_LIMIT_BYTES, Command, EndedBy

MB = 1 << 20
CALLS = {  # x86_64, aarch64
    "acct": (163, 89), "add_key": (248, 217), "bpf": (321, 280), "chroot": (161, 51), "clock_settime": (227, 112),
    "delete_module": (176, 106), "fanotify_init": (300, 262), "finit_module": (313, 273), "fsopen": (430, 430),
    "init_module": (175, 105), "io_uring_setup": (425, 425), "kexec_file_load": (320, 294), "kexec_load": (246, 104),
    "keyctl": (250, 219), "mount": (165, 40), "mount_setattr": (442, 442), "move_mount": (429, 429),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "perf_event_open": (298, 241), "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "ptrace": (101, 117),
    "quotactl": (179, 60), "reboot": (169, 142), "request_key": (249, 218), "sethostname": (170, 161),
    "setns": (308, 268), "settimeofday": (164, 170), "swapon": (167, 224), "syslog": (103, 116), "umount2": (166, 39),
    "userfaultfd": (323, 282),
}  # fmt: skip


def test_calls_that_led_out_of_containers_are_refused_by_the_filter(bench: Bench) -> None:
    code = f"""
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
column = ['x86_64', 'aarch64'].index(os.uname().machine)
for name, numbers in {CALLS!r}.items():
    ctypes.set_errno(0)
    if libc.syscall(numbers[column], 0, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
        print(name, errno.errorcode.get(ctypes.get_errno()))
for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80):
    if libc.unshare(flag) != -1: print('unshare', hex(flag))
"""
    end = bench.py(code)
    assert (end.output, end.exit_code) == (b"", 0)


def test_no_set_uid_program_gives_another_user(bench: Bench) -> None:
    script = (
        "cp /bin/sh /tmp/s; chmod 6755 /tmp/s; /tmp/s -p -c 'id -u'; for p in su sudo newgrp pkexec mount; do"
    )
    script += " p=$(command -v $p) && timeout 5 $p -c 'id -u' </dev/null 2>/dev/null; done; chown 0 /tmp/s && echo chown"
    end = bench.sh(script)
    assert b"0" not in [line.strip() for line in end.output.splitlines()]
    assert end.output.startswith(b"1000\n")
    assert not end.output.endswith(b"\nchown\n")


def test_first_process_gives_away_neither_memory_nor_descriptors(bench: Bench) -> None:
    code = """
import os
for path in ('/proc/1/mem', '/proc/1/task/1/mem', '/proc/1/fd/0', '/proc/1/fd/1', '/proc/1/fd/2', '/proc/1/task/1/fd/1'):
    for mode in ('rb', 'r+b'):
        try:
            with open(path, mode, 0) as f: print('opened', path, mode)
        except OSError: pass
for folder in ('/proc/1/fd', '/proc/1/task/1/fd'):
    try:
        if os.listdir(folder): print('lists', folder)
    except OSError: pass
"""
    end = bench.py(code)
    assert (end.output, end.exit_code) == (b"", 0)


def test_kernel_settings_and_own_limits_stay_as_they_are(bench: Bench) -> None:
    code = """
import glob, os, resource
names = ('kernel/core_pattern', 'kernel/modprobe', 'kernel/hostname', 'kernel/ns_last_pid', 'vm/overcommit_memory',
         'fs/binfmt_misc/register', 'kernel/yama/ptrace_scope', 'net/ipv4/ip_forward', 'net/ipv4/ping_group_range')
paths = ['/proc/sys/' + name for name in names] + ['/proc/sysrq-trigger', '/proc/self/uid_map',
         '/proc/self/setgroups', '/sys/kernel/uevent_helper', '/sys/fs/cgroup/release_agent', '/sys/power/state']
for path in paths + glob.glob('/sys/fs/cgroup/*/release_agent') + glob.glob('/sys/fs/cgroup/*/*.limit_in_bytes'):
    try: fd = os.open(path, os.O_WRONLY)
    except OSError: continue
    try: os.write(fd, b'0\\n'); print('wrote', path)
    except OSError: pass
for kind in (resource.RLIMIT_CORE, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):
    try: resource.setrlimit(kind, (resource.getrlimit(kind)[1] + 4096,) * 2); print('raised', kind)
    except (OSError, ValueError): pass
try: os.nice(-5); print('nicer')
except OSError: pass
try: os.link('/usr/bin/env', 'hard'); print('linked')
except OSError: pass
"""
    end = bench.py(code, limits=QUICK)
    assert (end.output, end.exit_code) == (b"", 0)


def test_crash_leaves_no_core(bench: Bench) -> None:
    with bench.backend.create(bench.world) as sandbox:
        crash = Command(
            argv=("/bin/sh", "-c", "python -c 'import os; os.abort()'; ls -A | grep -i core; exit 0")
        )
        assert b"core" not in sandbox.run(crash, QUICK).output.replace(b"(core dumped)", b"")


# --- bombs -------------------------------------------------------------------------------------------------


@pytest.mark.any_user
def test_zip_bomb_ends_at_a_limit_and_not_on_the_disk(bench: Bench) -> None:
    code = f"""
import errno, zipfile
with zipfile.ZipFile('/tmp/bomb.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
    for name in ('a', 'b'):
        with archive.open(name, 'w') as f:
            for _ in range(48): f.write(bytes({MB}))
for folder in ('/tmp/out', '/testbed/out'):
    try: zipfile.ZipFile('/tmp/bomb.zip').extractall(folder); print('unpacked')
    except OSError as error: print(errno.errorcode[error.errno])
"""
    end = bench.py(code, limits=replace(QUICK, file_bytes=16 * MB))
    assert end.ended_by is EndedBy.EXITED
    assert set(end.output.split()) <= {b"EFBIG", b"ENOSPC"}
    assert end.output.split()


@pytest.mark.any_user
def test_ten_gigabyte_log_costs_no_more_than_its_limit(bench: Bench) -> None:
    began = time.monotonic()
    end = bench.sh("head -c 10737418240 /dev/zero; echo done", limits=replace(QUICK, output_bytes=2 * MB))
    assert (end.ended_by, end.exit_code, len(end.output)) == (EndedBy.OUTPUT_LIMIT, None, 2 * MB)
    assert time.monotonic() - began < 30


@pytest.mark.any_user
def test_sparse_file_cannot_be_larger_than_a_file_may_be(bench: Bench) -> None:
    script = "truncate -s 10T sparse; truncate -s 10T /tmp/sparse; stat -c %s sparse /tmp/sparse"
    end = bench.sh(script, limits=replace(QUICK, file_bytes=4 * MB))
    sizes = [int(word) for word in end.output.split() if word.isdigit()]
    assert all(size <= 4 * MB for size in sizes), end.output


def test_sparse_file_is_not_fetched_into_memory(bench: Bench) -> None:
    large = FETCH_LIMIT_BYTES + 1
    with bench.backend.create(bench.world) as sandbox:
        made = sandbox.run(Command(argv=("truncate", "-s", str(large), "sparse")), QUICK)
        assert made.ok, made.output
        with pytest.raises(SandboxError, match="bytes, too many"):
            sandbox.get("/testbed/sparse")


@pytest.mark.any_user
def test_endless_files_end_at_a_limit(bench: Bench) -> None:
    code = """
import os
n = 0
try:
    while n < 400000:
        os.close(os.open('/tmp/%d' % n, os.O_CREAT | os.O_WRONLY)); n += 1
    print('made them all')
except OSError as error: print(error.strerror)
"""
    end = bench.py(code, limits=replace(QUICK, memory_bytes=128 * MB, tmp_bytes=16 * MB, disk_bytes=16 * MB))
    assert end.ended_by is EndedBy.MEMORY_LIMIT or end.output == b"No space left on device\n", end


ODD_TREE = """
import os, socket
os.mkfifo('fifo'); os.mkdir('closed'); open('closed/f', 'w').close(); os.chmod('closed/f', 0); os.chmod('closed', 0)
socket.socket(socket.AF_UNIX).bind('socket')
os.symlink('/etc/passwd', 'absolute'); os.symlink('../../../etc', 'climbing'); os.symlink('me', 'me')
open('n' * 255, 'w').close(); open(b'\\xff\\xfe\\n\\x1b[31m', 'w').close(); os.link('tool.sh', 'second name')
os.chmod('tool.sh', 0o6755)
here = os.getcwd()
for _ in range(200): os.mkdir('d' * 50); os.chdir('d' * 50)
open('bottom', 'w').close(); os.chdir(here); print('made')
"""


def test_odd_tree_is_stored_or_refused_but_never_hangs_or_leaks(bench: Bench) -> None:
    with bench.backend.create(bench.world) as sandbox:
        assert sandbox.run(Command(argv=("python", "-c", ODD_TREE)), QUICK).output == b"made\n"
        world = sandbox.commit("odd tree")
        for name in ("fifo", "socket", "absolute", "climbing/passwd", "me", "closed"):
            with pytest.raises((FileNotFoundError, SandboxError)):
                sandbox.get(f"/testbed/{name}")
        sandbox.put(
            TreeDelta(files={b"fifo": FileContent(data=b"mine"), b"socket": FileContent(data=b"mine")})
        )
        assert sandbox.get("/testbed/fifo") == b"mine"
    look = Command(argv=("/bin/sh", "-c", "test -p fifo && test -L me && echo as it was"))
    assert bench.backend.run_once(world, TreeDelta(), look, QUICK).output == b"as it was\n"
    bench.backend.remove_world("odd tree")
    bench.backend.sweep()
    assert not bench.backend.has_world("odd tree")


@pytest.mark.docker
def test_runtime_that_the_engine_lacks_is_said_and_one_that_it_has_is_used(tmp_path: Path) -> None:
    image = docker_base_image()
    chosen = {"backend": "docker", "base_image": image}
    absent = open_backend(SandboxSettings(**chosen, runtime="no-such-runtime"), tmp_path / "absent")
    assert "no runtime no-such-runtime" in absent.probe()[0]
    backend = open_backend(SandboxSettings(**chosen, runtime="runc"), tmp_path / "there")
    assert backend.probe() == ()
    world = backend.import_tree(make_tree(tmp_path / "tree"), "tree")
    assert backend.run_once(world, TreeDelta(), Command(argv=("echo", "ran")), QUICK).output == b"ran\n"
    with pytest.raises(SandboxError, match="no-such-runtime"):
        absent.run_once(
            absent.import_tree(tmp_path / "tree", "t"), TreeDelta(), Command(argv=("true",)), QUICK
        )
