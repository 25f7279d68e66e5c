"""What of the second tier has no wheels: built from its sources, one requirement after the other.

All of them have a bound on their time, of which each gets an equal share of what is left. Those that it
wasn't enough for are tried once more when the others are through, with what was built of them. What fails,
or would change what is there already, is lost, and nothing else is lost with it. How far a slow machine
comes may differ; what it came to is locked.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from reconstruct.environment.build_session import UV, BuildCause, BuildSession
from reconstruct.environment.locks import LockedPackage, parse_lock, render_lock
from reconstruct.environment.tiers import (
    build_constraints,
    compile_argv,
    name_of,
    project_exclusion,
    without_project,
)
from reconstruct.environment.undeclared import built_beside
from swequarry.sandbox.contract import PYTHON, EndedBy, ExecResult

_EACH_S = 120.0
_ALL_S = 300.0
_SHARE = 0.4
"""Of the time that is left for a build, optional sources get no more than this."""
_LEAST_S = 2.0
_ROUNDS = 2
_SLOW = ("takes too long to look at", "takes too long to build")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What came in beside what was there, and (name, why) of what didn't."""

    lock: tuple[LockedPackage, ...] = ()
    lost: tuple[tuple[str, str], ...] = ()


def add_from_sources(
    session: BuildSession, present: Sequence[LockedPackage], wanted: Sequence[str]
) -> Sources:
    """Install what can be built of some requirements beside packages that stay as they are."""
    deadline = time.monotonic() + min(_ALL_S, session.left_s * _SHARE)
    packages, lines = list(present), list(wanted)
    lost: dict[str, str] = {}
    for _ in range(_ROUNDS):
        for place, line in enumerate(lines):
            bound = min(_EACH_S, (deadline - time.monotonic()) / (len(lines) - place))
            if bound < _LEAST_S:
                lost.setdefault(name_of(line), "no time is left for its sources")
            else:
                lost[name_of(line)] = _add(session, packages, line, bound)
        lines = [line for line in lines if lost[name_of(line)] in _SLOW]
    failed = tuple((name, why) for name, why in lost.items() if why)
    return Sources(lock=tuple(packages[len(present) :]), lost=failed)


def _add(session: BuildSession, packages: list[LockedPackage], line: str, bound_s: float) -> str:
    """Install one requirement and what it needs; return why it can't be, nothing where it is in."""
    until = time.monotonic() + bound_s

    def run(step: str, argv: tuple[str, ...]) -> ExecResult:
        left_s = max(until - time.monotonic(), _LEAST_S)
        return built_beside(lambda options: session.bounded(step, (*argv, *options), left_s))

    pins = session.write_lines("pins.txt", [package.pin for package in packages])
    more = (*build_constraints(session), *project_exclusion(session))
    target = f"sources-{name_of(line)}.txt"
    argv = compile_argv(session.write_lines("sources.in", [line]), target, pins, more)
    result = run("resolve sources", argv)
    if not result.ok:
        return _SLOW[0] if _out_of_time(result) else "doesn't go with the rest"
    known = {package.name for package in packages}
    found = without_project(session, parse_lock(session.read(target)))
    new = [package for package in found if package.name not in known]
    if not new:
        return ""
    source = session.write_lines("install.txt", render_lock(new).splitlines())
    result = run(
        "install sources",
        (UV, "pip", "install", "--python", PYTHON, "--no-deps", "-r", source, *build_constraints(session)),
    )
    if result.ok:
        packages.extend(new)
        return ""
    names = [package.name for package in new]
    session.uv("remove", "pip", "uninstall", "--python", PYTHON, *names, cause=BuildCause.INSTALL)
    return _SLOW[1] if _out_of_time(result) else "can't be built"


def _out_of_time(result: ExecResult) -> bool:
    return result.ended_by is EndedBy.WALL_LIMIT
