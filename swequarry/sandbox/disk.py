"""Watches how much a sandbox writes to disk, where no quota can be set."""

import contextlib
import subprocess
import time
from pathlib import Path

_PAUSE_S = 1.0
_SHARE = 10
"""A look may cost one tenth of the time at most."""


class DiskWatch:
    """Measures a folder again and again with du(1), beside the run and not in its way."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self._folder = folder
        self._limit = limit_bytes
        self._measuring: subprocess.Popen[bytes] | None = None
        self._began = 0.0
        self.due = time.monotonic() + _PAUSE_S
        self.is_full = False

    def look(self) -> None:
        """Start a measurement, or take its result if it is there."""
        now = time.monotonic()
        if self._measuring is None:
            self._began = now
            self._measuring = subprocess.Popen(
                ["du", "-sx", "--block-size=1", "--", self._folder],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            self.due = now + 0.05
        elif self._measuring.poll() is None:
            self.due = now + 0.05
        else:
            self._take(self._measuring, now)

    def _take(self, measuring: subprocess.Popen[bytes], now: float) -> None:
        said, _ = measuring.communicate()
        with contextlib.suppress(ValueError, IndexError):
            self.is_full = int(said.split()[0]) > self._limit
        self._measuring = None
        self.due = now + max(_PAUSE_S, _SHARE * (now - self._began))

    def close(self) -> None:
        """End a measurement that is still going on."""
        if self._measuring is not None:
            self._measuring.kill()
            self._measuring.communicate()
