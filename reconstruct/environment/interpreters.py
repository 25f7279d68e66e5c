"""Which interpreters to try for a project as of a date, and what the date becomes with each."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from reconstruct.environment.evidence.versions import allows, version_key
from reconstruct.environment.knowledge import python_releases
from swequarry.sandbox.contract import Interpreter

SETTLING: Final = timedelta(days=150)
"""How long after an interpreter's release its wheels need to appear."""
SHIFT: Final = timedelta(days=365)
"""Where no interpreter is old enough, the date becomes the interpreter's release and this."""
SLACK: Final = timedelta(days=1)
MAX_INTERPRETERS: Final = 3


def minor_of(version: str) -> str:
    """Return `3.9` for `3.9.18`."""
    return ".".join(str(part) for part in version_key(version)[:2])


def effective_date(*moments: datetime) -> datetime:
    """Return the latest of some moments and one day, in UTC; a moment without zone counts as UTC."""
    aware = [m.replace(tzinfo=UTC) if m.tzinfo is None else m.astimezone(UTC) for m in moments]
    return max(aware) + SLACK


def shifted_date(effective: datetime, python: str) -> datetime:
    """Return the date as of which an interpreter's packages are resolved: later if it is younger."""
    released = python_releases().get(python)
    return released + SHIFT if released is not None and released > effective else effective


def choose_interpreters(
    available: Sequence[Interpreter],
    *,
    requires_python: tuple[str, ...],
    supported: Iterable[str],
    effective: datetime,
) -> tuple[str, ...]:
    """Return minor versions to try, best first; empty where the project supports none that is here.

    The newest that the project names, that its requirement allows and that had settled by the date; then
    older ones. A project that is older than every interpreter here gets the oldest ones; one that names
    Python 2 alone gets the oldest one, because lists of versions are often behind the code.
    """
    usable = _usable(available, requires_python)
    supported = tuple(supported)
    named = {version for version in supported if version_key(version) >= (3,)}
    if not usable:
        return ()
    if not named and any(version_key(v)[:1] == (2,) for v in supported) and not requires_python:
        return (usable[-1],)
    settled = [v for v in usable if python_releases()[v] + SETTLING <= effective]
    matching = [v for v in settled if v in named] if named else settled
    if matching:
        return tuple((matching + _neighbours(settled, matching[0], set(matching)))[:MAX_INTERPRETERS])
    return tuple(_nearest(usable, named, effective)[:MAX_INTERPRETERS])


def _usable(available: Sequence[Interpreter], requires_python: tuple[str, ...]) -> list[str]:
    """Minor versions that the requirement allows, newest first."""
    minors = {minor_of(i.version) for i in available if allows(requires_python, i.version)}
    return sorted(minors & python_releases().keys(), key=version_key, reverse=True)


def _neighbours(settled: list[str], best: str, taken: set[str]) -> list[str]:
    """What the project doesn't name but might run on: older ones first, then the next newer one."""
    older = [v for v in settled if v not in taken and version_key(v) < version_key(best)]
    newer = [v for v in reversed(settled) if v not in taken and version_key(v) > version_key(best)]
    return older[:1] + newer[:1]


def _nearest(usable: list[str], named: set[str], effective: datetime) -> list[str]:
    """None that is named had settled: named ones oldest first, then what is nearest to them and the date."""
    here = [v for v in reversed(usable) if v in named]
    newest_named = max((version_key(v) for v in named), default=(0,))
    rest = [v for v in reversed(usable) if v not in named]
    released = [v for v in rest if python_releases()[v] <= effective]
    younger = [v for v in rest if v not in released]
    above = [v for v in released if version_key(v) > newest_named]
    below = [v for v in reversed(released) if v not in above]
    return here + above + below + younger
