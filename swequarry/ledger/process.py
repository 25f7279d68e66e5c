"""Who a process is, so that a dead one is never taken for a living one that got its number.

A pid alone lies: numbers are reused, and two containers count their own. A mark is the host's name, the
pid, and the birth: boot id, pid namespace and start time in clock ticks (proc(5), /proc/PID/stat field 22).
"""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_DEAD_STATES = ("Z", "X", "x")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessMark:
    """Identity of a process that holds across pid reuse, reboots and containers."""

    host: str
    pid: int
    birth: str


def _machine() -> str:
    boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    # readlink of the namespace gives "pid:[4026531836]": equal for processes that see the same numbers.
    namespace = str((_PROC / "self/ns/pid").readlink())
    return f"{boot}/{namespace}"


def _state_and_start(pid: int) -> tuple[str, str] | None:
    try:
        data = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The name is in brackets and may hold blanks and brackets; the fields after the last one are safe.
    fields = data.rpartition(b")")[2].split()
    return fields[0].decode("ascii"), fields[19].decode("ascii")


def mark_of(pid: int) -> ProcessMark | None:
    """Return the mark of a process of this machine; None if it isn't alive or can't be seen."""
    seen = _state_and_start(pid)
    if seen is None or seen[0] in _DEAD_STATES:
        return None
    return ProcessMark(host=socket.gethostname(), pid=pid, birth=f"{_machine()}/{seen[1]}")


def own_mark() -> ProcessMark:
    """Return the mark of the calling process."""
    mark = mark_of(os.getpid())
    if mark is None:
        raise RuntimeError("/proc/self isn't readable; SWEQuarry needs a mounted /proc")
    return mark


def is_gone(mark: ProcessMark) -> bool:
    """Whether a process is certainly dead; False for one that may live, as any on another machine may."""
    machine, _, start = mark.birth.rpartition("/")
    if mark.host != socket.gethostname() or machine != _machine():
        return False
    try:
        os.kill(mark.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    seen = _state_and_start(mark.pid)
    # Without a visible /proc entry (hidepid) the living process may be the one meant.
    return seen is not None and (seen[0] in _DEAD_STATES or seen[1] != start)
