"""Sources of a distribution whose set-up code imports what it doesn't declare, mostly numpy or Cython.

In a build environment of its own such code finds nothing. Where what it imports is in the environment
already, it is built beside that: by the same rule whenever the same packages are installed.
"""

import re
from collections.abc import Callable, Sequence

from reconstruct.environment.knowledge import import_distributions
from reconstruct.environment.locks import LockedPackage
from swequarry.sandbox.contract import ExecResult
from swequarry.sandbox.index_pages import normalise

_FAILED = re.compile(r"Failed to (?:download and )?build `(?P<name>[A-Za-z0-9._-]+)==")
_UNDECLARED = re.compile(r"(?:ModuleNotFound|Import)Error: No module named '?([A-Za-z_][A-Za-z0-9_]*)")
_AT_MOST = 5


def undeclared(output: bytes) -> str | None:
    """Return the distribution whose sources can't be built for want of a module, by what uv says of it."""
    text = output.decode("utf-8", "replace")
    failed = _FAILED.search(text)
    return normalise(failed["name"]) if failed and _UNDECLARED.search(text, failed.start()) else None


def asked_for(output: bytes) -> tuple[str, ...]:
    """Return the distributions of modules that failed builds lack, where they are known for certain."""
    modules = _UNDECLARED.findall(output.decode("utf-8", "replace"))
    known = (import_distributions().get(module) for module in modules)
    return tuple(dict.fromkeys(name for name in known if name))


def beside(names: Sequence[str]) -> tuple[str, ...]:
    """Return the options that let some distributions be built beside what is installed."""
    return tuple(word for name in names for word in ("--no-build-isolation-package", name))


def _as_it_is(_names: tuple[str, ...]) -> None:
    """Leave the environment alone."""


def built_beside(
    attempt: Callable[[tuple[str, ...]], ExecResult], equip: Callable[[tuple[str, ...]], None] = _as_it_is
) -> ExecResult:
    """Return how an attempt ended, with those built beside the environment that can't be built otherwise.

    The attempt takes the options for it; `equip` is told what the environment should have before the next.
    """
    names: list[str] = []
    result = attempt(())
    while not result.ok and len(names) < _AT_MOST:
        name = undeclared(result.output)
        if name is None or name in names:
            break
        names.append(name)
        equip(asked_for(result.output))
        result = attempt(beside(names))
    return result


def installed_in_two(
    packages: Sequence[LockedPackage],
    attempt: Callable[[Sequence[LockedPackage], tuple[str, ...]], ExecResult],
) -> ExecResult:
    """Return how installing packages ended: those that need others for their build come after all others."""
    last: list[str] = []
    while True:
        result = attempt([package for package in packages if package.name not in last], ())
        name = None if result.ok else undeclared(result.output)
        if name is None or name in last or len(last) == _AT_MOST:
            break
        last.append(name)
    if not result.ok or not last:
        return result
    return attempt([package for package in packages if package.name in last], beside(last))
