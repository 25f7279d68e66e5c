"""Disk that each environment has for itself, in the store of the bubblewrap backend.

    python -m benchmarks.disk --store CACHE/worlds/bubblewrap

A file counts as shared if another environment has a link to it; sizes are blocks on disk, in MB. Layers of
one environment alone, and those made before the store shared files, are told apart by their links.
"""

import argparse
import os
import statistics
from pathlib import Path

_BLOCK = 512
_OWN_LINKS = 2
"""A pooled file that one environment has: the link in its layer and the one in the pool."""


def main() -> None:
    """Print how many environments there are, and what they have together and alone."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--store", type=Path, required=True)
    layers = [p / "env" for p in sorted((options.parse_args().store / "layers").iterdir())]
    sizes = [found for layer in layers if layer.is_dir() and (found := _sizes(layer)) is not None]
    if not sizes:
        raise SystemExit("no environment there shares files")
    print("environments\tmedian apparent MB\tmedian own MB\t90 % own MB\tlargest own MB")
    own = sorted(size for _, size in sizes)
    apparent = statistics.median(size for size, _ in sizes)
    figures = (apparent, statistics.median(own), own[int(0.9 * (len(own) - 1))], own[-1])
    print(len(sizes), *(f"{figure:.1f}" for figure in figures), sep="\t")


def _sizes(layer: Path) -> tuple[float, float] | None:
    """Return (apparent, own) MB of a layer; None where nothing of it is in the pool."""
    apparent = own = 0
    pooled = False
    for folder, _, names in os.walk(layer):
        for name in names:
            status = (Path(folder) / name).lstat()
            apparent += status.st_blocks * _BLOCK
            own += status.st_blocks * _BLOCK if status.st_nlink <= _OWN_LINKS else 0
            pooled = pooled or status.st_nlink >= _OWN_LINKS
    return (apparent / 1e6, own / 1e6) if pooled else None


if __name__ == "__main__":
    main()
