"""A terminal for a person in a sandbox, by nothing but the contract: it works in every backend.

A program inside makes a pseudo-terminal of the sandbox's own and carries it over a unix socket that a bind
shows it. So nothing foreign ever holds a descriptor of the person's terminal: it can't push keystrokes into
it (TIOCSTI) nor read what is typed after the shell has ended. What stays is what all foreign output can do:
escape sequences that the terminal obeys. Answers that it made a terminal give are thrown away at the end.
"""

import contextlib
import os
import select
import signal
import socket
import struct
import sys
import tempfile
import termios
import threading
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Self

from swequarry.errors import SandboxError
from swequarry.sandbox.contract import PYTHON, Bind, Command, ExecResult, Limits, Sandbox

_SOCKET = "/run/swequarry/terminal.sock"
_CHUNK = 1 << 16
_LOOK_S = 0.2
_START_S = 60.0
_NORMAL = b"\x1b[0m\x1b[?25h\r"
"""Plain colours and a visible cursor."""


def is_terminal() -> bool:
    """Whether a person sits at standard input and output."""
    return sys.stdin.isatty() and sys.stdout.isatty()


class Terminal:
    """The person's side: opens the socket first, since it must exist when the sandbox is made."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="swequarry-terminal-")
        path = Path(self._folder.name) / "terminal.sock"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(os.fspath(path))
        self._listener.listen(1)
        path.chmod(0o666)  # connecting needs the permission to write; the folder is closed to others
        self.bind = Bind(source=path, target=_SOCKET)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._listener.close()
        self._folder.cleanup()

    def attend(
        self,
        sandbox: Sandbox,
        argv: Sequence[str],
        variables: Mapping[str, str],
        limits: Limits,
        wrap: Callable[[tuple[str, ...]], tuple[str, ...]] = tuple,
    ) -> ExecResult:
        """Run a command (none: a shell) with the person's terminal until it ends.

        `wrap` returns the command that starts ours, for what must run around it.

        Raises:
            SandboxError: the sandbox broke, or never called.
        """
        program = resources.files("swequarry.sandbox.inside").joinpath("terminal.py").read_text("utf-8")
        ours = (PYTHON, "-I", "-S", "-c", program, _SOCKET, *argv)
        command = Command(argv=wrap(ours), variables=variables)
        run = _Run(sandbox, command, limits)
        run.start()
        channel = self._accept(run)
        if channel is None and run.is_alive():
            raise SandboxError(
                f"the sandbox opened no terminal within {_START_S:.0f} s; try again, or give a command and "
                "no terminal: `swequarry shell ITEM -- COMMAND | cat`"
            )
        if channel is not None:
            with channel, _raw_terminal():
                _carry(channel, run)
        return run.result()

    def _accept(self, run: "_Run") -> socket.socket | None:
        """Wait for the one call from inside; None where the command ended before, or the time is over."""
        self._listener.settimeout(_LOOK_S)
        waited = 0.0
        while run.is_alive() and waited < _START_S:
            with contextlib.suppress(TimeoutError):
                channel, _ = self._listener.accept()
                self._listener.close()
                return channel
            waited += _LOOK_S
        return None


class _Run(threading.Thread):
    """The run in a thread of its own, which stays alive as long as the sandbox."""

    def __init__(self, sandbox: Sandbox, command: Command, limits: Limits) -> None:
        super().__init__(daemon=True)
        self._order = (sandbox, command, limits)
        self._result: ExecResult | None = None
        self._error: SandboxError | None = None

    def run(self) -> None:
        sandbox, command, limits = self._order
        try:
            self._result = sandbox.run(command, limits)
        except SandboxError as error:
            self._error = error

    def result(self) -> ExecResult:
        """Return how the command ended."""
        self.join()
        if self._result is None:
            raise self._error or SandboxError("the sandbox ended without saying how")
        return self._result


@contextlib.contextmanager
def _raw_terminal() -> Iterator[None]:
    """Let every key through; put all back at the end, without what was typed or answered meanwhile."""
    source = sys.stdin.fileno()
    saved = termios.tcgetattr(source)
    try:
        tty.setraw(source)
        yield
    finally:
        termios.tcsetattr(source, termios.TCSAFLUSH, saved)
        os.write(sys.stdout.fileno(), _NORMAL)


def _frame(kind: bytes, payload: bytes) -> bytes:
    return struct.pack(">cI", kind, len(payload)) + payload


def _size() -> bytes:
    columns, rows = os.get_terminal_size(sys.stdout.fileno())
    return _frame(b"w", struct.pack(">HH", rows, columns))


def _carry(channel: socket.socket, run: _Run) -> None:
    """Carry keys in and text out until the other side hangs up."""
    changed = threading.Event()
    before = signal.signal(signal.SIGWINCH, lambda *_: changed.set())
    changed.set()
    try:
        while run.is_alive():
            if changed.is_set():
                changed.clear()
                channel.sendall(_size())
            if not _exchange(channel):
                return
    except (BrokenPipeError, ConnectionResetError):
        return  # it ended while we spoke; the run says how
    finally:
        signal.signal(signal.SIGWINCH, before)


def _exchange(channel: socket.socket) -> bool:
    """Carry what is there now; whether the other side is still there."""
    keys: Any = sys.stdin.fileno()
    ready, _, _ = select.select([channel, keys], [], [], _LOOK_S)
    if keys in ready:
        typed = os.read(keys, _CHUNK)
        if typed:
            channel.sendall(_frame(b"d", typed))
    if channel not in ready:
        return True
    shown = channel.recv(_CHUNK)
    rest = memoryview(shown)
    while rest:
        rest = rest[os.write(sys.stdout.fileno(), rest) :]
    return bool(shown)
