"""One log file per item: `logs/<item>.log`, appended to by every attempt, whichever process makes it."""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from swequarry.records import sha256_hex

_LONGEST_NAME = 200
_FORMAT = "%(asctime)s.%(msecs)03dZ %(process)d %(levelname)s %(name)s: %(message)s"


def log_path(logs: Path, item: str) -> Path:
    """Return where the log of an item lies: its key, percent-encoded, and cut with a hash if very long."""
    name = quote(item, safe=" @+=,", errors="surrogatepass")
    if len(name) > _LONGEST_NAME:
        name = f"{name[:_LONGEST_NAME]}-{sha256_hex(item.encode('utf-8', 'surrogatepass'))[:16]}"
    return logs / f"{name}.log"


class _ItemFile(logging.FileHandler):
    """A log that can't be written (no space) neither ends its item nor fills the terminal."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """Drop the line."""

    def close(self) -> None:
        """Close the file; what can't be flushed is lost."""
        with suppress(OSError):
            super().close()


@contextmanager
def item_log(logs: Path | None, item: str) -> Iterator[None]:
    """Send what is logged in this process to the item's file while the block runs."""
    if logs is None:
        yield
        return
    logs.mkdir(parents=True, exist_ok=True)
    handler = _ItemFile(log_path(logs, item), encoding="utf-8", errors="backslashreplace")
    formatter = logging.Formatter(_FORMAT, datefmt="%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()


def last_lines(logs: Path, item: str, count: int = 20, most_bytes: int = 8192) -> tuple[str, ...]:
    """Return the end of an item's log, for who wants to know what it was at; empty if it can't be read."""
    try:
        with log_path(logs, item).open("rb") as handle:
            handle.seek(max(0, handle.seek(0, os.SEEK_END) - most_bytes))
            return tuple(handle.read().decode("utf-8", "replace").splitlines()[-count:])
    except OSError:
        return ()
