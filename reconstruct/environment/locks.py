"""Locks: the hashed requirement lines of everything that is installed, in one canonical text.

Pure. The text is what `uv pip install --require-hashes --no-deps -r` takes; equal environments have equal
locks, byte for byte. The project and its local packages aren't in it: they come from the tree.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from swequarry.sandbox.index_pages import normalise

_PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==(?P<version>[^\s;\\]+)")
_HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedPackage:
    """One distribution at one version, with the SHA-256 of every file that may be installed for it."""

    name: str
    version: str
    hashes: tuple[str, ...]

    @property
    def pin(self) -> str:
        """Return `name==version`."""
        return f"{self.name}=={self.version}"


def parse_lock(text: str) -> tuple[LockedPackage, ...]:
    """Read hashed requirement lines, of a resolver or of a lock; lines that name a path are left out."""
    logical = text.replace("\\\n", " ").splitlines()
    packages = {}
    for line in logical:
        match = _PIN.match(line.strip())
        if match:
            package = LockedPackage(
                name=normalise(match["name"]),
                version=match["version"],
                hashes=tuple(sorted(set(_HASH.findall(line)))),
            )
            packages[package.name] = package
    return tuple(packages[name] for name in sorted(packages))


def render_lock(packages: Iterable[LockedPackage]) -> str:
    """Return the canonical text of a lock: sorted by name, one hash a line."""
    ordered = sorted(packages, key=lambda p: p.name)
    lines = (" \\\n".join([p.pin, *(f"    --hash={h}" for h in p.hashes)]) for p in ordered)
    return "".join(f"{line}\n" for line in lines)


def merge(*locks: Iterable[LockedPackage]) -> tuple[LockedPackage, ...]:
    """Return the union of locks; where two name one distribution, the earlier lock wins."""
    packages: dict[str, LockedPackage] = {}
    for lock in locks:
        for package in lock:
            packages.setdefault(package.name, package)
    return tuple(packages[name] for name in sorted(packages))


@dataclass(frozen=True, slots=True, kw_only=True)
class LockDifference:
    """How an environment differs from its lock; all empty where they agree."""

    unlocked: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    other_version: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.unlocked or self.missing or self.other_version)


def compare(
    locked: Iterable[LockedPackage], installed: Mapping[str, str], local: frozenset[str]
) -> LockDifference:
    """Compare a lock with {name: version} of what is installed; `local` distributions come from the tree."""
    wanted = {package.name: package.version for package in locked}
    present = {normalise(n): v for n, v in installed.items() if normalise(n) not in local}
    return LockDifference(
        unlocked=tuple(sorted(f"{n}=={v}" for n, v in present.items() if n not in wanted)),
        missing=tuple(sorted(set(wanted) - set(present))),
        other_version=tuple(
            sorted(n for n, v in present.items() if n in wanted and not _same_version(v, wanted[n]))
        ),
    )


def _same_version(left: str, right: str) -> bool:
    try:
        return Version(left) == Version(right)
    except InvalidVersion:
        return left == right
