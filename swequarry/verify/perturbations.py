"""What each perturbation is made of: variables, a seed, and taps into the run."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from swequarry.delta import TreeDelta
from swequarry.records import Perturbation, Recipe
from swequarry.sandbox.contract import PYTHON, Command, Limits, SandboxBackend, World
from swequarry.verify.payload import Tap

BURNERS = 2
"""Processes beside the run on its one processor: it gets a third of it, and takes three times as long."""
_YEAR = timedelta(days=366)
_ZONES = ("Asia/Kathmandu", "America/St_Johns")
_LIBRARIES = (
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
    "/usr/lib64/faketime/libfaketime.so.1",
)
"""Where distributions keep libfaketime (Debian: package `faketime`)."""
_ASK = "import threading, time; threading.Event().wait(0.01); print(time.strftime('%Y-%m', time.gmtime()))"
"""Some releases of the library make every wait with a limit endless."""
_PATIENCE_S = 20.0
_ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
_CLOCKS = frozenset({Perturbation.YEAR_AHEAD, Perturbation.LEAP_DAY, Perturbation.CLOCK_CONTROL})


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """How one run is perturbed: variables over those of the recipe, the seed, what goes in with it."""

    seed: int
    variables: Mapping[str, str] = field(default_factory=dict)
    taps: tuple[Tap, ...] = ()

    def recipe(self, recipe: Recipe) -> Recipe:
        """Return a recipe with these variables."""
        own = {**dict(recipe.variables), **self.variables}
        return replace(recipe, variables=tuple(own.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """How dates are faked: the real one, and the path inside of a libfaketime where there is one."""

    now: datetime
    library: str | None = None

    def offset_s(self, perturbation: Perturbation) -> int:
        """Return how far from now a perturbation puts the clock, in seconds."""
        match perturbation:
            case Perturbation.YEAR_AHEAD:
                return int(_YEAR.total_seconds())
            case Perturbation.LEAP_DAY:
                return int((_next_leap_day(self.now) - self.now).total_seconds())
            case _:
                return 0


def _next_leap_day(now: datetime) -> datetime:
    year = next(y for y in range(now.year, now.year + 9) if y % 4 == 0 and (y % 100 or y % 400 == 0))
    noon = datetime(year, 2, 29, 12, tzinfo=UTC)
    return noon if noon > now else _next_leap_day(datetime(year + 1, 1, 1, tzinfo=UTC))


def conditions(
    perturbations: Iterable[Perturbation],
    clock: Clock,
    seed: int,
    turn: int = 0,
    *,
    named_in_ascii: bool = True,
) -> Conditions:
    """Return what some perturbations are made of together; `turn` gives those that have variants another one.

    Test files that aren't `named_in_ascii` can't be found in a locale that knows no other names: then the
    locale changes once Python has started. ALONE and SPREAD are about which tests run, and have nothing here.
    """
    given = frozenset(perturbations)
    variables: dict[str, str] = {}
    taps: list[Tap] = []
    if Perturbation.TIME_ZONE in given:
        variables["TZ"] = _ZONES[turn % len(_ZONES)]
    if Perturbation.LOCALE in given and named_in_ascii:
        variables |= _ASCII
    elif Perturbation.LOCALE in given:
        taps.append(_tap("tongue.py", "spoken", variables=_ASCII))
    if Perturbation.ORDER in given:
        taps.append(_tap("order.py", "reordered", turn=turn))
    if Perturbation.USER in given or Perturbation.PATH in given:
        taps.append(
            _tap("place.py", "placed", user=Perturbation.USER in given, path=Perturbation.PATH in given)
        )
    for perturbation in sorted(given & _CLOCKS):
        faked, tap = _faked(clock, clock.offset_s(perturbation))
        variables |= faked
        taps.append(tap)
    if Perturbation.LOAD in given or Perturbation.ONE_CPU in given:
        taps.append(_tap("load.py", "loaded", burners=BURNERS if Perturbation.LOAD in given else 0))
    moved = other_seed(seed, turn) if Perturbation.SEED in given else seed
    return Conditions(seed=moved, variables=variables, taps=tuple(taps))


def at_moment(clock: Clock, moment: datetime, seed: int) -> Conditions:
    """Return what puts the clock of a run to a moment, before or after now; now itself only fakes it."""
    variables, tap = _faked(clock, int((moment - clock.now).total_seconds()))
    return Conditions(seed=seed, variables=variables, taps=(tap,))


def _faked(clock: Clock, offset_s: int) -> tuple[dict[str, str], Tap]:
    if clock.library is None:
        return {}, _tap("clock.py", "dated", offset_s=offset_s)
    return _faketime(clock.library, offset_s), _tap("clock.py", "sleeping")


def other_seed(seed: int, turn: int) -> int:
    """Return the seed of a variant; negative turns are the runs of verification, which count up by one."""
    return seed + 1_000 * (turn + 1) if turn >= 0 else seed - turn


def _tap(source: str, wrap: str, **settings: object) -> Tap:
    return Tap(source=source, wrap=wrap, settings=json.dumps(settings))


def _faketime(library: str, offset_s: int) -> dict[str, str]:
    """Return the variables of libfaketime: files keep their times, and durations stay what they are."""
    return {
        "LD_PRELOAD": library,
        "FAKETIME": f"{offset_s:+d}",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }


def find_clock(backend: SandboxBackend, world: World, limits: Limits, now: datetime) -> Clock:
    """Return how dates can be faked in a world: by libfaketime where it is there and works.

    Raises:
        SandboxError: the machinery broke.
    """
    wanted = now + _YEAR
    for library in _LIBRARIES:
        offset_s = int(_YEAR.total_seconds())
        command = Command(argv=(PYTHON, "-c", _ASK), variables=_faketime(library, offset_s))
        result = backend.run_once(world, TreeDelta(), command, replace(limits, wall_s=_PATIENCE_S))
        if result.ok and result.output.split()[-1:] == [wanted.strftime("%Y-%m").encode("ascii")]:
            return Clock(now=now, library=library)
    return Clock(now=now)
