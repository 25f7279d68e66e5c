"""Exact versions from a lock file of the tree: what the project's own people ran the tests with.

Reads uv.lock, poetry.lock and pdm.lock (TOML, `[[package]]`), pylock.toml (PEP 751, `[[packages]]`) and
Pipfile.lock (JSON, `default` and `develop`). The first of them counts. A distribution that isn't from an
index, or that a lock names in several versions (one per platform or Python), is left to the resolver.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from reconstruct.environment.evidence.tree import Notebook, SourceTree

MAX_LOCK_BYTES: Final = 8_000_000
_NAMES: Final = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock")
_ELSEWHERE: Final = ("git", "path", "url", "editable", "directory", "file", "virtual", "vcs", "archive")
_SEEDS: Final = frozenset({"pip", "setuptools", "wheel"})


def read_locked_versions(files: SourceTree, notes: Notebook) -> tuple[str, ...]:
    """Return `name==version` for what the first lock file pins, sorted; empty where there is none."""
    for path in _NAMES:
        text = files.read(path, notes, limit=MAX_LOCK_BYTES)
        if text is None:
            continue
        try:
            data = json.loads(text) if path == "Pipfile.lock" else tomllib.loads(text)
            pins = _pins(_from_pipfile(data) if path == "Pipfile.lock" else _from_toml(data))
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
            notes.broken(path, f"no lock file: {error!r}")
            continue
        if pins:
            notes.note("locked_versions", str(len(pins)), path)
            return pins
    return ()


def _from_toml(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for package in data.get("package") or data.get("packages") or ():
        source = package.get("source")
        kind = source.get("type", "") if isinstance(source, dict) else ""
        places = {*package, *(source if isinstance(source, dict) else ()), kind}
        if not places.intersection(_ELSEWHERE) and "version" in package:
            yield str(package["name"]), str(package["version"])


def _from_pipfile(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for section in ("default", "develop"):
        for name, entry in data.get(section, {}).items():
            version = entry.get("version", "") if isinstance(entry, dict) else ""
            if version.startswith("=="):
                yield name, version.removeprefix("==")


def _pins(found: Iterator[tuple[str, str]]) -> tuple[str, ...]:
    versions: dict[str, set[str]] = {}
    for name, version in found:
        versions.setdefault(canonicalize_name(name), set()).add(version)
    lines = [f"{name}=={next(iter(v))}" for name, v in versions.items() if len(v) == 1 and name not in _SEEDS]
    return tuple(sorted(line for line in lines if _is_requirement(line)))


def _is_requirement(line: str) -> bool:
    try:
        Requirement(line)
    except InvalidRequirement:
        return False
    return True
