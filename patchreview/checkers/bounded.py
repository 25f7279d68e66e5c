"""Runs another program on foreign source, within bounds of time, memory and output."""

import os
import resource
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

MEMORY_BYTES = 4 << 30
"""Address space, which is more than what a program uses; mypy wants some 1 GiB on thousands of files."""
OUTPUT_BYTES = 64 << 20


class Answer(NamedTuple):
    """How a program ended, and what it printed."""

    status: int
    text: bytes


def answer_of(
    argv: Sequence[str],
    *,
    given: bytes = b"",
    folder: Path | None = None,
    time_s: float,
    memory_bytes: int = MEMORY_BYTES,
    output_bytes: int = OUTPUT_BYTES,
) -> Answer | None:
    """Return what a program says; None where it can't be started, takes too long, or dies of a bound.

    The bounds hold for each of its processes, and all of them end with it. Memory and output are bounded
    where the kernel lets one process bound another (Linux); time is everywhere.
    """
    with TemporaryFile() as asked, TemporaryFile() as said:
        asked.write(given)
        asked.seek(0)
        try:
            process = subprocess.Popen(
                argv, stdin=asked, stdout=said, stderr=subprocess.DEVNULL, cwd=folder, start_new_session=True
            )
        except OSError:
            return None
        try:
            _bound(process.pid, memory_bytes, output_bytes)
            status = process.wait(time_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end(process)
        if status < 0:
            return None
        said.seek(0)
        text = said.read(output_bytes)
    return Answer(status, text) if len(text) < output_bytes else None


def _bound(pid: int, memory_bytes: int, output_bytes: int) -> None:
    if not hasattr(resource, "prlimit"):
        return
    with suppress(ProcessLookupError):
        for kind, limit in (
            (resource.RLIMIT_AS, memory_bytes),
            (resource.RLIMIT_FSIZE, output_bytes),
            (resource.RLIMIT_CORE, 0),
        ):
            highest = resource.prlimit(pid, kind)[1]
            least = limit if highest == resource.RLIM_INFINITY else min(limit, highest)
            resource.prlimit(pid, kind, (least, least))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a program with all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
