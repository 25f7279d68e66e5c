"""Leaks that a place shows, not a content: names of the task, second copies, byte code without source."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from packaging.utils import canonicalize_name, canonicalize_version

from swequarry.records import LeakFinding

_LISTS = r"(?i)fail_to_pass|pass_to_pass"
_IN_PATHS, _IN_VALUES = re.compile(_LISTS), re.compile(_LISTS + r"|swe[_-]?bench")
"""A path may name a benchmark that is a dependency; a variable has no reason to."""
_METADATA = re.compile(r"/(?P<name>[^/]+?)-(?P<version>[^-/]+)(?:-py[\d.]+)?\.(?:dist|egg)-info/")
_PACKAGES = re.compile(r"/(?:site|dist)-packages/(?P<below>.+)$")
_TOP_FOLDERS = (".", "src", "lib")
"""Where a module without a package is importable by its own name."""
_HEADER = 16
_FIRST_WITH_FLAGS = 3390
_PYTHON_2 = 20_000


def task_names(instance_id: str, repo: str, pull_number: int | None) -> tuple[str, ...]:
    """Return what names a task and mustn't be in its world: its id, and its pull request's address."""
    names = [instance_id]
    if pull_number is not None:
        names += [f"{repo}/pull/{pull_number}", f"{repo}#{pull_number}"]
    return tuple(names)


def named_in(text: str, names: Sequence[str], marks: re.Pattern[str] = _IN_VALUES) -> str | None:
    """Return the name of the task, or of a benchmark's field, that a text has; None where there is none."""
    held = (name for name in names if name in text)
    found = next((name for name in held if re.search(rf"{re.escape(name)}(?!\d)", text)), None)
    if found is None:
        match = marks.search(text)
        found = match[0] if match else None
    return found


def name_findings(texts: Mapping[str, str], names: Sequence[str]) -> list[LeakFinding]:
    """Return findings for texts by their place (`variable NAME`, `label NAME`, `history 3`)."""
    found = []
    for place, text in texts.items():
        named = named_in(f"{place} {text}", names)
        if named is not None:
            found.append(LeakFinding(path=place, kind="name", evidence=(named,)))
    return found


def file_name_finding(path: str, names: Sequence[str]) -> LeakFinding | None:
    """Return a finding where a path has the id of the task or a field of a benchmark."""
    named = named_in(path, names, _IN_PATHS)
    return LeakFinding(path=path, kind="name", evidence=(named,)) if named else None


def package_paths(changed: Iterable[str], files: frozenset[str]) -> frozenset[str]:
    """Return where changed modules would lie in site-packages, with the first file of their packages.

    A package is a folder of the base tree with an `__init__.py`: `src/a/b.py` gives `a/b.py` and
    `a/__init__.py`.
    """
    found = set()
    for name in changed:
        path = PurePosixPath(name)
        top = path
        while (top.parent / "__init__.py").as_posix() in files:
            top = top.parent
        if path.suffix != ".py":
            continue
        if top != path:
            found |= {path.relative_to(top.parent).as_posix(), f"{top.name}/__init__.py"}
        elif path.parent.as_posix() in _TOP_FOLDERS:
            found.add(path.name)
    return frozenset(found)


def is_second_copy(path: str, modules: frozenset[str]) -> bool:
    """Whether a path is a module of the project among installed packages, beside the checkout."""
    match = _PACKAGES.search(path)
    return match is not None and match["below"] in modules


def metadata_finding(path: str, project: str | None, version: str | None) -> LeakFinding | None:
    """Return a finding where metadata of the project's own distribution has another version than base."""
    match = _METADATA.search(path)
    if match is None or project is None or version is None:
        return None
    if canonicalize_name(match["name"]) != canonicalize_name(project):
        return None
    if canonicalize_version(match["version"].replace("_", "-")) == canonicalize_version(version):
        return None
    told = f"{match['name']} {match['version']} beside {version} of the base"
    return LeakFinding(path=path, kind="copy", evidence=(told,))


def source_of(path: str) -> str | None:
    """Return the path of the source that byte code belongs to (PEP 3147); None for other files."""
    if not path.endswith(".pyc"):
        return None
    place = PurePosixPath(path)
    if place.parent.name == "__pycache__":
        return (place.parent.parent / (place.name.partition(".")[0] + ".py")).as_posix()
    return path[:-1]


def foreign_code(path: str, recorded: int | None, source_size: int | None) -> LeakFinding | None:
    """Return a finding for byte code of a changed module's name that isn't of the source beside it.

    `recorded` is what `recorded_size` says, `source_size` is None where no source is beside it.
    """
    if source_size is None:
        return LeakFinding(path=path, kind="byte code", evidence=("no source is beside it",))
    if recorded is None or is_explained(recorded, source_size):
        return None
    told = f"made from a source of {recorded} bytes, the one beside it has {source_size}"
    return LeakFinding(path=path, kind="byte code", evidence=(told,))


def is_explained(recorded: int | None, source_size: int | None) -> bool:
    """Whether byte code is that of the source beside it, which is looked at by itself."""
    return recorded is not None and source_size is not None and recorded == source_size & 0xFFFFFFFF


def recorded_size(data: bytes) -> int | None:
    """Return the size of the source that byte code was made from, None where it records none.

    Since 3.7 there are flags before time and size (PEP 552), in Python 2 no size; see `MAGIC_NUMBER` in
    Lib/importlib/_bootstrap_external.py.
    """
    magic = int.from_bytes(data[:2], "little")
    if len(data) < _HEADER or magic >= _PYTHON_2:
        return None
    if magic < _FIRST_WITH_FLAGS:
        return int.from_bytes(data[8:12], "little")
    return None if int.from_bytes(data[4:8], "little") else int.from_bytes(data[12:16], "little")
