"""Finds sandboxes whose starter died while bubblewrap was setting them up.

Bubblewrap's monitor may be killed with our process between its clone and its word to the first process of the
new namespace. That process then waits for ever on an eventfd: it runs no foreign code, but nobody ends it. It
is told apart from a living sandbox by its parent, which no longer is a bubblewrap.
"""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")


def _status(pid: int) -> dict[str, list[str]]:
    with contextlib.suppress(OSError):
        lines = (_PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace").splitlines()
        return {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}
    return {}


def _runs(pid: int, program: Path) -> bool:
    try:
        return (_PROC / str(pid) / "exe").samefile(program)
    except OSError:
        return False


def find_orphans(uid: int, program: Path) -> Iterator[int]:
    """Yield the first processes of namespaces that our bubblewrap began as this uid and never finished."""
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        status = _status(int(entry.name))
        if status.get("Name") != ["bwrap"] or status.get("Uid", [""])[0] != str(uid):
            continue
        inner = status.get("NSpid", [])
        is_first = len(inner) > 1 and inner[-1] == "1"
        alone = is_first and _status(int(status["PPid"][0])).get("Name") != ["bwrap"]
        if alone and _runs(int(entry.name), program):
            yield int(entry.name)


def end_orphans(uid: int, program: Path) -> int:
    """Kill what `find_orphans` finds; return how many."""
    ended = 0
    for pid in find_orphans(uid, program):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
            ended += 1
    return ended
