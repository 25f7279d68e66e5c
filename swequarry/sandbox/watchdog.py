"""Looks after the memory and the number of processes of one sandbox from outside, without a cgroup.

An ordinary user is given no cgroup, so the sums are taken from /proc. Too much memory is answered as the
kernel answers it for a cgroup: the largest process is killed and counted, the others live on. The next
look comes the sooner the less room is left, so that nothing can outgrow the limit by much.

Not seen: pages of tmpfs and memfd files that no process maps, kernel buffers.
"""

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from swequarry.sandbox.contract import Limits

_PAGE = os.sysconf("SC_PAGE_SIZE")
_FASTEST_GROWTH = 8 * 1024**3
"""Bytes per second that two cores of today can dirty; sets the pace of the looks."""
_SHORTEST_S, _LONGEST_S = 0.01, 0.2
_EXHAUSTED_S = 5.0
"""After this long with no free process the run is a fork bomb and is ended."""
_FAR_TOO_MANY = 1.5
"""Where old kernels can't refuse forks for a sandbox, more than this share of the limit ends the run."""
_SPARE_PROCESSES = 3
"""The reaper and prlimit's own slot count too, and a fork that fails leaves no process to be seen."""
_STATE, _THREADS, _BORN, _RESIDENT = 0, 17, 19, 21
_MAIN = 2
"""The command's pid inside: the reaper is 1 and starts nothing else."""


@dataclass(frozen=True, slots=True)
class ProcessSample:
    """One process at one moment: pid outside and time of birth, resident bytes, threads."""

    pid: int
    born: bytes
    resident: int
    threads: int


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with contextlib.suppress(OSError):
                text = Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii")
                found += map(int, text.split())
    return found


def _status_fields(path: str) -> list[bytes]:
    """Return the fields of a stat file from the state on (proc(5)), none when the process is gone."""
    try:
        return Path(path).read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []


def _living_fields(pid: int) -> list[bytes]:
    """Return the fields of a process, or of another thread where only its first one has ended.

    A process whose first thread is gone looks dead and empty by its own entry, and yet runs.
    """
    fields = _status_fields(f"/proc/{pid}/stat")
    if fields and fields[_STATE] == b"Z":
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
                fields = _status_fields(f"/proc/{pid}/task/{task}/stat")
                if fields and fields[_STATE] != b"Z":
                    return fields
        return []
    return fields


def _sample(pid: int) -> ProcessSample | None:
    """Return a process that is alive; None for one that is gone or waits to be buried."""
    fields = _living_fields(pid)
    if not fields:
        return None
    return ProcessSample(pid, fields[_BORN], int(fields[_RESIDENT]) * _PAGE, int(fields[_THREADS]))


def descendants(pid: int) -> list[ProcessSample]:
    """Return a process and all below it; orphans of a pid namespace stay below its first process."""
    samples, waiting = [], [pid]
    while waiting:
        current = waiting.pop()
        sample = _sample(current)
        if sample is not None:
            samples.append(sample)
            waiting += _children(current)
    return samples


def can_watch() -> bool:
    """Whether the kernel tells the children of a process (CONFIG_PROC_CHILDREN)."""
    return Path("/proc/thread-self/children").exists()


def _proportional_bytes(sample: ProcessSample) -> int:
    """Return the resident bytes of a process with shared pages divided among their users."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{sample.pid}/smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    now = _sample(sample.pid)  # it has ended, or its first thread has
    return now.resident if now else 0


def _inner_pid(pid: int) -> int:
    """Return the pid of a process in its own pid namespace, 0 when it is gone."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_bytes().splitlines():
            if line.startswith(b"NSpid:"):
                return int(line.split()[-1])
    return 0


class Watchdog:
    """Watches the processes below one pid; call `look` when `due` says so."""

    def __init__(self, pid: int, limits: Limits) -> None:
        self._pid = pid
        self._limits = limits
        self._exhausted_since: float | None = None
        self.due = time.monotonic()
        self.memory_events = 0
        self.process_events = 0
        self.main_killed = False
        self._killed: set[tuple[int, bytes]] = set()
        self.is_fork_bomb = False

    def look(self) -> None:
        """Take one sample, kill what must be killed, and set when the next look is due."""
        samples = descendants(self._pid)
        now = time.monotonic()
        used = sum(sample.resident for sample in samples)
        if used > self._limits.memory_bytes:
            self._relieve(samples)
            used = self._limits.memory_bytes
        self._count(sum(sample.threads for sample in samples), now)
        room = max(0, self._limits.memory_bytes - used)
        self.due = now + min(_LONGEST_S, max(_SHORTEST_S, room / _FASTEST_GROWTH))

    def _relieve(self, samples: list[ProcessSample]) -> None:
        """Kill the largest process if the sum is too large with shared pages counted once.

        Processes that fork or end between two looks at them are counted twice, so the sum is taken again.
        """
        if any((sample.pid, sample.born) in self._killed for sample in samples):
            return  # it is still giving its memory back
        for _ in range(2):
            sizes = {sample: _proportional_bytes(sample) for sample in samples}
            if sum(sizes.values()) <= self._limits.memory_bytes:
                return
        largest = max(sizes, key=lambda sample: sizes[sample])
        is_main = _inner_pid(largest.pid) == _MAIN
        with contextlib.suppress(ProcessLookupError):
            os.kill(largest.pid, signal.SIGKILL)
            self._killed.add((largest.pid, largest.born))
            self.memory_events += 1
            self.main_killed = self.main_killed or is_main

    def _count(self, tasks: int, now: float) -> None:
        if tasks + _SPARE_PROCESSES < self._limits.processes:
            self._exhausted_since = None
            return
        if self._exhausted_since is None:
            self._exhausted_since = now
            self.process_events += 1
        is_past = tasks > _FAR_TOO_MANY * self._limits.processes
        self.is_fork_bomb = is_past or now - self._exhausted_since > _EXHAUSTED_S
