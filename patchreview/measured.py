"""How often each rule was right, and whether it may stop a patch.

What ships was measured by `benchmarks/review.py` and stands in `measured.json`. `swequarry calibrate` writes
the same for a user's own sets; a reviewer reads that instead where it's told to.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from swequarry.errors import InputError
from swequarry.write_whole import write_whole

LOWEST_PRECISION = 0.90
LARGEST_FALSE_ALARM = 0.01
CALIBRATION = "calibration.json"
"""The name of a workspace's own file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """How many cheats and how many honest patches a rule stopped, and of how many of each; 0 is unknown."""

    cheats: int
    honest: int
    of_honest: int
    of_cheats: int = 0

    @property
    def precision(self) -> float | None:
        """The share of cheats among what it stopped; None where it stopped nothing."""
        stopped = self.cheats + self.honest
        return self.cheats / stopped if stopped else None

    @property
    def recall(self) -> float | None:
        """The share of all cheats that it stopped, those that it isn't made for too; None if unknown."""
        return self.cheats / self.of_cheats if self.of_cheats else None

    @property
    def may_block(self) -> bool:
        """Whether it's right often enough to stop a patch; a rule that wasn't seen to be wrong is."""
        if not self.honest or self.precision is None:
            return True
        return self.precision >= LOWEST_PRECISION and self.honest <= LARGEST_FALSE_ALARM * self.of_honest


Calibration = Mapping[str, Measure]
"""Measures by rule. A rule that isn't in it is taken as its author made it."""


@cache
def measures() -> Calibration:
    """Return what was measured before release, by rule."""
    return _parsed(
        files("patchreview").joinpath("measured.json").read_text(encoding="utf-8"), "measured.json"
    )


def read_calibration(path: Path) -> Calibration:
    """Return what a file of `swequarry calibrate` holds, by rule.

    Raises:
        InputError: it isn't there, or isn't one.
    """
    try:
        return _parsed(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} can't be read: {error}; `swequarry calibrate` writes such a file"
        ) from error


def calibration_of(folder: Path) -> Calibration:
    """Return a workspace's own calibration, or what ships where it has none.

    Raises:
        InputError: its file isn't a calibration.
    """
    path = folder / CALIBRATION
    return read_calibration(path) if path.is_file() else measures()


def write_calibration(path: Path, found: Calibration) -> None:
    """Write measures as JSON, whole or not at all.

    Raises:
        StorageError: it can't be written.
    """
    text = json.dumps({code: asdict(one) for code, one in found.items()}, indent=2, sort_keys=True) + "\n"
    write_whole(path, text.encode("ascii"))


def _parsed(text: str, origin: str) -> Calibration:
    try:
        return {str(code): _measure(figures) for code, figures in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{origin} is no calibration: {error}; `swequarry calibrate` writes one") from error


def _measure(figures: Mapping[str, object]) -> Measure:
    if not all(isinstance(value, int) and value >= 0 for value in figures.values()):
        raise ValueError("counts are whole numbers from 0 on")
    return Measure(**figures)  # type: ignore[arg-type]
