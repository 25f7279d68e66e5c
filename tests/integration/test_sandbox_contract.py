"""The conformance suite of all sandbox backends: worlds, runs, and what a command finds around it.

Limits and hostile code are in test_sandbox_limits.py and test_sandbox_hostile.py; as root, all three are
run again as an ordinary user by test_sandbox_user.py.
"""

import socket
import threading
from pathlib import Path

import pytest
from conftest import QUICK, Bench

from swequarry.delta import FileContent, TreeDelta
from swequarry.errors import SandboxError
from swequarry.sandbox.contract import INDEX_SOCKET, Bind, Command, EndedBy, Limits, World


def text(data: str, mode: int = 0o100644) -> FileContent:
    return FileContent(data=data.encode(), mode=mode)


# --- worlds --------------------------------------------------------------------------------------------


def test_world_keeps_modes_links_times_and_odd_names(bench: Bench) -> None:
    end = bench.py(
        "import os; s = os.stat('tool.sh'); print(oct(s.st_mode), s.st_uid == os.getuid(), int(s.st_mtime))\n"
        "print(os.readlink('link'), os.readlink('outside'))\n"
        "print(sorted(os.listdir(b'.')))"
    )
    assert end.ok, end.output
    assert b"0o100755 True 1000000000\n" in end.output
    assert b"pkg/__init__.py /etc" in end.output
    assert b"b'caf\\xe9.txt'" in end.output
    assert b"b'with space\\nand newline'" in end.output


def test_run_once_starts_from_the_world_and_not_from_the_run_before(bench: Bench) -> None:
    dirty = (
        "echo x > pkg/__init__.py; for d in . /opt/swequarry /tmp /dev/shm $HOME; do echo 1 > $d/left; done"
    )
    assert bench.sh(dirty).ok
    clean = bench.sh("cat pkg/__init__.py; ls -A /tmp /dev/shm $HOME; ls left /opt/swequarry/left")
    assert clean.output.startswith(b"VALUE = 1\n")
    assert b"left\n/tmp" not in clean.output
    assert clean.output.count(b"No such file") == 2


def test_runs_of_one_sandbox_share_the_roots_and_nothing_else(bench: Bench) -> None:
    with bench.backend.create(bench.world) as sandbox:
        script = "echo 1 >in; echo 1 >/opt/swequarry/in; echo 1 >/tmp/in; echo 1 >$HOME/in; sleep 300 &"
        assert sandbox.run(Command(argv=("/bin/sh", "-c", script)), QUICK).ok
        script = "ls in /opt/swequarry/in; ls -A /tmp $HOME; ls -d /proc/[0-9]* | wc -l"
        end = sandbox.run(Command(argv=("/bin/sh", "-c", script)), QUICK)
    assert end.output.split() == [
        b"/opt/swequarry/in",
        b"in",
        b"/home/sandbox:",
        b"/tmp:",
        end.output.split()[-1],
    ]
    assert int(end.output.split()[-1]) <= 5


def test_put_is_seen_and_get_returns_the_same_bytes(bench: Bench) -> None:
    data = bytes(range(256)) * 1000
    with bench.backend.create(bench.world) as sandbox:
        sandbox.put(TreeDelta(files={b"new/deep/bin": FileContent(data=data)}))
        sandbox.put(TreeDelta(files={b"note": text("n")}), root="/opt/swequarry")
        assert sandbox.get("/testbed/new/deep/bin") == data
        assert sandbox.get("/opt/swequarry/note") == b"n"
        assert sandbox.run(Command(argv=("sha256sum", "new/deep/bin")), QUICK).ok
        for nothing in ("/testbed/nothing", "/testbed/pkg", "/testbed/pkg/__init__.py/x"):
            with pytest.raises(FileNotFoundError):
                sandbox.get(nothing)
        with pytest.raises(SandboxError):
            sandbox.get("/etc/passwd")


def test_delta_leaves_no_empty_folder_behind_that_would_import_as_a_namespace(bench: Bench) -> None:
    delta = TreeDelta(removed=(b"pkg/sub/only.py",))
    end = bench.py("import pkg.sub", delta=delta)
    assert end.exit_code == 1
    assert b"No module named 'pkg.sub'" in end.output


@pytest.mark.parametrize(
    "delta, script, expected",
    [
        (TreeDelta(files={b"run.sh": text("#!/bin/sh\necho ran\n", 0o100755)}), "./run.sh", b"ran\n"),
        (
            TreeDelta(files={b"l": text("pkg/__init__.py", 0o120000)}),
            "readlink l; cat l",
            b"pkg/__init__.py\nVALUE = 1\n",
        ),
        (TreeDelta(files={b"pkg": text("file")}, removed=(b"pkg",)), "cat pkg", b"file"),
        (TreeDelta(files={b"tool.sh/x": text("f")}, removed=(b"tool.sh",)), "cat tool.sh/x", b"f"),
        (
            TreeDelta(files={b"outside/x": text("f")}, removed=(b"outside",)),
            "cat outside/x; ls outside",
            b"fx\n",
        ),
        (TreeDelta(files={b"pkg/new.py": text("n")}, removed=(b"pkg",)), "ls pkg", b"new.py\n"),
        (TreeDelta(files={b"link": text("own")}), "cat pkg/__init__.py link", b"VALUE = 1\nown"),
        (TreeDelta(removed=(b"never/there", b"tool.sh/below")), "cat tool.sh | wc -l", b"2\n"),
        (TreeDelta(files={b"a\nb c\xff": text("odd")}), "cat a*b*", b"odd"),
        (TreeDelta(files={b"win.py": text("a\r\nB\r\n")}), "cat win.py", b"a\r\nB\r\n"),
    ],
)
def test_delta_gives_exactly_the_tree_that_git_would(bench: Bench, delta, script, expected) -> None:
    end = bench.sh(script, delta=delta)
    assert (end.exit_code, end.output) == (0, expected)


def test_delta_that_meets_a_full_folder_is_refused_and_not_half_applied_as_success(bench: Bench) -> None:
    with pytest.raises(SandboxError, match="folder"):
        bench.sh("true", delta=TreeDelta(files={b"pkg": text("file")}))


def test_commit_keeps_what_was_written_and_its_interpreter_and_the_sandbox_goes_on(bench: Bench) -> None:
    with bench.backend.create(bench.world) as sandbox:
        sandbox.run(Command(argv=("/bin/sh", "-c", "rm pkg/__init__.py; echo 1 >one; echo t >/tmp/t")), QUICK)
        first = sandbox.commit("first")
        sandbox.run(Command(argv=("/bin/sh", "-c", "echo 2 >two")), QUICK)
        second = sandbox.commit("second")
    look = Command(
        argv=("/bin/sh", "-c", "ls one two pkg/__init__.py /tmp/t 2>/dev/null; python -c 'print(3)'")
    )
    seen = [bench.backend.run_once(world, TreeDelta(), look, QUICK).output for world in (first, second)]
    assert seen == [b"one\n3\n", b"one\ntwo\n3\n"]
    for key in ("first", "second"):
        bench.backend.remove_world(key)
        assert not bench.backend.has_world(key)
    assert bench.sh("cat pkg/__init__.py").ok, "the world below lost a layer"


def test_same_key_twice_keeps_the_first_world_whole(bench: Bench, tmp_path: Path) -> None:
    for word in ("one", "two"):
        (tmp_path / word).mkdir()
        (tmp_path / word / "word").write_text(word)
    worlds = []
    threads = [
        threading.Thread(
            target=lambda w=word: worlds.append(bench.backend.import_tree(tmp_path / w, "twice"))
        )
        for word in ("one", "two")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    say = Command(argv=("cat", "word"))
    said = {bench.backend.run_once(world, TreeDelta(), say, QUICK).output for world in worlds}
    assert len(worlds) == 2
    assert len(said) == 1
    bench.backend.remove_world("twice")


def test_world_that_is_not_stored_is_broken_machinery_and_not_a_result(bench: Bench) -> None:
    for world in (World(backend=bench.backend.name, key="never"), World(backend="other", key="with python")):
        with pytest.raises(SandboxError):
            bench.backend.run_once(world, TreeDelta(), Command(argv=("true",)), QUICK)


# --- how a command ends and what it says -----------------------------------------------------------------


@pytest.mark.parametrize(
    "script, code, ended_by",
    [
        ("exit 0", 0, EndedBy.EXITED),
        ("exit 3", 3, EndedBy.EXITED),
        ("kill -SEGV $$", 139, EndedBy.SIGNALLED),
        ("kill -9 $$", 137, EndedBy.SIGNALLED),
    ],
)
@pytest.mark.any_user
def test_exit_137_alone_is_no_memory_event(bench: Bench, script, code, ended_by) -> None:
    end = bench.sh(script)
    assert (end.exit_code, end.ended_by, end.memory_events) == (code, ended_by, 0)


@pytest.mark.any_user
def test_command_that_is_not_there_ends_with_127(bench: Bench) -> None:
    assert bench.run("no-such-command").exit_code == 127
    assert bench.run("/testbed/pkg").exit_code == 126


def test_missing_start_folder_is_broken_machinery(bench: Bench) -> None:
    with pytest.raises(SandboxError):
        bench.run("true", cwd="/testbed/nowhere")


@pytest.mark.any_user
def test_report_is_kept_apart_from_output_and_nothing_is_re_encoded(bench: Bench) -> None:
    code = (
        "import os, sys, time\n"
        "os.write(3, b'r1'); os.write(1, b'x' * 4095 + b'\\xc3'); time.sleep(0.1); os.write(1, b'\\xa9')\n"
        "os.write(2, b'\\xfe'); os.write(1, '☕'.encode() * 100000); os.write(3, b'\\x00r2\\n')"
    )
    end = bench.py(code)
    assert end.ok
    assert end.output == b"x" * 4095 + "é".encode() + b"\xfe" + "☕".encode() * 100000
    assert end.report == b"r1\x00r2\n"


def test_report_channel_is_append_only(bench: Bench) -> None:
    code = (
        "import os\nos.write(3, b'first')\n"
        "for trick in (lambda: os.ftruncate(3, 0), lambda: os.lseek(3, 0, 0), lambda: os.pwrite(3, b'X', 0)):\n"
        "    try: trick()\n    except OSError: os.write(3, b'.')\n"
    )
    assert bench.py(code).report == b"first..."


@pytest.mark.any_user
def test_standard_input_is_given_whole_and_then_ends(bench: Bench) -> None:
    data = bytes(range(256)) * 4096
    code = "import sys, hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    import hashlib

    assert bench.py(code, stdin=data).output.decode().strip() == hashlib.sha256(data).hexdigest()
    assert bench.sh("cat; echo end").output == b"end\n"
    assert bench.sh("exec 0<&-; sleep 0.2; echo unread", stdin=data * 4).output == b"unread\n"


# --- what a command finds --------------------------------------------------------------------------------


def test_command_is_an_ordinary_user_with_names_zone_and_locale(bench: Bench) -> None:  # B074
    code = """
import getpass, locale, os, pathlib, socket, sys, time
assert (os.getuid(), os.getgid(), getpass.getuser()) == (1000, 1000, 'sandbox'), os.getuid()
assert pathlib.Path.home() == pathlib.Path('/home/sandbox') and os.access(pathlib.Path.home(), os.W_OK)
p = pathlib.Path('locked'); p.write_text('x'); p.chmod(0)
try: p.read_text(); raise SystemExit('read a file of mode 000')
except PermissionError: pass
assert open('data_é.txt').read() == 'é\\n' and locale.getpreferredencoding(False).upper() == 'UTF-8'
assert socket.gethostname() == 'sandbox' and socket.gethostbyname(socket.gethostname()) == '127.0.0.1'
assert time.timezone == 0 and time.tzname[0] == 'UTC', time.tzname
os.environ['TZ'] = 'Europe/London'; time.tzset(); assert time.tzname == ('GMT', 'BST'), time.tzname
assert os.environ['PATH'].startswith('/opt/swequarry/env/bin:')
assert os.getcwd() == '/testbed' and sys.prefix == '/opt/swequarry/env'
"""
    end = bench.py(code)
    assert end.ok, end.output.decode()


@pytest.mark.any_user
def test_own_variables_win_and_nothing_else_is_there(bench: Bench) -> None:
    end = bench.run("env", variables={"LANG": "de_DE.UTF-8", "MINE": "a=b c\n"})
    names = {line.split(b"=")[0] for line in end.output.splitlines() if b"=" in line}
    assert b"MINE=a=b c\n" in end.output
    assert b"LANG=de_DE.UTF-8" in end.output
    assert names <= {
        *(b"HOME", b"LANG", b"LC_ALL", b"LOGNAME", b"MINE", b"PATH", b"PWD", b"SHELL", b"USER"),
        *(b"PYTHONDONTWRITEBYTECODE", b"_", b"SHLVL", b"OLDPWD"),
    }


def test_git_works_on_the_tree_and_finds_no_dubious_owner(bench: Bench) -> None:  # B032
    script = (
        "git init -q . && git add tool.sh && git -c user.name=a -c user.email=a@b commit -qm x && "
        "git status --porcelain --untracked-files=no && git log --oneline | wc -l"
    )
    end = bench.sh(script)
    assert (end.exit_code, end.output) == (0, b"1\n")


@pytest.mark.any_user
def test_c_compiler_builds_an_extension_where_the_base_has_one(bench: Bench) -> None:
    if not bench.sh("command -v cc").ok:
        pytest.skip("no C compiler in this base")
    source = '#include <stdio.h>\nint main(void) { puts("built"); return 0; }\n'
    end = bench.sh("cc -o /tmp/p p.c && /tmp/p", delta=TreeDelta(files={b"p.c": text(source)}))
    assert end.output == b"built\n"


@pytest.mark.any_user
def test_network_is_closed_but_loopback(bench: Bench) -> None:
    code = """
import socket, time
for family, host in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
    server = socket.socket(family); server.bind((host, 0)); server.listen()
    socket.create_connection(server.getsockname()[:2], 2).close()
began = time.monotonic()
for name in ('example.com', 'index.example.org', 'host.docker.internal'):
    try: socket.getaddrinfo(name, 80); raise SystemExit('resolved ' + name)
    except socket.gaierror: pass
for address in (('1.1.1.1', 53), ('8.8.8.8', 443), ('169.254.169.254', 80), ('172.17.0.1', 22), ('10.0.0.1', 80)):
    try: socket.create_connection(address, 2); raise SystemExit('connected ' + str(address))
    except OSError: pass
assert time.monotonic() - began < 2, 'slow to fail'
assert [n for _, n in socket.if_nameindex() if n == 'lo'] == ['lo']
"""
    end = bench.py(code)
    assert end.ok, end.output.decode()


def test_abstract_sockets_of_the_host_are_out_of_reach(bench: Bench, marker: str) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + marker)
        server.listen()
        end = bench.py(f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{marker}')")
    assert end.exit_code == 1
    assert b"ConnectionRefusedError" in end.output


def test_index_socket_and_binds_are_the_only_ways_out(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("a tool")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "index"))
        server.listen()
        served = threading.Thread(target=lambda: server.accept()[0].sendall(b"hello"), daemon=True)
        served.start()
        code = (
            f"import socket, os; s = socket.socket(socket.AF_UNIX); s.connect({INDEX_SOCKET!r})\n"
            "print(s.recv(5), open('/opt/tool').read())\n"
            "try: open('/opt/tool', 'a')\nexcept OSError: print('read-only')\n"
        )
        binds = (Bind(source=tmp_path / "tool", target="/opt/tool"),)
        with bench.backend.create(bench.world, index_socket=tmp_path / "index", binds=binds) as sandbox:
            end = sandbox.run(Command(argv=("python", "-c", code)), QUICK)
    assert end.output == b"b'hello' a tool\nread-only\n"
    assert not bench.sh(f"test -e {INDEX_SOCKET}").ok
    with pytest.raises(SandboxError):
        bench.backend.create(bench.world, binds=(Bind(source=tmp_path / "gone", target="/opt/x"),))


@pytest.mark.any_user
def test_two_sandboxes_can_use_the_same_port(bench: Bench) -> None:
    code = "import socket, time; s = socket.socket(); s.bind(('127.0.0.1', 8000)); s.listen(); time.sleep(1)"
    ends = []
    threads = [threading.Thread(target=lambda: ends.append(bench.py(code))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [end.exit_code for end in ends] == [0, 0]


def test_interpreters_are_themselves_and_bring_no_packages_of_the_host(bench: Bench) -> None:
    with bench.backend.create(bench.bare, interpreter=bench.python) as sandbox:
        code = (
            "import ssl, sys, ctypes, importlib.util; print(sys.version.split()[0], sys.prefix)\n"
            "print([n for n in ('pip', 'numpy', 'pytest', 'flask') if importlib.util.find_spec(n)])"
        )
        end = sandbox.run(Command(argv=(bench.python.path, "-c", code)), QUICK)
    assert end.output.decode() == f"{bench.python.version} {bench.python.prefix}\n[]\n"


def test_probe_is_silent_and_weaknesses_are_said(bench: Bench) -> None:
    assert bench.backend.probe() == ()
    assert bench.backend.weaknesses
    assert Limits().wall_s > 0
