"""Who runs a sandbox on the host: an ordinary user, always.

bubblewrap started by root would look like uid 1000 inside while the kernel still sees uid 0 outside: files
of /proc and limits that go by the global uid would be open. So root first becomes an ordinary uid, which
belongs to nobody else, and whatever that uid must read has to be reachable for it.
"""

import os
import platform
import pwd
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_UNUSED_FROM, _UNUSED_TO = 60_000, 60_999
"""A range that Debian and systemd hand out to nobody, below 65536 so that it exists inside containers."""


@cache
def linux_release() -> tuple[int, ...]:
    """Return major and minor number of the running kernel."""
    return tuple(map(int, re.findall(r"\d+", platform.release())[:2]))


@dataclass(frozen=True, slots=True, kw_only=True)
class HostIdentity:
    """The uid and gid that own a store and run its sandboxes; `drop` when we are root and must become it."""

    uid: int
    gid: int
    drop: bool


def _is_used(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def unused_uid() -> int:
    """Return the lowest uid of the range that no account has."""
    return next(uid for uid in range(_UNUSED_FROM, _UNUSED_TO + 1) if not _is_used(uid))


def _allows(status: os.stat_result, identity: HostIdentity, bits: int) -> bool:
    if status.st_uid == identity.uid:
        return bool(status.st_mode & (bits << 6) == bits << 6)
    if status.st_gid == identity.gid:
        return bool(status.st_mode & (bits << 3) == bits << 3)
    return bool(status.st_mode & bits == bits)


def _steps(path: Path) -> Iterator[Path]:
    yield from reversed(path.parents)
    yield path


def is_reachable(path: Path, identity: HostIdentity) -> bool:
    """Whether the identity may walk to a path and read it (access lists aren't looked at)."""
    for step in _steps(path.resolve()):
        try:
            status = step.stat()
        except OSError:
            return False
        need = stat.S_IXOTH if step != path.resolve() else stat.S_IROTH
        if stat.S_ISDIR(status.st_mode) and step == path.resolve():
            need |= stat.S_IXOTH
        if not _allows(status, identity, need):
            return False
    return True
