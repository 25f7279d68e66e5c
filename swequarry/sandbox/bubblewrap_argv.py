"""The argument list of a bubblewrap sandbox: which part of the host is shown, and what is built around it.

Order matters: later mounts cover earlier ones, and the two read-only remounts come last.
"""

import os
import resource
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from swequarry.sandbox.contract import Bind, Interpreter, Limits
from swequarry.sandbox.settled import ACCOUNT_FILES, BASE_ENVIRONMENT, HOME, NAME_FILES

_SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_SHARED_ETC = (
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "mime.types",
    "protocols",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
)
_PACKAGE_FOLDERS = ("lib/python3*/dist-packages", "local/lib/python3*/*-packages")
"""Below /usr: packages of the host's own Python, which no environment may see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """One of the two persistent roots: layers from bottom to top, and where its writes go."""

    target: str
    layers: tuple[Path, ...]
    upper: Path
    work: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that one run's sandbox is made of; all paths as the sandbox's uid can reach them.

    `scratch` is the folder that holds `tmp`, `home` and `shm` of the run; `empty` an empty folder that
    covers what must not be seen; `unreachable` are (source, mount point) pairs that root mounts first.
    """

    roots: tuple[Root, Root]
    scratch: Path
    etc: Path
    empty: Path
    interpreters: tuple[tuple[Path, Interpreter], ...] = ()
    binds: tuple[Bind, ...] = ()
    unreachable: tuple[tuple[Path, Path], ...] = ()


def _system() -> Iterator[str]:
    for folder in ("/etc", "/home", "/opt", "/run", "/var"):
        yield from ("--perms", "0755", "--dir", folder)
    yield from ("--ro-bind", "/usr", "/usr")
    for name in _SYSTEM_FOLDERS:
        path = Path("/") / name
        if path.is_symlink():
            yield from ("--symlink", os.fspath(path.readlink()), os.fspath(path))
        elif path.is_dir():
            yield from ("--ro-bind", os.fspath(path), os.fspath(path))


def _etc(folder: Path) -> Iterator[str]:
    for name in _SHARED_ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for name in (*ACCOUNT_FILES, *NAME_FILES):
        yield from ("--ro-bind", f"{folder}/{name}", f"/etc/{name}")
    yield from ("--symlink", "/usr/share/zoneinfo/UTC", "/etc/localtime")


def _scratch(folder: Path) -> Iterator[str]:
    for name, target in (("tmp", "/tmp"), ("shm", "/dev/shm")):  # noqa: S108 - paths inside
        yield from ("--bind", f"{folder}/{name}", target, "--chmod", "1777", target)
    yield from ("--bind", f"{folder}/home", HOME, "--chmod", "0755", HOME)
    yield from ("--symlink", "../tmp", "/var/tmp")  # noqa: S108


def _interpreter(source: Path, python: Interpreter, empty: Path) -> Iterator[str]:
    """Show an interpreter without the packages that somebody has installed beside it on the host."""
    if not python.prefix.startswith("/usr"):
        yield from ("--ro-bind", os.fspath(source), python.prefix)
    minor = ".".join(python.version.split(".")[:2])
    for folder in ("site-packages", "dist-packages"):
        packages = f"lib/python{minor}/{folder}"
        if Path(python.prefix, packages).is_dir():
            yield from ("--ro-bind", os.fspath(empty), f"{python.prefix}/{packages}")


def _root(root: Root) -> Iterator[str]:
    for layer in root.layers:
        yield from ("--overlay-src", os.fspath(layer))
    yield from ("--overlay", os.fspath(root.upper), os.fspath(root.work), root.target)
    yield from ("--chmod", "0755", root.target)


def _closed_first_process() -> Iterator[str]:
    """Cover what of bubblewrap's own process would let the command, which has its user, write into it.

    The folders get an empty page of memory: a bind costs bubblewrap a reading of all mounts.
    """
    for folder in ("fd", "task"):
        yield from ("--perms", "0555", "--size", "4096", "--tmpfs", f"/proc/1/{folder}")
    yield from ("--ro-bind", "/dev/null", "/proc/1/mem")


def _mounts(plan: Plan) -> Iterator[str]:
    yield from _system()
    for pattern in _PACKAGE_FOLDERS:
        for packages in Path("/usr").glob(pattern):
            yield from ("--ro-bind", os.fspath(plan.empty), os.fspath(packages))
    yield from _etc(plan.etc)
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from _closed_first_process()
    yield from _scratch(plan.scratch)
    for source, python in plan.interpreters:
        yield from _interpreter(source, python, plan.empty)
    for root in plan.roots:
        yield from _root(root)
    for bind in plan.binds:
        yield from ("--ro-bind", os.fspath(bind.source), bind.target)
    yield from ("--remount-ro", "/dev", "--remount-ro", "/")


def sandbox_options(plan: Plan, variables: Mapping[str, str], cwd: str) -> bytes:
    """Return bubblewrap's options as `--args` reads them: each ended by a NUL."""
    options = ["--unshare-user", "--uid", "1000", "--gid", "1000", "--disable-userns"]
    options += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    options += [
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--hostname",
        "sandbox",
        "--clearenv",
    ]
    for name, value in {**BASE_ENVIRONMENT, **variables}.items():
        options += ("--setenv", name, value)
    options += _mounts(plan)
    options += ("--chdir", cwd)
    return b"".join(os.fsencode(option) + b"\0" for option in options)


_GATE = """
if [ -n "$1" ]; then ulimit -u "$1" 2>/dev/null || ulimit -p "$1" || exit 125; fi
ulimit -n "$2" && ulimit -f "$3" && ulimit -c 0 && shift 3 || exit 125
echo >&3
read -r go || exit 125
unset go PWD OLDPWD SHLVL
exec "$@"
"""
"""Sets the limits that must be set inside, says that the sandbox stands, waits for the supervisor's word.

Shells name the limit of processes differently. The command gets no variable that only the shell has set.
"""
_BLOCK = 512
"""The unit of `ulimit -f` (POSIX)."""


def limited(argv: Sequence[str], limits: Limits, *, own_count: bool) -> tuple[str, ...]:
    """Return a command behind the gate and under the limits of each process.

    `own_count` tells whether the kernel counts the processes of each user namespace apart (Linux 5.14);
    where it doesn't, all that the user runs would count, and the watchdog alone limits them.
    """
    processes = str(_allowed(resource.RLIMIT_NPROC, limits.processes)) if own_count else ""
    files = str(_allowed(resource.RLIMIT_NOFILE, limits.open_files))
    blocks = str(_allowed(resource.RLIMIT_FSIZE, limits.file_bytes) // _BLOCK)
    return ("/bin/sh", "-c", _GATE, "sh", processes, files, blocks, *argv)


def _allowed(kind: int, wanted: int) -> int:
    """Return a limit that may be set here: nobody can raise the hard limit of this process."""
    hard = resource.getrlimit(kind)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


_SCRATCH_SCRIPT = """
exec 3>&2 2>&1
echo 1000 >/proc/self/oom_score_adj || :
umask 0
mount -t tmpfs -o "$2" scratch "$1"
cd "$1"
mkdir tmp home shm testbed env testbed.work env.work
umask 022
unset PWD OLDPWD
shift 2
exec "$@"
"""
"""Runs with a mount namespace of its own: one bounded tmpfs for everything that isn't to stay.

File descriptor 2 arrives as the report pipe and becomes 3, where it stays.
"""


def scratch_prefix(unshare: str, mount_point: Path, size_bytes: int) -> tuple[str, ...]:
    """Return the arguments before bubblewrap's own that give a run its bounded scratch folder."""
    options = f"size={size_bytes},nr_inodes={max(100_000, size_bytes // 4096)},mode=755"
    return (
        *(unshare, "-U", "-m", "-r", "--propagation", "private"),
        *("/bin/sh", "-ec", _SCRATCH_SCRIPT, "sh", os.fspath(mount_point), options),
    )


_REACH_SCRIPT = """
while [ "$1" != -- ]; do mount --rbind "$1" "$2"; shift 2; done
shift
exec setpriv "$@"
"""


def reach_prefix(
    unshare: str, mounts: Sequence[tuple[Path, Path]], owner: tuple[int, int]
) -> tuple[str, ...]:
    """Return arguments with which root shows what its sandboxes' uid couldn't walk to, then becomes that uid.

    `mounts` are (source, existing mount point), done in this order in a mount namespace of their own.
    """
    return (
        *(unshare, "-m", "--propagation", "private", "/bin/sh", "-ec", _REACH_SCRIPT, "sh"),
        *(os.fspath(path) for pair in mounts for path in pair),
        *("--", "--reuid", str(owner[0]), "--regid", str(owner[1]), "--clear-groups", "--"),
    )
