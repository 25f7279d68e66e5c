"""One log file per item: `logs/<item>.log`, appended to by every attempt, whichever process makes it."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def item_log(logs: Path | None, item: str) -> Iterator[None]:
    """Send what is logged in this process to the item's file while the block runs."""
    if logs is None:
        yield
        return
    logs.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(log_path(logs, item), encoding="utf-8", errors="backslashreplace")
    formatter = logging.Formatter(_FORMAT, datefmt="%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logger = logging.getLogger("swequarry")
    logger.addHandler(handler)
    if logger.getEffectiveLevel() > logging.INFO:
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()
