"""The options that all benchmarks of the line share, and what --sample means."""

import argparse
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
_OFF: Mapping[str, Mapping[str, Any]] = {
    "stability": {"budget": "off"},
    "checks": {"enabled": False},
    "strength": {"enabled": False},
}


def parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with --mirror, --workspace, --workers, --without and --sample."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument(
        "--mirror", required=True, help="path template of the mirrors, DIR/{owner}+{name}/repo"
    )
    options.add_argument("--workspace", type=Path, required=True, help="folder that a later call continues")
    options.add_argument("--workers", type=int, default=2)
    options.add_argument(
        "--without", nargs="*", choices=sorted(_OFF), default=[], help="stages that the figure doesn't need"
    )
    options.add_argument("--sample", type=int, help="only so many items, the same ones each time")
    return options


def line_settings(given: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of the line that the options of `parser` are about, the source apart."""
    off = {name: dict(_OFF[name]) for name in given.without}
    return {"workspace": str(given.workspace), "workers": given.workers, **off}


def sampled(items: Sequence[T], size: int | None) -> list[T]:
    """Return so many items in their order, the same ones each time; all where no size is given."""
    if size is None or size >= len(items):
        return list(items)
    places = sorted(random.Random(0).sample(range(len(items)), size))
    return [items[place] for place in places]
