"""The one door to git: every git process of this project is started here.

Calls are argument lists in an environment made from nothing, so that neither the settings of the user and
the machine, nor variables left by a hook that runs us (`GIT_DIR` and kin), nor hooks and replacement
refs of the repository change what a command means. Reading never writes (no optional locks, no automatic
collection) and never fetches: a missing object of a partial clone is an error, not a download.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from swequarry.errors import GitError

Argument = str | bytes

_SETTINGS: dict[str, str] = {
    "safe.directory": "*",  # a mounted mirror may belong to another user; hooks are off below
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.autocrlf": "false",
    "core.eol": "lf",
    "core.fileMode": "true",
    "core.symlinks": "true",
    "core.precomposeUnicode": "false",
    "core.protectNTFS": "false",  # `a\b` and `aux` are good file names on Linux
    "core.protectHFS": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "log.showSignature": "false",
    "advice.detachedHead": "false",
    "init.defaultBranch": "main",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "60",
}

_LOCAL_SETTINGS: dict[str, str] = {
    "core.fsync": "none",  # what is made without the network can be made again
    "core.bigFileThreshold": "4m",  # a search for deltas of large files costs seconds and seldom finds any
    "core.packedGitWindowSize": "32m",  # bounds what git maps of large packs; half of it doubles the time
    "core.packedGitLimit": "256m",
}

_SCRUBBED: dict[str, str] = {
    "LC_ALL": "C",
    "TZ": "UTC",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/dev/null/none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # stops lazy fetches of git versions that don't know GIT_NO_LAZY_FETCH
}

_NETWORK_VARIABLES = (
    "HOME",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
)

_STDERR_KEPT = 4000
_BLOCK_BYTES = 1 << 16
_UMASK = 0o022  # modes of written files are the same for every user


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a command works; every field becomes one of git's own environment variables.

    `shallow` replaces the repository's own list of shallow commits. `largest_bytes` ends a command that wants
    more memory than that at once, for foreign input that may be a bomb. `network` opens the way out: only
    clone and fetch need it.
    """

    git_dir: Path | None = None
    work_tree: Path | None = None
    index: Path | None = None
    shallow: Path | None = None
    largest_bytes: int | None = None
    network: bool = False

    def environment(self) -> dict[str, str]:
        """Return the whole environment of a git process at this place."""
        env = {**_SCRUBBED, "PATH": os.environ.get("PATH", os.defpath)}
        named = {
            "GIT_DIR": self.git_dir,
            "GIT_WORK_TREE": self.work_tree,
            "GIT_INDEX_FILE": self.index,
            "GIT_SHALLOW_FILE": self.shallow,
        }
        env |= {name: os.fspath(path.absolute()) for name, path in named.items() if path is not None}
        if self.largest_bytes is not None:
            env["GIT_ALLOC_LIMIT"] = str(self.largest_bytes)
        if self.network:
            env |= {name: os.environ[name] for name in _NETWORK_VARIABLES if name in os.environ}
            env |= {"GIT_ALLOW_PROTOCOL": "https:http:ssh:git:file", "GIT_SSH_COMMAND": "ssh -oBatchMode=yes"}
            return env | _settings_as_environment(_SETTINGS)
        return env | _settings_as_environment(_SETTINGS | _LOCAL_SETTINGS)


def _settings_as_environment(settings: Mapping[str, str]) -> dict[str, str]:
    env = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env


def _argv(arguments: Sequence[Argument]) -> list[bytes]:
    return [b"git", *(a if isinstance(a, bytes) else os.fsencode(a) for a in arguments)]


def _error(argv: Sequence[bytes], status: int, stderr: bytes) -> GitError:
    said = stderr[-_STDERR_KEPT:].decode("utf-8", "backslashreplace").strip()
    shown = tuple(part.decode("utf-8", "backslashreplace") for part in argv)
    last = said.splitlines()[-1] if said else "it said nothing"
    command = shown[1] if len(shown) > 1 else "git"
    message = f"git {command} ended with status {status}: {last}"
    return GitError(message, argv=shown, status=status, stderr=said)


def _launch(
    argv: Sequence[bytes],
    place: Place,
    *,
    stdin: int | IO[bytes],
    stdout: int | IO[bytes],
    stderr: int | IO[bytes],
) -> subprocess.Popen[bytes]:
    cwd = place.work_tree or place.git_dir or Path("/")
    try:
        return subprocess.Popen(
            argv,
            env=place.environment(),
            cwd=cwd,
            umask=_UMASK,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
        )
    except FileNotFoundError as error:
        if not cwd.is_dir():
            raise GitError(f"{cwd} isn't a folder any more, so git can't work there") from error
        raise GitError("git isn't on PATH; install git 2.34 or newer") from error
    except OSError as error:
        raise GitError(f"git can't be started: {error}") from error


def run_git(
    arguments: Sequence[Argument],
    place: Place,
    *,
    stdin: bytes = b"",
    allowed: Sequence[int] = (0,),
) -> bytes:
    """Run a git command to its end and return its standard output.

    `allowed` are the exit statuses that are answers, not errors.

    Raises:
        GitError: git can't be started or ended with another status; carries argv, status and stderr.
    """
    argv = _argv(arguments)
    with _launch(
        argv, place, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            out, err = process.communicate(stdin)
        except BaseException:
            process.kill()
            raise
    if process.returncode not in allowed:
        raise _error(argv, process.returncode, err)
    return out


@contextmanager
def started_git(
    arguments: Sequence[Argument],
    place: Place,
    *,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: int | IO[bytes] = subprocess.PIPE,
    stderr: IO[bytes],
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a git command that runs beside the caller; leaving waits for its end.

    Several of them may be open at once; that is how two cores are used. `stderr` is a file, so that no pipe
    can fill up. An exception in the body kills the command.

    Raises:
        GitError: as `run_git`.
    """
    argv = _argv(arguments)
    process = _launch(argv, place, stdin=stdin, stdout=stdout, stderr=stderr)
    try:
        yield process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode != 0:
        stderr.seek(0)
        raise _error(argv, process.returncode, stderr.read())


def stream_git(arguments: Sequence[Argument], place: Place, *, stdin: bytes = b"") -> Iterator[bytes]:
    """Yield the output of a git command in blocks while it runs, so that reading it takes a core of its own.

    A block may end anywhere. Whoever has read all of them knows that the command ended well.

    Raises:
        GitError: as `run_git`; blocks may have been yielded before.
    """
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as stderr:
        asked.write(stdin)
        asked.seek(0)
        with started_git(arguments, place, stdin=asked, stderr=stderr) as process:
            while process.stdout is not None and (block := process.stdout.read(_BLOCK_BYTES)):
                yield block
