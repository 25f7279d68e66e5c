"""The conformance suite, last part: the backends don't only keep promises, they give the same result."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from conftest import QUICK, Bench

from swequarry.delta import FileContent, TreeDelta
from swequarry.sandbox.contract import Command, EndedBy, ExecResult, Limits

MB = 1 << 20
HOG = "x = []\nwhile True: x.append(bytearray(8 << 20))"
EDIT = TreeDelta(
    files={b"pkg/__init__.py": FileContent(data=b"VALUE = 2\n"), b"caf\xe9.txt": FileContent(data=b"\xff\n")},
    removed=(b"pkg/sub/only.py", b"link"),
)
TREE = (
    "import os, stat\n"
    "for path in sorted(os.path.join(h, n) for h, folders, files in os.walk(b'.') for n in folders + files):\n"
    "        s = os.lstat(path)\n"
    "        print(path, oct(s.st_mode), s.st_uid, stat.S_ISREG(s.st_mode) and open(path, 'rb').read())\n"
)
SURROUNDINGS = """
import grp, locale, os, pwd, resource, signal, socket, sys, tempfile, time
print(sorted(os.environ.items()), os.getcwd(), os.getuid(), os.getgid(), oct(os.umask(0)))
print(pwd.getpwuid(os.getuid()), grp.getgrgid(os.getgid()), tempfile.gettempdir(), os.path.expanduser('~'))
print(socket.gethostname(), socket.getfqdn(), socket.gethostbyname('sandbox'), time.tzname, locale.getlocale())
print([resource.getrlimit(r) for r in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE)])
print([s for s in range(1, 32) if signal.getsignal(s) is signal.SIG_IGN], os.isatty(0), os.isatty(1))
print([oct(os.stat(p).st_mode) for p in ('/tmp', '/dev/shm', os.path.expanduser('~'), '/testbed', '/opt/swequarry')])
print(sys.prefix, sys.flags.dont_write_bytecode, sys.getfilesystemencoding(), os.getpgid(0) == os.getsid(0))
"""
SMALL = replace(QUICK, memory_bytes=256 * MB)
CASES: dict[str, tuple[TreeDelta, tuple[str, ...], Limits]] = {
    "tree": (TreeDelta(), ("python", "-c", TREE), QUICK),
    "edited tree": (EDIT, ("python", "-c", TREE), QUICK),
    "surroundings": (TreeDelta(), ("python", "-c", SURROUNDINGS), QUICK),
    "exit code": (TreeDelta(), ("/bin/sh", "-c", "echo out; echo err >&2; echo rep >&3; exit 5"), QUICK),
    "signal": (TreeDelta(), ("/bin/sh", "-c", "kill -SEGV $$"), QUICK),
    "kill": (TreeDelta(), ("/bin/sh", "-c", "kill -9 $$"), QUICK),
    "broken pipe": (TreeDelta(), ("/bin/sh", "-c", "yes | head -n 1"), QUICK),
    "not there": (TreeDelta(), ("/bin/sh", "-c", "no-such-command 2>/dev/null"), QUICK),
    "timeout": (TreeDelta(), ("/bin/sh", "-c", "echo begun; exec sleep 60"), replace(QUICK, wall_s=4)),
    "memory": (TreeDelta(), ("python", "-c", HOG), SMALL),
    "memory of a child": (
        TreeDelta(),
        (
            "python",
            "-c",
            f"import subprocess, sys; print(subprocess.run([sys.executable, '-c', {HOG!r}]).returncode)",
        ),
        SMALL,
    ),
    "endless output": (TreeDelta(), ("yes",), replace(QUICK, output_bytes=MB)),
    "large file": (
        TreeDelta(),
        ("/bin/sh", "-c", "head -c 9000000 /dev/zero >big; echo $?; wc -c <big"),
        replace(QUICK, file_bytes=4 * MB),
    ),
    "open files": (TreeDelta(), ("/bin/sh", "-c", "ulimit -n; ulimit -c"), replace(QUICK, open_files=99)),
}


def essence(end: ExecResult) -> tuple[int | None, EndedBy, bytes, bytes, bool]:
    return end.exit_code, end.ended_by, end.output, end.report, end.memory_events > 0


@pytest.mark.docker
@pytest.mark.parametrize("case", CASES)
def test_both_backends_give_the_same_result(bench_of: Callable[[str], Bench], case: str) -> None:
    delta, argv, limits = CASES[case]
    one, other = (
        bench.backend.run_once(bench.world, delta, Command(argv=argv), limits)
        for bench in (bench_of("bubblewrap"), bench_of("docker"))
    )
    assert essence(one) == essence(other)
