"""The options that all benchmarks of the line share."""

import argparse
from pathlib import Path


def parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with --mirror, --workspace, --workers and --sample."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument(
        "--mirror", required=True, help="path template of the mirrors, DIR/{owner}+{name}/repo"
    )
    options.add_argument("--workspace", type=Path, required=True, help="folder that a later call continues")
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--sample", type=int, help="only so many items, the same ones each time")
    return options
