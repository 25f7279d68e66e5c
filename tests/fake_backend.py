"""A backend for unit tests: runs commands on the host in a temporary copy of a folder. Isolates nothing."""

import atexit
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from swequarry.delta import TreeDelta
from swequarry.sandbox.contract import PYTHON, REPORT_FD, TESTBED, Command, EndedBy, ExecResult, Limits, World

BARE = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PATH": os.defpath,
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
}


@functools.cache
def byte_code(python: str) -> str:
    """Return a folder with the compiled modules of pytest: each run would compile them anew otherwise."""
    folder = tempfile.mkdtemp(prefix="fake-backend-pyc-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (Path(folder) / "test_warm.py").write_text(
        "import subprocess, unittest\ndef test(): assert [1] == [1, 2]"
    )
    variables = {**BARE, "PYTHONPYCACHEPREFIX": folder}
    argv = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder]
    subprocess.run(argv, env=variables, cwd=folder, check=False, capture_output=True)
    return folder


@dataclass
class FakeBackend:
    """Worlds are folders by key.

    `tamper` may change a result before it is returned; the wall limit is over when `expire_at` is reported,
    however fast or slow this machine is.
    """

    worlds: dict[str, Path]
    python: str = sys.executable
    tamper: Callable[[int, ExecResult], ExecResult] = lambda _number, result: result
    expire_at: bytes | None = None
    variables: Mapping[str, str] = field(default_factory=lambda: BARE)
    runs: list[Command] = field(default_factory=list)

    @property
    def name(self) -> str:
        return "fake"

    def run_once(self, world: World, delta: TreeDelta, command: Command, limits: Limits) -> ExecResult:
        self.runs.append(command)
        with tempfile.TemporaryDirectory(prefix="fake-backend-") as folder:
            testbed = Path(folder) / "testbed"
            shutil.copytree(self.worlds[world.key], testbed, symlinks=True)
            apply_delta(testbed, delta)
            result = self._run(command, limits, testbed)
        return self.tamper(len(self.runs), result)

    def _run(self, command: Command, limits: Limits, testbed: Path) -> ExecResult:
        argv = [self.python if word == PYTHON else word for word in command.argv]
        read_end, write_end = os.pipe()

        def arrange() -> None:
            os.dup2(write_end, REPORT_FD)

        began = time.monotonic()
        process = subprocess.Popen(
            argv, cwd=str(testbed) + command.cwd.removeprefix(TESTBED), env={"PYTHONPYCACHEPREFIX": byte_code(self.python), **self.variables, **command.variables},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=(REPORT_FD,) if write_end == REPORT_FD else (write_end, REPORT_FD),
            preexec_fn=arrange,  # noqa: PLW1509 (only dup2)
            start_new_session=True,
        )  # fmt: skip
        os.close(write_end)
        report = bytearray()
        expired = threading.Event()
        reader = threading.Thread(target=self._read, args=(read_end, report, expired, process.pid))
        reader.start()
        said: list[bytes] = []
        talk = threading.Thread(target=lambda: said.append(process.communicate(command.stdin)[0]))
        talk.start()
        try:
            process.wait(limits.wall_s)
        except subprocess.TimeoutExpired:
            expired.set()
        with contextlib.suppress(
            ProcessLookupError
        ):  # what a command leaves behind dies with it, as in a sandbox
            os.killpg(process.pid, signal.SIGKILL)
        talk.join()
        reader.join()
        output = said[0]
        ended_by = EndedBy.WALL_LIMIT if expired.is_set() else EndedBy.EXITED
        code = process.returncode
        if code < 0 and ended_by is EndedBy.EXITED:
            ended_by = EndedBy.SIGNALLED
        return ExecResult(
            exit_code=None if ended_by is EndedBy.WALL_LIMIT else (128 - code if code < 0 else code),
            ended_by=ended_by,
            output=output,
            report=bytes(report),
            duration_s=time.monotonic() - began,
        )

    def _read(self, read_end: int, report: bytearray, expired: threading.Event, pid: int) -> None:
        with open(read_end, "rb", buffering=0) as stream:
            while chunk := stream.read(65536):
                report += chunk
                if self.expire_at is not None and self.expire_at in report and not expired.is_set():
                    expired.set()
                    os.killpg(pid, signal.SIGKILL)


def apply_delta(root: Path, delta: TreeDelta) -> None:
    for name in delta.removed:
        path = root / os.fsdecode(name)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, content in delta.files.items():
        path = root / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if content.mode == 0o120000:
            path.symlink_to(os.fsdecode(content.data))
        else:
            path.write_bytes(content.data)
            path.chmod(content.mode & 0o777)
