"""Reviews the trajectories of a file or folder, with what snapshots that were run again said of them."""

import json
from collections.abc import Mapping
from pathlib import Path

from patchreview.interface import NO_GROUND, Ground
from patchreview.measured import Calibration
from patchreview.trajectory.files import read_trajectories
from patchreview.trajectory.review import SetReview, review_trajectory
from swequarry.errors import InputError

MEASURED = ".passed.json"
"""Beside a trajectory `NAME`, `NAME.passed.json` maps steps to how many hidden tests their snapshots pass."""


def review_path(path: Path, ground: Ground = NO_GROUND, calibration: Calibration | None = None) -> SetReview:
    """Review a trajectory file, or every one below a folder.

    Raises:
        InputError: there is none, a file can't be read, or measured counts are no JSON object of numbers.
    """
    found = read_trajectories(path)
    folder = path if path.is_dir() else path.parent
    episodes = tuple(
        review_trajectory(one, ground, _measured(folder / f"{one.name}{MEASURED}"), calibration)
        for one in found.trajectories
    )
    return SetReview(episodes=episodes, others=found.others)


def _measured(place: Path) -> Mapping[int, int] | None:
    if not place.is_file():
        return None
    try:
        data = json.loads(place.read_bytes())
        return {int(step): int(passed) for step, passed in data.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f'{place} isn\'t a JSON object of counts by step, such as {{"3": 12}}: {error}'
        ) from error
