"""The contract of all sandboxes: what they take, what they promise, what they raise.

A *world* is what a sandbox starts from: the repository's tree at `/testbed` and an environment at
`/opt/swequarry`. Both are read-only layers that many sandboxes share; what a run writes is its own and is
gone with it. Only these two roots persist in `Sandbox.commit`; /tmp, /dev/shm and the home folder are
empty at the start of every run.

Promises of every backend, proven by the one conformance suite (tests/integration/test_sandbox_contract.py):
no network but loopback (own hostname resolvable), an ordinary user (uid 1000) without capabilities, no path
of the host writable and no socket of the host visible, the limits below, UTC, C.UTF-8, nothing alive after
a run ended. What a backend can't enforce it says in `SandboxBackend.weaknesses`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, Self

from swequarry.delta import TreeDelta
from swequarry.errors import SandboxError

TESTBED = "/testbed"
ENVIRONMENT = "/opt/swequarry"
PYTHON = "/opt/swequarry/env/bin/python"
INDEX_SOCKET = "/run/swequarry/index.sock"
FETCH_LIMIT_BYTES = 256 * 1024**2
"""The largest file that `Sandbox.get` returns: it is held in memory, and a sparse one is made for nothing."""
REPORT_FD = 3
"""What a command writes to this file descriptor comes back as `ExecResult.report`: an append-only pipe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one run. Exceeding one ends the run and is named in `ExecResult.ended_by`."""

    wall_s: float = 600.0
    memory_bytes: int = 4 * 1024**3
    processes: int = 512
    open_files: int = 4096
    file_bytes: int = 2 * 1024**3
    disk_bytes: int = 2 * 1024**3
    tmp_bytes: int = 1024**3
    output_bytes: int = 16 * 1024**2
    report_bytes: int = 256 * 1024**2


class EndedBy(StrEnum):
    """Why a run ended. Only EXITED carries an exit code that means anything."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    WALL_LIMIT = "wall_limit"
    MEMORY_LIMIT = "memory_limit"
    PROCESS_LIMIT = "process_limit"
    OUTPUT_LIMIT = "output_limit"
    DISK_LIMIT = "disk_limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecResult:
    """How a command ended and what it said.

    `exit_code` is the status of the command (128 + n where a signal ended it), None when the backend
    killed it.
    `output` is stdout and stderr merged as they came, cut at the limit; `report` is what was written to
    `REPORT_FD`. `memory_events` counts processes killed for memory even where the command itself
    survived; `process_events` counts refused forks where the backend can see them. `duration_s` is
    observed: it goes beside records, never into them.
    """

    exit_code: int | None
    ended_by: EndedBy
    output: bytes
    report: bytes
    memory_events: int = 0
    process_events: int = 0
    duration_s: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the command ran to its end with status 0."""
        return self.ended_by is EndedBy.EXITED and self.exit_code == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """A host folder or file shown read-only inside, at an absolute path outside the two roots."""

    source: Path
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python that runs inside sandboxes of a backend; `path` is valid inside, at its original place."""

    version: str
    path: str
    prefix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A reference to a stored world: `key` is the caller's address for it, unique in its backend."""

    backend: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run: an argument list, extra environment variables, the folder to start in."""

    argv: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    cwd: str = TESTBED
    stdin: bytes = b""

    def check(self) -> None:
        """Refuse what no operating system can run.

        Raises:
            SandboxError: there is no program, a part holds a NUL, a variable has an impossible name.
        """
        texts = (*self.argv, self.cwd, *self.variables, *self.variables.values())
        if not self.argv or any("\0" in text for text in texts):
            raise SandboxError("a command needs a program, and no part of it may hold a NUL")
        if any(not name or "=" in name for name in self.variables):
            raise SandboxError("the name of a variable is empty or holds `=`")


class Sandbox(Protocol):
    """One copy-on-write copy of a world. A context manager: leaving it destroys the copy."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...

    def put(self, delta: TreeDelta, root: str = TESTBED) -> None:
        """Write and remove files below one of the two roots, without following links.

        Raises:
            SandboxError: a path leaves the root, or the copy can't be written.
        """

    def run(self, command: Command, limits: Limits) -> ExecResult:
        """Run a command; returns within 3 s of the wall limit, with nothing of it left alive.

        Later runs in the same sandbox see what earlier ones wrote below the two roots.

        Raises:
            SandboxError: the machinery broke (no namespace, no memory to start, daemon gone). A command that
                can't be found isn't that: it ends with exit code 127.
        """

    def get(self, path: str) -> bytes:
        """Return the bytes of a regular file below one of the two roots.

        Raises:
            FileNotFoundError: nothing, or no regular file, is there.
            SandboxError: the path leaves the roots, or the file is larger than `FETCH_LIMIT_BYTES`.
        """

    def commit(self, key: str) -> World:
        """Store the copy as a new world under `key`, whole or not at all; keeps an existing one.

        Raises:
            SandboxError: it can't be stored (no space). Nothing half-written is ever usable.
        """


class SandboxBackend(Protocol):
    """Where foreign code runs. Safe to call from several threads and processes at once."""

    @property
    def name(self) -> str:
        """`bubblewrap` or `docker`; part of every environment's identity."""

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The promises that can't be kept on this machine, one sentence each."""

    def probe(self) -> tuple[str, ...]:
        """Return what is missing to run here, each with the command that mends it; empty when ready."""

    def interpreters(self) -> tuple[Interpreter, ...]:
        """Return the Pythons that run inside, newest first."""

    def has_world(self, key: str) -> bool:
        """Whether a whole world is stored under a key."""

    def import_tree(self, source: Path, key: str) -> World:
        """Store a copy of a host folder as the /testbed of a new world; keeps an existing one.

        Modes, links and mtimes (to the second) are kept, owners become the sandbox user.
        """

    def create(
        self,
        world: World,
        *,
        index_socket: Path | None = None,
        binds: Sequence[Bind] = (),
        interpreter: Interpreter | None = None,
    ) -> Sandbox:
        """Make a copy of a world for several runs.

        `index_socket` is the host's unix socket of an index proxy, shown at `INDEX_SOCKET`; it is the
        only way out. `interpreter` is remembered by `commit`: later copies see it without being told.

        Raises:
            SandboxUnavailableError: this machine can't run sandboxes of this backend.
            SandboxError: the world isn't stored, or the copy can't be made.
        """

    def run_once(self, world: World, delta: TreeDelta, command: Command, limits: Limits) -> ExecResult:
        """Create, put, run, destroy: the fast path of verification runs.

        Raises:
            SandboxError: as `create` and `Sandbox.run`.
        """

    def remove_world(self, key: str) -> None:
        """Delete a stored world; one that isn't there is fine. The next `sweep` frees what it alone had.

        Raises:
            SandboxError: it can't be deleted, for instance while a sandbox runs on it.
        """

    def sweep(self) -> int:
        """Remove what dead processes of ours left behind and no world needs, never anybody else's.

        Returns how many.
        """
