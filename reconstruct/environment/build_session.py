"""One build inside one sandbox: runs its steps, keeps their log, stops at the first that fails.

Every step that may need the index runs behind the sandbox room's `forward.py`, whose loopback port leads to
the index proxy of this build; nothing else does. Scripts and the installer's cache lie below /opt/swequarry
and are removed before the world is stored, so that no cache outlives a build.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from importlib import resources
from typing import Any, NoReturn

from swequarry.delta import FileContent, TreeDelta
from swequarry.records import Recipe
from swequarry.sandbox.contract import (
    ENVIRONMENT,
    INDEX_SOCKET,
    PYTHON,
    TESTBED,
    Command,
    EndedBy,
    ExecResult,
    Interpreter,
    Limits,
    Sandbox,
)
from swequarry.sandbox.index_access import INDEX_PORT, INDEX_VARIABLES, forward_program

WORKSHOP = f"{ENVIRONMENT}/build"
UV = "/opt/uv/uv"
_SCRIPTS = ("describe.py", "import_check.py", "compile.py", "tidy.py", "vendored.py")
_LOG_LIMIT = 4 * 1024**2


class BuildCause(StrEnum):
    """Why a build failed; the first four are about the project and its recipe, LIMIT about our limits."""

    RESOLVE = "resolve"
    INSTALL = "install"
    PROJECT = "project"
    REUPLOADED = "reuploaded"
    LIMIT = "limit"


class BuildStoppedError(Exception):
    """Ends a build from within a step; never leaves the builder."""

    def __init__(self, cause: BuildCause, step: str, message: str = "") -> None:
        super().__init__(message or step)
        self.cause = cause
        self.step = step


@dataclass(slots=True)
class BuildSession:
    """The steps of a build share it: where they run, for how long, and what they said.

    `variables` are added to the environment of every step that has the index within reach. `project_name`
    is the recipe's, or where that names none, what the project turned out to be called. `plain_build` says
    that a build environment for the project would hold only what the environment starts with.
    """

    sandbox: Sandbox
    recipe: Recipe
    interpreter: Interpreter
    limits: Limits
    log: bytearray = field(default_factory=bytearray)
    durations_s: dict[str, float] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    plain_build: bool = False
    project_name: str | None = field(init=False)
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self.project_name = self.recipe.project_name
        self._deadline = time.monotonic() + self.limits.wall_s

    def unpack(self) -> None:
        """Put the scripts into the sandbox."""
        folder = resources.files("reconstruct.environment") / "inside"
        scripts = {f"build/{name}": (folder / name).read_bytes() for name in _SCRIPTS}
        self.put({**scripts, "build/forward.py": forward_program()})

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files below /opt/swequarry."""
        delta = TreeDelta(files={name.encode(): FileContent(data=data) for name, data in files.items()})
        self.sandbox.put(delta, root=ENVIRONMENT)

    def write_lines(self, name: str, lines: Iterable[str]) -> str:
        """Write a requirement file for the installer and return its path inside."""
        self.put({f"build/{name}": "".join(f"{line}\n" for line in lines).encode()})
        return f"{WORKSHOP}/{name}"

    def read(self, name: str) -> str:
        """Return a file that a step wrote into the workshop; nothing where it wrote none."""
        try:
            return self.sandbox.get(f"{WORKSHOP}/{name}").decode("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def uv(self, step: str, *arguments: str, cause: BuildCause) -> None:
        """Run uv with the index within reach.

        Raises:
            BuildStoppedError: it failed.
        """
        self.online(step, (UV, *arguments), cause=cause)

    def online(self, step: str, argv: Sequence[str], *, cause: BuildCause, cwd: str = TESTBED) -> None:
        """Run a command with the index within reach; as `uv`."""
        result = self.attempt(step, argv, cwd=cwd)
        if not result.ok:
            raise BuildStoppedError(cause, step)

    def attempt(self, step: str, argv: Sequence[str], *, cwd: str = TESTBED) -> ExecResult:
        """Run a command with the index within reach and return how it ended.

        Raises:
            BuildStoppedError: a limit ended it.
        """
        return self._run(step, self._forwarded(argv), self._variables(), cwd)

    def bounded(self, step: str, argv: Sequence[str], wall_s: float) -> ExecResult:
        """Run a command as `attempt` does, at most for so long; a limit ends the command, not the build."""
        return self._start(step, self._forwarded(argv), self._variables(), TESTBED, wall_s=wall_s)

    @property
    def left_s(self) -> float:
        """The time that is left for the build."""
        return self._deadline - time.monotonic()

    def _forwarded(self, argv: Sequence[str]) -> tuple[str, ...]:
        forward = (self.interpreter.path, "-I", f"{WORKSHOP}/forward.py", str(INDEX_PORT), INDEX_SOCKET)
        return (*forward, *argv)

    def script(self, step: str, name: str, *arguments: str) -> Any:
        """Run one of our scripts with the environment's Python and return what it reported.

        Raises:
            BuildStoppedError: it broke, as it does where an installed package breaks the interpreter.
        """
        argv = (PYTHON, "-I", "-B", f"{WORKSHOP}/{name}", *arguments)
        result = self._run(step, argv, {}, TESTBED)
        try:
            return json.loads(result.report) if result.ok else self._broken(step)
        except ValueError:
            return self._broken(step)

    def _broken(self, step: str) -> NoReturn:
        raise self.stop(BuildCause.INSTALL, step, f"the environment can't run `{step}`")

    def offline(
        self,
        step: str,
        argv: Sequence[str],
        *,
        variables: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> ExecResult:
        """Run a command without the index and return how it ended."""
        return self._run(step, argv, variables or {}, TESTBED, stdin)

    def stop(self, cause: BuildCause, step: str, message: str) -> BuildStoppedError:
        """Return the error that ends the build, after adding its message to the log."""
        self.note(message)
        return BuildStoppedError(cause, step, message)

    def note(self, message: str) -> None:
        """Add a line of our own to the log."""
        self.log += f"[swequarry] {message}\n".encode()

    def _start(
        self,
        step: str,
        argv: Sequence[str],
        variables: Mapping[str, str],
        cwd: str,
        stdin: bytes = b"",
        *,
        wall_s: float,
    ) -> ExecResult:
        left_s = min(self.left_s, wall_s)
        if left_s <= 1:
            raise self.stop(BuildCause.LIMIT, step, f"no time left for `{step}`")
        self.log += f"[swequarry] step {step}\n".encode()
        command = Command(argv=tuple(argv), variables=variables, cwd=cwd, stdin=stdin)
        result = self.sandbox.run(command, replace(self.limits, wall_s=left_s))
        self.log += result.output[-_LOG_LIMIT:]
        self.durations_s[step] = self.durations_s.get(step, 0.0) + result.duration_s
        return result

    def _run(
        self, step: str, argv: Sequence[str], variables: Mapping[str, str], cwd: str, stdin: bytes = b""
    ) -> ExecResult:
        result = self._start(step, argv, variables, cwd, stdin, wall_s=self.left_s)
        no_space = not result.ok and b"No space left on device" in result.output
        if result.ended_by not in {EndedBy.EXITED, EndedBy.SIGNALLED} or result.memory_events or no_space:
            why = "no space left" if no_space else result.ended_by.value
            raise self.stop(BuildCause.LIMIT, step, f"`{step}` ended by {why}")
        return result

    def _variables(self) -> dict[str, str]:
        epoch = max(int(self.recipe.cutoff.timestamp()), 315532800)
        return {
            "PATH": f"{ENVIRONMENT}/env/bin:/usr/local/bin:/usr/bin:/bin",
            **INDEX_VARIABLES,
            "UV_CACHE_DIR": f"{WORKSHOP}/cache",
            "UV_NO_PROGRESS": "1",
            "UV_NO_WRAP": "1",
            "NO_COLOR": "1",
            "UV_HTTP_TIMEOUT": "600",
            "UV_CONCURRENT_BUILDS": "2",
            "UV_LINK_MODE": "hardlink",
            "PIP_NO_CACHE_DIR": "1",
            "SOURCE_DATE_EPOCH": str(epoch),
            "GIT_TERMINAL_PROMPT": "0",
            **self.variables,
            **dict(self.recipe.variables),
        }
