"""Talks to the first process of a container: one request, two streams back, within limits.

The wire format is the engine's own for attached containers without a terminal: frames of one byte for the
stream, three of padding, four of length (Docker Engine API, "Attach to a container").
"""

import base64
import contextlib
import json
import secrets
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from swequarry.delta import TreeDelta
from swequarry.errors import SandboxError
from swequarry.sandbox.contract import FETCH_LIMIT_BYTES, TESTBED, Command, EndedBy, Limits
from swequarry.sandbox.layers import split_path
from swequarry.sandbox.seccomp import filters
from swequarry.sandbox.settled import BASE_ENVIRONMENT

_STDOUT, _HEADER, _CHUNK = 1, 8, 1 << 16
_ENVELOPE = 64 * 1024
"""Room for what the first process itself says on the report stream."""
_AFTER_KILL_S = 10.0


def _base64(path: bytes) -> str:
    return base64.b64encode(path).decode("ascii")


def request(
    delta: TreeDelta, *, root: str = TESTBED, command: Command | None = None, limits: Limits | None = None
) -> tuple[bytes, str]:
    """Return the bytes that ask for a delta and, if given, a command; and the nonce of the answer.

    Raises:
        SandboxError: a path isn't a plain relative path.
    """
    nonce = secrets.token_hex(16)
    for path in (*delta.removed, *delta.files):
        split_path(path)
    asked: dict[str, Any] = {
        "op": "put",
        "root": root,
        "nonce": nonce,
        "removed": [_base64(path) for path in delta.removed],
        "files": [[_base64(path), c.mode, len(c.data)] for path, c in delta.files.items()],
    }
    if command is not None and limits is not None:
        asked |= {
            "op": "run",
            "argv": command.argv,
            "variables": {**BASE_ENVIRONMENT, **command.variables},
            "cwd": command.cwd,
            "limits": {"NOFILE": limits.open_files, "FSIZE": limits.file_bytes, "CORE": 0},
            "filters": {machine: _base64(program) for machine, program in filters().items()},
        }
    stdin = command.stdin if command else b""
    return _packed(asked) + b"".join(c.data for c in delta.files.values()) + stdin, nonce


def request_file(root: str, path: bytes) -> bytes:
    """Return the bytes that ask for the content of a file.

    Raises:
        SandboxError: the path isn't a plain relative path.
    """
    split_path(path)
    return _packed({"op": "get", "root": root, "path": _base64(path), "limit": FETCH_LIMIT_BYTES})


def _packed(asked: dict[str, Any]) -> bytes:
    text = json.dumps(asked, ensure_ascii=True).encode("ascii")
    return len(text).to_bytes(_HEADER, "big") + text


@dataclass(slots=True)
class Heard:
    """What came back: both streams, and why we stopped listening, if we did."""

    report: bytearray = field(default_factory=bytearray)
    output: bytearray = field(default_factory=bytearray)
    killed_by: EndedBy | None = None


class _Frames:
    """Cuts the attached stream into its two."""

    def __init__(self, heard: Heard, limits: Limits) -> None:
        self._heard = heard
        self._limits = limits
        self._pending = bytearray()
        self._within = True

    def take(self, data: bytes) -> bool:
        """Add what came; whether it is still within the limits."""
        self._pending += data
        while len(self._pending) >= _HEADER:
            stream, length = struct.unpack_from(">BxxxI", self._pending)
            if len(self._pending) < _HEADER + length:
                break
            payload = self._pending[_HEADER : _HEADER + length]
            del self._pending[: _HEADER + length]
            to, limit = self._heard.output, self._limits.output_bytes
            if stream == _STDOUT:
                to, limit = self._heard.report, self._limits.report_bytes + _ENVELOPE
            self._within = self._within and len(to) + length <= limit
            to += payload[: max(0, limit - len(to))]
        return self._within


class _Conversation:
    """Sends everything while it reads everything."""

    def __init__(
        self, channel: socket.socket, send: bytes, limits: Limits, kill: Callable[[], None], deadline: float
    ) -> None:
        self._channel = channel
        self._unsent = memoryview(send)
        # killed from beside: the engine ends a container only when what it wrote has been taken
        self._killer = threading.Thread(target=kill, daemon=True)
        self._deadline = deadline
        self._heard = Heard()
        self._frames = _Frames(self._heard, limits)
        self._selector = selectors.DefaultSelector()
        self._ended = False

    def hold(self) -> Heard:
        self._channel.setblocking(False)  # noqa: FBT003 - the library's own signature
        with self._selector:
            self._selector.register(self._channel, selectors.EVENT_READ | selectors.EVENT_WRITE)
            while not self._ended:
                ready = self._selector.select(max(0.0, self._deadline - time.monotonic()))
                if time.monotonic() >= self._deadline:
                    self._stop(EndedBy.WALL_LIMIT)
                for _, events in ready:
                    self._exchange(events)
        if self._heard.killed_by is not None:
            self._killer.join(_AFTER_KILL_S)
        return self._heard

    def _stop(self, why: EndedBy) -> None:
        if self._heard.killed_by is not None:
            raise SandboxError("the docker engine doesn't end a container that was killed")
        self._heard.killed_by = why
        self._deadline = time.monotonic() + _AFTER_KILL_S
        self._killer.start()

    def _exchange(self, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                self._send()
            if events & selectors.EVENT_READ:
                self._receive()
        except BlockingIOError:
            return
        except OSError as error:
            raise SandboxError(f"lost the docker engine in the middle of a run: {error}") from error

    def _send(self) -> None:
        try:
            self._unsent = self._unsent[self._channel.send(self._unsent[:_CHUNK]) :]
        except BrokenPipeError:
            self._unsent = self._unsent[:0]
        if not self._unsent:
            self._selector.modify(self._channel, selectors.EVENT_READ)
            with contextlib.suppress(OSError):
                self._channel.shutdown(socket.SHUT_WR)

    def _receive(self) -> None:
        data = self._channel.recv(_CHUNK)
        self._ended = not data
        if not self._frames.take(data) and self._heard.killed_by is None:
            self._stop(EndedBy.OUTPUT_LIMIT)


def converse(
    channel: socket.socket, send: bytes, limits: Limits, kill: Callable[[], None], deadline: float
) -> Heard:
    """Hold a conversation until the other side ends or a limit is passed.

    `deadline` is on the monotonic clock. On a limit `kill` is called and the rest is read.

    Raises:
        SandboxError: the connection broke, or stays open after the container was killed.
    """
    return _Conversation(channel, send, limits, kill, deadline).hold()
