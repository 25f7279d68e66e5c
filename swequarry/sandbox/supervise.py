"""Runs one sandbox process to its end: feeds it, reads it within bounds, keeps time, and buries it.

Knows nothing of bubblewrap but the JSON lines of its `--json-status-fd`. Everything is done by the thread
that started the process, which must stay alive: `--die-with-parent` follows the thread. That option takes
hold only after a few milliseconds; so the command waits for a line that is sent when the sandbox has said,
by an empty line on the report, that all is set up. Who dies earlier leaves a sandbox that ends by itself.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from swequarry.errors import SandboxError
from swequarry.sandbox.contract import EndedBy, Limits
from swequarry.sandbox.disk import DiskWatch
from swequarry.sandbox.host import HostIdentity
from swequarry.sandbox.watchdog import Watchdog

_CHUNK = 1 << 16
_READY, _GO = b"\n", b"\n"
_BURIAL_S = 60.0
"""The kernel takes down a killed sandbox in milliseconds; with thirty processes waiting for two processors it
took longer than five seconds, and a build of minutes was lost."""
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
"""What the starting programs see; /proc/1/environ shows it to the sandbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start: arguments, the descriptors to hand over, who to become.

    `stay_root` leaves dropping to the arguments; `disk` is a folder whose size is limited.
    """

    argv: tuple[str, ...]
    descriptors: tuple[int, ...]
    status_reader: int
    status_writer: int
    identity: HostIdentity
    stay_root: bool = False
    disk: Path | None = None


@dataclass(slots=True, kw_only=True)
class RawEnd:
    """How the process ended, before it is interpreted.

    `status` has the JSON documents of bubblewrap, `started` tells whether the command was let go.
    """

    output: bytes
    report: bytes
    status: dict[str, int]
    started: bool
    killed_by: EndedBy | None
    memory_events: int
    process_events: int
    main_killed: bool
    duration_s: float


@dataclass(slots=True)
class _Stream:
    limit: int
    data: bytearray = field(default_factory=bytearray)
    overflowed: bool = False

    def take(self, chunk: bytes) -> None:
        room = self.limit - len(self.data)
        self.data += chunk[:room]
        self.overflowed = self.overflowed or len(chunk) > room


def _start(launch: Launch) -> subprocess.Popen[bytes]:
    drop = launch.identity.drop and not launch.stay_root
    try:
        return subprocess.Popen(
            launch.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(*launch.descriptors, launch.status_writer),
            cwd="/",
            env=_ENVIRONMENT,
            user=launch.identity.uid if drop else None,
            group=launch.identity.gid if drop else None,
            extra_groups=[] if drop else None,
            umask=0o022,
            bufsize=0,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"can't start {launch.argv[0]}: {error}") from error


class _Run:
    """The life of one started process."""

    def __init__(self, launch: Launch, limits: Limits, stdin: bytes) -> None:
        self._limits = limits
        self._stdin = memoryview(_GO + stdin)
        self._started = False
        self._status_reader = launch.status_reader
        self._first_process: int | None = None
        self._streams: dict[int, _Stream] = {}
        self._selector = selectors.DefaultSelector()
        self._began = time.monotonic()
        try:
            self._process = _start(launch)
        finally:
            os.close(launch.status_writer)
        self._watchdog = Watchdog(self._process.pid, limits)
        self._disk = DiskWatch(launch.disk, limits.disk_bytes) if launch.disk else None
        self._killed_by: EndedBy | None = None
        self._output = self._read_from(self._process.stdout, limits.output_bytes)
        self._report = self._read_from(self._process.stderr, limits.report_bytes + len(_READY))
        self._status = self._read_from(launch.status_reader, _CHUNK)

    def _read_from(self, source: object, limit: int) -> _Stream:
        descriptor = source if isinstance(source, int) else source.fileno()  # type: ignore[attr-defined]
        os.set_blocking(descriptor, False)
        self._selector.register(descriptor, selectors.EVENT_READ)
        return self._streams.setdefault(descriptor, _Stream(limit))

    def _let_go(self) -> None:
        """Send the line that the command waits for, and its own input after it."""
        if self._started or not self._report.data.startswith(_READY):
            return
        self._started = True
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
            self._selector.register(self._process.stdin, selectors.EVENT_WRITE)

    def to_end(self) -> RawEnd:
        deadline = self._began + self._limits.wall_s
        try:
            while self._selector.get_map() and self._process_lives():
                now = time.monotonic()
                if now >= deadline:
                    self._kill(EndedBy.WALL_LIMIT)
                    break
                self._pump(min(deadline, self._next_look()) - now)
                self._check()
                if self._killed_by:
                    break
        finally:
            self._bury()
        return RawEnd(
            output=bytes(self._output.data),
            report=bytes(self._report.data.removeprefix(_READY)),
            status=self._documents(),
            started=self._started,
            killed_by=self._killed_by,
            memory_events=self._watchdog.memory_events,
            process_events=self._watchdog.process_events,
            main_killed=self._watchdog.main_killed,
            duration_s=time.monotonic() - self._began,
        )

    def _next_look(self) -> float:
        return min(self._watchdog.due, self._disk.due) if self._disk else self._watchdog.due

    def _process_lives(self) -> bool:
        return self._process.poll() is None

    def _check(self) -> None:
        if any(stream.overflowed for stream in (self._output, self._report)):
            self._kill(EndedBy.OUTPUT_LIMIT)
        if time.monotonic() >= self._watchdog.due:
            self._watchdog.look()
            if self._watchdog.is_fork_bomb:
                self._kill(EndedBy.PROCESS_LIMIT)
        if self._disk is not None and time.monotonic() >= self._disk.due:
            self._disk.look()
            if self._disk.is_full:
                self._kill(EndedBy.DISK_LIMIT)

    def _pump(self, timeout_s: float) -> None:
        for key, _ in self._selector.select(max(0.0, timeout_s)):
            if key.fd in self._streams:
                self._read(key.fd)
            else:
                self._write()

    def _read(self, descriptor: int) -> None:
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            self._selector.unregister(descriptor)
            return
        self._streams[descriptor].take(chunk)
        if descriptor == self._status_reader:
            self._hold_first_process()
        self._let_go()

    def _hold_first_process(self) -> None:
        """Take a handle of the namespace's first process while its pid can't mean another one yet."""
        first = self._documents().get("child-pid")
        if self._first_process is None and first is not None:
            with contextlib.suppress(ProcessLookupError):
                self._first_process = os.pidfd_open(first)

    def _write(self) -> None:
        assert self._process.stdin is not None  # noqa: S101
        try:
            self._stdin = self._stdin[os.write(self._process.stdin.fileno(), self._stdin[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._stdin = self._stdin[:0]
        if not self._stdin:
            self._selector.unregister(self._process.stdin)
            self._process.stdin.close()

    def _kill(self, why: EndedBy) -> None:
        self._killed_by = self._killed_by or why
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGKILL)

    def _bury(self) -> None:
        """Make sure that nothing is alive, then take what is still in the pipes."""
        if self._process_lives() and self._killed_by is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._disk is not None:
            self._disk.close()
        self._drain()
        self._await_first_process()
        self._drain()
        self._selector.close()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _drain(self) -> None:
        for descriptor, stream in self._streams.items():
            with contextlib.suppress(BlockingIOError, OSError):
                while chunk := os.read(descriptor, _CHUNK):
                    stream.take(chunk)

    def _await_first_process(self) -> None:
        """Wait for the first process of the pid namespace: it is gone only when all others are."""
        if self._first_process is None:
            return
        try:
            with selectors.DefaultSelector() as waiting:
                waiting.register(self._first_process, selectors.EVENT_READ)
                if not waiting.select(_BURIAL_S):
                    raise SandboxError("a process of a sandbox doesn't die; look for it with `ps -e`")
        finally:
            os.close(self._first_process)

    def _documents(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for line in bytes(self._status.data).splitlines():
            with contextlib.suppress(ValueError):
                found.update(json.loads(line))
        return found


def supervise(launch: Launch, limits: Limits, stdin: bytes = b"") -> RawEnd:
    """Start a sandbox and return how it ended, with nothing of it left alive.

    Raises:
        SandboxError: it can't be started, or something of it can't be killed.
    """
    return _Run(launch, limits, stdin).to_end()
