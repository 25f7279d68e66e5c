"""The leak audit's phases on a folder, in MB/s of CPU time, beside `grep -F -f`; then on two environments.

    python -m benchmarks.scan [--folder DIR] [--megabytes N] [--rounds N] [--environment DIR [--second DIR]]

The default is the standard library of this Python, of which the phases read Python's own files. All look for
the same 200 lines of text: lines that no file has, as in a world without a leak. grep reads the files, and so
does who builds an index; for the others they were read before. The ratio is printed as measured.

Then the files of an environment (all of the folder by default) are looked through as stage `seal` does it:
with nothing kept, again, and those of a second environment, with and without what is kept of the first.
Without `--second` that is the first one with every twentieth group of files made another.
"""

import argparse
import resource
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reconstruct.leaks.answer import Answer, Novelty, read_answer
from reconstruct.leaks.groups import FileGroup, IndexCache, grouped
from reconstruct.leaks.index import FileIndex, build_index, read_views
from reconstruct.leaks.judge import examine
from reconstruct.leaks.question import Question
from reconstruct.leaks.views import View
from swequarry.sandbox.visible import VisibleFile

_LINES = 200
_OTHER = 20
"""Of so many groups of files a second environment has one for itself."""


def main() -> None:
    """Print one line per phase, and one per look through an environment."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--folder", type=Path, default=Path(sysconfig.get_path("stdlib")))
    options.add_argument("--megabytes", type=float, default=40)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--environment", type=Path)
    options.add_argument("--second", type=Path)
    given = options.parse_args()
    _phases(list(_files(given.folder, "*.py", given.megabytes * 1e6)), given.rounds)
    first = list(_files(given.environment or given.folder, "*"))
    _environments(first, list(_files(given.second, "*")) if given.second else list(_another(first)))


def _phases(files: Sequence[VisibleFile], rounds: int) -> None:
    texts = [file.read() for file in files]
    size = sum(map(len, texts)) / 1e6
    answer = _answer()
    groups = list(grouped(files))
    indexes = [build_index(group.files) for group in groups]
    figures = {
        "exact lines": lambda: _examine(texts, answer, blocks_too=False),
        "lines and n-grams": lambda: _examine(texts, answer, blocks_too=True),
        "the same, files read and unpacked": lambda: _read(files, answer),
        "base, taken out of an answer": lambda: _take_out(texts, answer),
        "index, built": lambda: [build_index(group.files) for group in groups],
        "index, asked": lambda: _ask(zip(groups, indexes, strict=True), answer),
    }
    grep = size / _best(lambda: _grep(files, answer), rounds)
    print(f"{len(files)} files, {size:.1f} MB; grep -F -f: {grep:.0f} MB/s")
    for name, run in figures.items():
        speed = size / _best(run, rounds)
        print(f"{name}\t{speed:.0f} MB/s\t{speed / grep:.2f} x grep")


def _environments(first: Sequence[VisibleFile], second: Sequence[VisibleFile]) -> None:
    answer = _answer()
    with tempfile.TemporaryDirectory() as kept, tempfile.TemporaryDirectory() as other:
        for name, files, folder in (
            ("an environment, nothing kept", first, kept),
            ("the same again", first, kept),
            ("a second one, the first kept", second, kept),
            ("a second one, nothing kept", second, other),
        ):
            cache = IndexCache(Path(folder))
            known: list[bool] = []
            seconds = _best(lambda: known.extend(_look_through(files, cache, answer)), 1)  # noqa: B023
            size = sum(file.identity[2] for file in files) / 1e6
            print(f"{name}\t{size:.0f} MB\t{sum(known)} of {len(known)} groups known\t{seconds:.2f} s")
        size = sum(place.stat().st_size for place in Path(kept).iterdir()) / 1e6
        print(f"kept of both\t{size:.0f} MB")


def _look_through(files: Sequence[VisibleFile], cache: IndexCache, answer: Answer) -> list[bool]:
    """Look an answer up in the files of an environment; return of each group whether it was known."""
    question = Question(answer)
    known = []
    for group in grouped(files):
        index, is_known = cache.index_of(group)
        question.ask(group, index)
        known.append(is_known)
    for file in question.suspects():
        file.read()
    return known


def _another(files: Sequence[VisibleFile]) -> Iterator[VisibleFile]:
    for number, group in enumerate(grouped(files)):
        for file in group.files:
            device, inode, size, time_ns = file.identity
            later = time_ns + 1 if number % _OTHER == 0 else time_ns
            yield replace(file, identity=(device, inode, size, later))


def _files(folder: Path, pattern: str, most: float = float("inf")) -> Iterable[VisibleFile]:
    total = 0
    for path in sorted(folder.rglob(pattern)):
        if total >= most:
            return
        if path.is_symlink() or not path.is_file():
            continue
        status = path.stat()
        total += status.st_size
        identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        yield VisibleFile(f"/{path.relative_to(folder)}", str(path).encode(), identity)


def _answer() -> Answer:
    lines = "".join(f"+    planted_{n} = call_number_{n}(value_{n * n}, other)\n" for n in range(_LINES))
    head = f"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -0,0 +1,{_LINES} @@\n"
    return read_answer([("gold", (head + lines).encode())])


def _examine(texts: Iterable[bytes], answer: Answer, *, blocks_too: bool) -> None:
    for text in texts:
        examine(View("", text), answer, blocks_too=blocks_too)


def _read(files: Iterable[VisibleFile], answer: Answer) -> None:
    for file in files:
        for view in read_views(file):
            examine(view, answer)


def _take_out(texts: Iterable[bytes], answer: Answer) -> None:
    novelty = Novelty(answer)
    for text in texts:
        novelty.see(text)
    novelty.rest()


def _ask(indexed: Iterable[tuple[FileGroup, FileIndex]], answer: Answer) -> list[VisibleFile]:
    question = Question(answer)
    for group, index in indexed:
        question.ask(group, index)
    return list(question.suspects())


def _grep(files: Iterable[VisibleFile], answer: Answer) -> None:
    with tempfile.NamedTemporaryFile() as patterns:
        patterns.write(b"\n".join(sorted(answer.all_lines)) + b"\n")
        patterns.flush()
        names = [file.place for file in files]
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
