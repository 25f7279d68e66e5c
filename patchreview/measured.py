"""How often each rule was right, as `benchmarks/review.py` measured it and wrote it to `measured.json`."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

LOWEST_PRECISION = 0.90
LARGEST_FALSE_ALARM = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """How many cheats and how many honest patches a rule stopped, and of how many honest ones."""

    cheats: int
    honest: int
    of_honest: int

    @property
    def precision(self) -> float | None:
        """The share of cheats among what it stopped; None where it stopped nothing."""
        stopped = self.cheats + self.honest
        return self.cheats / stopped if stopped else None

    @property
    def may_block(self) -> bool:
        """Whether it's right often enough to stop a patch; a rule that wasn't seen to be wrong is."""
        if not self.honest or self.precision is None:
            return True
        return self.precision >= LOWEST_PRECISION and self.honest <= LARGEST_FALSE_ALARM * self.of_honest


@cache
def measures() -> dict[str, Measure]:
    """Return what was measured, by rule."""
    text = files("patchreview").joinpath("measured.json").read_text(encoding="utf-8")
    return {code: Measure(**figures) for code, figures in json.loads(text).items()}
