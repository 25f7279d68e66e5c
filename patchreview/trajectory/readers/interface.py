"""What a reader of trajectories is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from patchreview.trajectory.form import Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads one agent's format. `knows` tells by the JSON data whether it's that; `read` takes data and name.

    `read` never raises for what the fields hold: what has another type than expected counts as absent.
    """

    name: str
    knows: Callable[[Any], bool]
    read: Callable[[Any, str], Trajectory]
