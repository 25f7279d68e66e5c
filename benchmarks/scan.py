"""The leak audit's two phases on a folder of files, in MB/s of CPU time, beside `grep -F -f`.

    python -m benchmarks.scan [--folder DIR] [--megabytes N] [--rounds N]

The default is the standard library of this Python. Both look for the same 200 lines of text: lines that no
file has, as in a world without a leak. grep reads the files, we have read them before: its time is an upper
bound, and the ratio is printed as measured. The index is built from the files, then asked again as a second
task with the same lock would.
"""

import argparse
import resource
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from reconstruct.leaks.answer import Answer, read_answer
from reconstruct.leaks.index import build_index
from reconstruct.leaks.judge import SHARE, examine
from reconstruct.leaks.views import View
from swequarry.sandbox.visible import VisibleFile

_LINES = 200


def main() -> None:
    """Print one line per phase."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--folder", type=Path, default=Path(sysconfig.get_path("stdlib")))
    options.add_argument("--megabytes", type=float, default=40)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    files = list(_files(given.folder, given.megabytes * 1e6))
    texts = [file.read() for file in files]
    size = sum(map(len, texts)) / 1e6
    answer = _answer()
    index = build_index(files)[0]
    figures = {
        "exact lines": lambda: _examine(texts, answer, blocks_too=False),
        "lines and n-grams": lambda: _examine(texts, answer, blocks_too=True),
        "index, built": lambda: build_index(files),
        "index, asked": lambda: (index.owners_of(answer), index.may_hold(answer, SHARE)),
    }
    grep = size / _best(lambda: _grep(files, answer), given.rounds)
    print(f"{len(files)} files, {size:.1f} MB; grep -F -f: {grep:.0f} MB/s")
    for name, run in figures.items():
        speed = size / _best(run, given.rounds)
        print(f"{name}\t{speed:.0f} MB/s\t{speed / grep:.2f} x grep")


def _files(folder: Path, most: float) -> Iterable[VisibleFile]:
    total = 0
    for path in sorted(folder.rglob("*.py")):
        if total >= most:
            return
        status = path.stat()
        total += status.st_size
        identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        yield VisibleFile(str(path), str(path).encode(), identity)


def _answer() -> Answer:
    lines = "".join(f"+    planted_{n} = call_number_{n}(value_{n * n}, other)\n" for n in range(_LINES))
    head = f"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -0,0 +1,{_LINES} @@\n"
    return read_answer([("gold", (head + lines).encode())])


def _examine(texts: Iterable[bytes], answer: Answer, *, blocks_too: bool) -> None:
    for text in texts:
        examine(View("", text), answer, blocks_too=blocks_too)


def _grep(files: Iterable[VisibleFile], answer: Answer) -> None:
    with tempfile.NamedTemporaryFile() as patterns:
        patterns.write(b"\n".join(sorted(answer.all_lines)) + b"\n")
        patterns.flush()
        names = [file.path for file in files]
        subprocess.run(["grep", "-lFf", patterns.name, *names], check=False, stdout=subprocess.DEVNULL)


def _best(run: Callable[[], object], rounds: int) -> float:
    """Return the CPU seconds of the fastest round, those of children included."""
    best = float("inf")
    for _ in range(rounds):
        before = _cpu()
        run()
        best = min(best, _cpu() - before)
    return best


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
