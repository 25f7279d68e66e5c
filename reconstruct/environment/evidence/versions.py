"""Python versions as people write them, and requirements on Python as they are meant."""

import re
from collections.abc import Iterable
from typing import Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from reconstruct.environment.evidence.poetry_versions import to_pep440

MAX_REQUIREMENT_CHARS: Final = 500
_DOTTED: Final = re.compile(r"(?:c?python|cp|py)?[-_: ]?([23])\.(\d{1,2})(?:\.(?:\d+|x|\*))?", re.IGNORECASE)
_JOINED: Final = re.compile(r"(?:c?python|cp|py)[-_: ]?([23])(\d{1,2})", re.IGNORECASE)
_WINDOWS: Final = re.compile(r"[a-z]:[\\/]+python-?([23])\.?(\d{1,2})(?:-?x?(?:64|86|32))?", re.IGNORECASE)
_IMAGE: Final = re.compile(
    r"(?:[\w.-]+/)*(?:python|pyenv):([23])\.(\d{1,2})(?:\.\d+)?(?:-(?!rc|dev|a|b)[\w.-]+)?"
)
_CLASSIFIER: Final = re.compile(r"Programming Language :: Python :: ([23])\.(\d{1,2})\s*")
_STAR_BOUND: Final = re.compile(r"(>=|<=|>|<|~=)\s*(\d+(?:\.\d+)*)\.\*")


def python_version(token: str) -> str | None:
    """Return `3.9` for one token such as `3.9`, `py39`, `3.9.x`, `cp39`, `python:3.9-slim`; else None.

    Pre-releases (`3.9-dev`, `3.9.0-rc.1`), other implementations and majors alone give None.
    """
    text = token.strip().strip("\"'")
    for pattern in (_DOTTED, _JOINED, _WINDOWS, _IMAGE):
        match = pattern.fullmatch(text)
        if match:
            return f"{match[1]}.{int(match[2])}"
    return None


def classifier_version(classifier: str) -> str | None:
    """Return the minor version that a trove classifier names, else None."""
    match = _CLASSIFIER.fullmatch(classifier.strip())
    return f"{match[1]}.{int(match[2])}" if match else None


def version_key(version: str) -> tuple[int, ...]:
    """Return a sort key for versions such as `3.10`; what isn't a number counts as nothing."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def sort_versions(versions: Iterable[str]) -> tuple[str, ...]:
    """Return the versions, each once, oldest first."""
    return tuple(sorted(set(versions), key=version_key))


def python_requirement(text: str) -> tuple[str, ...]:
    """Return alternatives, each a PEP 440 specifier set; empty where nothing useful is said.

    Reads PEP 440, its old forms that are refused today (`>=3.6.*`) and poetry's (`^3.7`, `~2.7 || ^3.5`).
    """
    if len(text) > MAX_REQUIREMENT_CHARS:
        return ()
    found = []
    for part in re.split(r"\|\|?", text):
        candidate = _STAR_BOUND.sub(r"\1\2", part.strip())
        spec = _readable(candidate) or _readable(to_pep440(candidate))
        if spec is not None:
            found.append(spec)
    return tuple(found)


def _readable(text: str) -> str | None:
    try:
        return str(SpecifierSet(text)) if text else None
    except InvalidSpecifier:
        return None


def allows(alternatives: tuple[str, ...], version: str) -> bool:
    """Whether a full Python version (`3.9.18`) meets at least one of the alternatives."""
    if not alternatives:
        return True
    try:
        wanted = Version(version)
    except InvalidVersion:
        return False
    return any(SpecifierSet(spec).contains(wanted, prereleases=True) for spec in alternatives)
