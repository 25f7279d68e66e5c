"""The second tier of an environment: what may be there.

It takes the first tier as constraints, wheels where they go together, and what has none from its sources. It
may lose any member and never changes the first; what is installed but can't be imported is removed again,
because programs that use it if present break.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reconstruct.environment.build_session import UV, BuildCause, BuildSession
from reconstruct.environment.locks import LockedPackage, parse_lock, render_lock
from reconstruct.environment.optional_sources import add_from_sources
from reconstruct.environment.tiers import compile_argv, name_of, project_exclusion, unnamed, without_project
from swequarry.sandbox.contract import PYTHON
from swequarry.sandbox.index_pages import normalise

_IMPORT_SECONDS = 60
_WIDTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionalTier:
    """What became of the second tier; `lost` are (name, why)."""

    lock: tuple[LockedPackage, ...] = ()
    lost: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resolved:
    members: tuple[str, ...] = ()
    lock: tuple[LockedPackage, ...] = ()


def install_optional(session: BuildSession, first: Sequence[LockedPackage]) -> OptionalTier:
    """Install as much of the second tier as goes with the first, import it, and drop what is dead."""
    wanted = tuple(unnamed(session.recipe.optional, [package.name for package in first]))
    if not wanted:
        return OptionalTier()
    pins = session.write_lines("pins.txt", [package.pin for package in first])
    resolved = _most(session, pins, _Resolved(), wanted)
    present = {package.name for package in first}
    new = tuple(package for package in resolved.lock if package.name not in present)
    members = resolved.members if _installed(session, new) else ()
    wheels = new if members else ()
    rest = [line for line in wanted if line not in members]
    built = add_from_sources(session, (*first, *wheels), rest)
    names = {name for name, _ in built.lost}
    alive = [name_of(line) for line in wanted if name_of(line) not in names]
    lock = (*wheels, *built.lock)
    dead = _remove_dead(session, alive, {package.name for package in lock})
    gone = {name for name, _ in dead}
    kept = tuple(package for package in lock if package.name not in gone)
    return OptionalTier(lock=kept, lost=tuple(sorted([*built.lost, *dead])))


def _installed(session: BuildSession, packages: Sequence[LockedPackage]) -> bool:
    if not packages:
        return True
    source = session.write_lines("install.txt", render_lock(packages).splitlines())
    argv = (UV, "pip", "install", "--python", PYTHON, "--no-deps", "-r", source, "--only-binary", ":all:")
    return session.attempt("install optional", argv).ok


def _most(session: BuildSession, pins: str, kept: _Resolved, group: tuple[str, ...]) -> _Resolved:
    """Return the largest set found of `kept` and members of `group` that resolves.

    Where the group as a whole doesn't, the members that the resolver complains of are tried apart from the
    others, and where it complains of all or none, one half apart from the other.
    """
    if not group:
        return kept
    lock, complaint = _resolve(session, pins, kept.members + group)
    if lock is not None:
        return _Resolved(members=kept.members + group, lock=lock)
    if len(group) == 1:
        return kept
    blamed = tuple(line for line in group if name_of(line) in complaint)
    if not blamed or len(blamed) == len(group):
        blamed = group[len(group) // 2 :]
    others = tuple(line for line in group if line not in blamed)
    return _most(session, pins, _most(session, pins, kept, others), blamed)


def _resolve(
    session: BuildSession, pins: str, members: Sequence[str]
) -> tuple[tuple[LockedPackage, ...] | None, frozenset[str]]:
    """Return the lock of some members, or None and every name in the resolver's complaint."""
    source = session.write_lines("tier2.in", members)
    argv = compile_argv(source, "tier2.txt", pins, ("--only-binary", ":all:", *project_exclusion(session)))
    result = session.attempt("resolve optional", argv)
    if result.ok:
        return without_project(session, parse_lock(session.read("tier2.txt"))), frozenset()
    text = result.output.decode("utf-8", "replace")
    return None, frozenset(normalise(word) for word in re.findall(r"[A-Za-z0-9][A-Za-z0-9._-]*", text))


def _remove_dead(session: BuildSession, roots: Sequence[str], removable: set[str]) -> list[tuple[str, str]]:
    """Import every root; remove what the deepest frame of an error blames, until nothing is dead."""
    dead: list[tuple[str, str]] = []
    alive = sorted(set(roots) & removable)
    while alive:
        report = session.script("import check", "import_check.py", str(_IMPORT_SECONDS), *alive)
        if not report:
            break
        root, finding = min(report.items())
        culprit = finding["blame"] if finding["blame"] in removable else root
        removable.discard(culprit)
        dead.append((culprit, " ".join(finding["error"].split())[:_WIDTH]))
        session.uv("remove dead", "pip", "uninstall", "--python", PYTHON, culprit, cause=BuildCause.INSTALL)
        alive = [name for name in sorted(report) if name in removable]
    return dead
