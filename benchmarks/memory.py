"""The memory that a process and all its descendants hold together, and its peak."""

import os
import threading
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import Self

_PAGE = os.sysconf("SC_PAGE_SIZE")


def tree_bytes(root: int) -> int:
    """Return the bytes that a process and its descendants hold now; pages that they share count once.

    Where a process may not be asked for its share of them (proportional set size), all its resident pages
    count.
    """
    children = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children[parent].append(int(entry.name))
    found, total = [root], 0
    while found:
        process = found.pop()
        found += children[process]
        total += _held(Path("/proc", str(process)))
    return total


def _held(place: Path) -> int:
    try:
        for line in (place / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return int((place / "statm").read_text().split()[1]) * _PAGE
    except OSError:
        return 0


class Peak:
    """Watches this process and its descendants while it is entered; `size_bytes` is the most it saw."""

    def __init__(self, interval_s: float = 0.1) -> None:
        self.size_bytes = 0
        self._interval_s = interval_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self.size_bytes = max(self.size_bytes, tree_bytes(os.getpid()))
            if self._over.wait(self._interval_s):
                return
