"""The conformance suite, second part: no limit can be passed, and each is named for what it is."""

import threading
import time
from dataclasses import replace

import pytest
from conftest import QUICK, Bench, processes_with

from swequarry.sandbox.contract import Command, EndedBy

MB = 1 << 20


def test_timeout_leaves_nothing_alive_of_a_daemon_that_traps_term(bench: Bench, marker: str) -> None:  # B072
    code = f"""
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
server = [sys.executable, '-m', 'http.server', '8000', '--directory', '/tmp', {marker!r}][:-1]
subprocess.Popen([sys.executable, '-c', 'import time, http.server, signal; signal.signal(15, signal.SIG_IGN); '
    'http.server.HTTPServer(("127.0.0.1", 8000), http.server.SimpleHTTPRequestHandler).serve_forever()',
    {marker!r}], start_new_session=True)
if os.fork() == 0:
    os.setsid(); os.execvp('sleep', ['sleep', '3600'])
os.write(3, b'partial'); print('started', flush=True)
time.sleep(3600)
"""
    began = time.monotonic()
    end = bench.py(code, limits=replace(QUICK, wall_s=3))
    assert time.monotonic() - began < 3 + 3
    assert (end.ended_by, end.exit_code) == (EndedBy.WALL_LIMIT, None)
    assert (end.output, end.report) == (b"started\n", b"partial")
    assert processes_with(marker) == []
    again = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 8000)); print('free')"
    assert bench.py(again).output == b"free\n"


def test_daemon_that_outlives_its_command_is_gone_and_holds_nobody_up(bench: Bench, marker: str) -> None:
    code = (
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', {marker!r}], start_new_session=True)"
    )
    began = time.monotonic()
    end = bench.py(code)
    assert (end.exit_code, end.ended_by) == (0, EndedBy.EXITED)
    assert time.monotonic() - began < 20
    assert processes_with(marker) == []


@pytest.mark.any_user
def test_command_that_closes_its_streams_is_still_timed(bench: Bench) -> None:
    code = "import os, time; [os.close(n) for n in (0, 1, 2, 3)]; time.sleep(600)"
    assert bench.py(code, limits=replace(QUICK, wall_s=2)).ended_by is EndedBy.WALL_LIMIT


def test_child_killed_for_memory_is_seen_though_the_command_goes_on(bench: Bench) -> None:  # B071
    code = """
import subprocess, sys
hog = 'x = []\\nwhile True: x.append(bytearray(8 << 20))'
print('child', subprocess.run([sys.executable, '-c', hog]).returncode)
"""
    end = bench.py(code, limits=replace(QUICK, memory_bytes=256 * MB))
    assert (end.exit_code, end.ended_by, end.output) == (0, EndedBy.EXITED, b"child -9\n")
    assert end.memory_events >= 1


def test_command_killed_for_memory_has_no_exit_code(bench: Bench) -> None:
    code = "x = []\nwhile True: x.append(bytearray(8 << 20))"
    end = bench.py(code, limits=replace(QUICK, memory_bytes=256 * MB))
    assert (end.exit_code, end.ended_by) == (None, EndedBy.MEMORY_LIMIT)
    assert end.memory_events >= 1


def test_memory_is_the_sum_of_all_processes(bench: Bench) -> None:
    code = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        x = bytearray(80 << 20)
        for n in range(0, len(x), 4096): x[n] = 1
        time.sleep(3); os._exit(0)
died = sum(os.WIFSIGNALED(os.wait()[1]) for _ in range(6))
print(died > 0)
"""
    end = bench.py(code, limits=replace(QUICK, memory_bytes=256 * MB))
    assert end.memory_events >= 1
    assert end.output == b"True\n"


@pytest.mark.any_user
def test_pages_shared_by_forked_children_are_counted_once(bench: Bench) -> None:
    code = """
import os, time
x = bytearray(100 << 20)
for n in range(0, len(x), 4096): x[n] = 1
children = []
for _ in range(5):
    pid = os.fork()
    if pid == 0: time.sleep(2); os._exit(0)
    children.append(pid)
print({os.waitpid(pid, 0)[1] for pid in children})
"""
    end = bench.py(code, limits=replace(QUICK, memory_bytes=300 * MB))
    assert (end.exit_code, end.output, end.memory_events) == (0, b"{0}\n", 0)


def test_too_many_threads_are_refused_and_counted(bench: Bench) -> None:
    code = """
import threading, time
started = 0
try:
    for _ in range(100):
        threading.Thread(target=time.sleep, args=(1,), daemon=True).start(); started += 1
except RuntimeError: print('refused', started < 64)
time.sleep(1)
"""
    end = bench.py(code, limits=replace(QUICK, processes=64))
    assert end.output == b"refused True\n"
    assert end.process_events >= 1


def test_process_limit_of_one_sandbox_is_not_used_up_by_another(bench: Bench) -> None:
    code = "import subprocess; p = [subprocess.Popen(['sleep', '2']) for _ in range(40)]; print(len(p))"
    ends = []
    limits = replace(QUICK, processes=64)
    threads = [threading.Thread(target=lambda: ends.append(bench.py(code, limits=limits))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [end.output for end in ends] == [b"40\n", b"40\n"]


def test_fork_bomb_is_ended_and_gone(bench: Bench, marker: str) -> None:
    bomb = f"import os, time\n{marker} = 1\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(0.05)"
    began = time.monotonic()
    end = bench.py(bomb, limits=replace(QUICK, wall_s=40, processes=100))
    assert end.ended_by in {EndedBy.PROCESS_LIMIT, EndedBy.WALL_LIMIT}
    assert end.exit_code is None
    assert time.monotonic() - began < 40 + 3
    assert processes_with(marker) == []


@pytest.mark.any_user
def test_endless_log_is_cut_at_the_limit(bench: Bench) -> None:
    began = time.monotonic()
    end = bench.sh("exec yes", limits=replace(QUICK, output_bytes=MB))
    assert (end.ended_by, end.exit_code, len(end.output)) == (EndedBy.OUTPUT_LIMIT, None, MB)
    assert time.monotonic() - began < 30


@pytest.mark.any_user
def test_endless_report_is_cut_at_the_limit(bench: Bench) -> None:
    end = bench.sh("exec yes >&3", limits=replace(QUICK, report_bytes=MB))
    assert end.ended_by is EndedBy.OUTPUT_LIMIT
    assert len(end.report) == MB


@pytest.mark.any_user
def test_full_temporary_folder_is_an_error_of_the_command(bench: Bench) -> None:
    code = """
import errno
try:
    with open('/tmp/fill', 'wb') as f:
        for _ in range(1000): f.write(bytes(1 << 20))
except OSError as error: print(errno.errorcode[error.errno])
"""
    limits = replace(QUICK, tmp_bytes=16 * MB, disk_bytes=16 * MB)
    assert bench.py(code, limits=limits).output == b"ENOSPC\n"


@pytest.mark.docker
@pytest.mark.parametrize("bench", ["docker"], indirect=True)
def test_backend_that_cannot_bound_the_disk_says_so(bench: Bench) -> None:
    assert any("quota" in weakness for weakness in bench.backend.weaknesses)


@pytest.mark.parametrize("bench", ["bubblewrap"], indirect=True)
def test_disk_is_bounded(bench: Bench) -> None:
    fill = "import time\nfor n in range(100000):\n    open(f'f{n}', 'wb').write(bytes(1 << 20)); time.sleep(0.005)"
    limits = replace(QUICK, tmp_bytes=16 * MB, disk_bytes=48 * MB)
    once = bench.py(fill, limits=limits)
    assert (once.exit_code, b"No space left on device" in once.output) == (1, True)
    with bench.backend.create(bench.world) as sandbox:
        kept = sandbox.run(Command(argv=("python", "-c", fill)), limits)
    assert kept.ended_by is EndedBy.DISK_LIMIT


@pytest.mark.any_user
def test_one_file_is_bounded(bench: Bench) -> None:
    end = bench.sh("head -c 9000000 /dev/zero >big; ls -l big", limits=replace(QUICK, file_bytes=4 * MB))
    assert str(4 * MB).encode() in end.output


@pytest.mark.any_user
def test_open_files_are_bounded(bench: Bench) -> None:
    code = "import errno\ntry: f = [open('/dev/null') for _ in range(500)]\nexcept OSError as e: print(errno.errorcode[e.errno])"
    assert bench.py(code, limits=replace(QUICK, open_files=100)).output == b"EMFILE\n"


@pytest.mark.any_user
def test_no_core_dumps(bench: Bench) -> None:
    assert bench.sh("ulimit -c").output == b"0\n"


@pytest.mark.any_user
def test_limits_may_differ_from_run_to_run_of_one_sandbox(bench: Bench) -> None:
    code = "x = bytearray(300 << 20)\nfor n in range(0, len(x), 4096): x[n] = 1\nimport time; time.sleep(0.5)"
    command = Command(argv=("python", "-c", code))
    with bench.backend.create(bench.world) as sandbox:
        small = sandbox.run(command, replace(QUICK, memory_bytes=128 * MB))
        large = sandbox.run(command, replace(QUICK, memory_bytes=800 * MB))
    assert (small.ended_by, large.exit_code) == (EndedBy.MEMORY_LIMIT, 0)


@pytest.mark.any_user
def test_concurrent_runs_end_each_for_its_own_reason(bench: Bench) -> None:
    scripts = {"exit 7": EndedBy.EXITED, "sleep 60": EndedBy.WALL_LIMIT, "kill -9 $$": EndedBy.SIGNALLED}
    ends: dict[str, EndedBy] = {}

    def run(script: str) -> None:
        ends[script] = bench.sh(script, limits=replace(QUICK, wall_s=4)).ended_by

    threads = [threading.Thread(target=run, args=(script,)) for script in scripts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ends == scripts
