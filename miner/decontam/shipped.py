"""Benchmark lists that come with the program, by their names: `--against swe-bench-repositories`."""

from pathlib import Path

import swequarry

_HERE = Path(swequarry.__file__).resolve().parent
_FOLDERS = (_HERE / "configs" / "benchmarks", _HERE.parent / "configs" / "benchmarks")  # a wheel, a checkout


def shipped_names() -> tuple[str, ...]:
    """Return the names of the lists that come with the program."""
    return tuple(sorted({path.stem for folder in _FOLDERS for path in folder.glob("*.npz")}))


def benchmark_path(path: Path) -> Path:
    """Return the shipped list that a bare name stands for; else, or where a file lies there, the path."""
    if path.is_file() or path.name != str(path):
        return path
    found = (folder / f"{path.name}.npz" for folder in _FOLDERS)
    return next((candidate for candidate in found if candidate.is_file()), path)
