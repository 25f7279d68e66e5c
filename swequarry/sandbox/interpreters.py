"""Finds the Pythons of this machine: by PATH, by the usual folders, by pyenv's and uv's own places."""

import hashlib
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from packaging.version import Version

from swequarry.sandbox.contract import Interpreter

_QUERY = """
import json, platform, sys
print(json.dumps({
    "name": platform.python_implementation(), "version": platform.python_version(),
    "prefix": sys.prefix, "base": getattr(sys, "base_prefix", sys.prefix),
}))
"""
_QUERY_TIMEOUT_S = 20
_OLDEST = Version("3.6")
_NAMES = ("python3", "python3.[0-9]", "python3.[0-9][0-9]")


def _pyenv_roots() -> Iterator[Path]:
    if os.environ.get("PYENV_ROOT"):
        yield Path(os.environ["PYENV_ROOT"])
    yield Path.home() / ".pyenv"
    yield Path("/opt/pyenv")


def _uv_folder() -> Path:
    if os.environ.get("UV_PYTHON_INSTALL_DIR"):
        return Path(os.environ["UV_PYTHON_INSTALL_DIR"])
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return data / "uv" / "python"


def origin_of(python: Interpreter) -> str:
    """Return who put an interpreter of this machine there: pyenv, uv, the system, or nobody we know."""
    prefix = Path(python.prefix)
    if any(prefix.is_relative_to(root) for root in _pyenv_roots()):
        return "pyenv"
    if prefix.is_relative_to(_uv_folder()):
        return "uv"
    return "system" if prefix == Path("/usr") else "other"


def _found(folder: Path, pattern: str) -> list[Path]:
    """Return what a pattern finds; nothing in folders closed to us: a PATH handed on by root names some."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


def _folders() -> Iterator[Path]:
    yield Path(sys.base_prefix) / "bin"
    for root in _pyenv_roots():
        yield from _found(root, "versions/*/bin")
    yield from _found(_uv_folder(), "*/bin")
    for pattern in ("python*/bin", "python/*/bin"):
        yield from _found(Path("/opt"), pattern)
    yield from (Path("/usr/bin"), Path("/usr/local/bin"))
    yield from (Path(part) for part in os.environ.get("PATH", "").split(os.pathsep) if part.startswith("/"))


def _candidates(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield each real interpreter file once."""
    seen = set()
    for folder in folders:
        for name in _NAMES:
            for path in _found(folder, name):
                real = path.resolve()
                if real not in seen and os.access(real, os.X_OK) and real.is_file():
                    seen.add(real)
                    yield path


def _ask(path: Path) -> Interpreter | None:
    """Return what a Python says of itself; None for other programs, virtual environments, other kinds."""
    try:
        done = subprocess.run(
            [path, "-I", "-S", "-c", _QUERY],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_QUERY_TIMEOUT_S,
            env={"PATH": os.defpath, "LC_ALL": "C"},
        )
        said = json.loads(done.stdout)
        version = Version(said["version"])
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        return None
    if said["name"] != "CPython" or said["prefix"] != said["base"] or version < _OLDEST:
        return None
    minor = ".".join(said["version"].split(".")[:2])
    inside = Path(said["prefix"]) / "bin" / f"python{minor}"
    return Interpreter(version=said["version"], path=os.fspath(inside), prefix=said["prefix"])


def _is_script(path: Path) -> bool:
    try:
        with path.open("rb") as handle:
            return handle.read(2) == b"#!"
    except OSError:
        return True


def newest_first(found: Iterable[Interpreter]) -> tuple[Interpreter, ...]:
    """Return interpreters by version, newest first, one per prefix and version."""
    unique = {(python.version, python.prefix): python for python in found}
    return tuple(sorted(unique.values(), key=lambda p: (Version(p.version), p.prefix), reverse=True))


def _state(paths: Sequence[Path]) -> str:
    """Name the state of some programs: another one after an upgrade."""
    lines = []
    for path in paths:
        status = path.stat()
        lines.append(f"{path}\0{path.resolve()}\0{status.st_ino}\0{status.st_mtime_ns}\0{status.st_size}")
    return hashlib.sha256(os.fsencode("\n".join(lines))).hexdigest()


def _remembered(cache: Path | None, state: str) -> tuple[Interpreter, ...] | None:
    if cache is None:
        return None
    try:
        data = json.loads(cache.read_bytes())
        return tuple(Interpreter(**item) for item in data["interpreters"]) if data["state"] == state else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remember(cache: Path, state: str, found: tuple[Interpreter, ...]) -> None:
    data = {
        "state": state,
        "interpreters": [{"version": p.version, "path": p.path, "prefix": p.prefix} for p in found],
    }
    claim = cache.with_suffix(f".{secrets.token_hex(6)}")
    try:
        claim.write_text(json.dumps(data, indent=1), encoding="ascii")
        claim.rename(cache)
    except OSError:
        claim.unlink(missing_ok=True)


def discover(
    folders: Iterable[Path] | None = None,
    cache: Path | None = None,
    runs: Callable[[Interpreter], bool] = lambda _: True,
) -> tuple[Interpreter, ...]:
    """Return the CPythons from 3.6 on that answer on this machine and pass `runs`, newest first.

    Shims, virtual environments and broken installations are left out. `folders` replaces the usual places;
    `cache` is a file that remembers the answer until one of the programs changes.
    """
    paths = [p for p in _candidates(_folders() if folders is None else folders) if not _is_script(p)]
    state = _state(paths)
    found = _remembered(cache, state)
    if found is None:
        asked = (_ask(path) for path in paths)
        found = newest_first(p for p in asked if p and Path(p.path).exists() and runs(p))
        if cache is not None:
            _remember(cache, state, found)
    return found
