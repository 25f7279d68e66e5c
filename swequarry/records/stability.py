"""How stable each test is: what it did under each perturbation, and why it isn't, where it isn't."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from swequarry.records.base import BlobHash, Record, TestId
from swequarry.records.verification import State, TestOutcome


class Perturbation(StrEnum):
    """What is changed around a run, and should change nothing in it.

    SPREAD runs some of the tests in a process of their own, as pytest-xdist does. CLOCK_CONTROL fakes the
    clock and leaves it right: what it flips is no matter of time but of the faking.
    """

    SEED = "seed"
    ORDER = "order"
    ALONE = "alone"
    SPREAD = "spread"
    TIME_ZONE = "time_zone"
    YEAR_AHEAD = "year_ahead"
    LEAP_DAY = "leap_day"
    LOCALE = "locale"
    ONE_CPU = "one_cpu"
    LOAD = "load"
    USER = "user"
    PATH = "path"
    CLOCK_CONTROL = "clock_control"


class UnstableReason(StrEnum):
    """What an unstable test depends on."""

    ORDER = "order"
    SEED = "seed"
    TIME = "time"
    LOCALE = "locale"
    NETWORK = "network"
    TIMING = "timing"
    RESOURCE = "resource"
    USER = "user"
    PATH = "path"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestStability(Record):
    """One test in one state: runs, passes, and its outcomes by perturbation (`none`, `seed`, `order+seed`).

    `reason` is None for a stable test. `flipped` are the perturbations under which it always did something
    else than without.
    """

    __test__: ClassVar[bool] = False

    id: TestId
    state: State
    runs: int
    passes: int
    reason: UnstableReason | None = None
    flipped: tuple[Perturbation, ...] = ()
    outcomes: tuple[tuple[str, tuple[TestOutcome, ...]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability(Record):
    """The unstable tests of a task, and how much was tried.

    `stable` counts tests by state. `tried` are the perturbations that ran, by state; `spoilt` are those under
    which nothing could be seen: a limit ended the run, or it never began. `table` names a blob
    with every test in JSON. `complete` is false where the budget ended the search or a perturbation was
    spoilt: then a reason may be unknown, and an unstable test may have been missed.
    """

    unstable: tuple[TestStability, ...] = ()
    stable: tuple[tuple[State, int], ...] = ()
    tried: tuple[tuple[State, tuple[str, ...]], ...] = ()
    spoilt: tuple[str, ...] = ()
    runs: int = 0
    table: BlobHash | None = None
    complete: bool = True

    @property
    def quarantined(self) -> tuple[TestId, ...]:
        """The tests that no list may hold, sorted."""
        return tuple(sorted({test.id for test in self.unstable}))
