"""Conda environment files; their names are conda's, not those of the package index."""

import re
from posixpath import basename
from typing import Final

from reconstruct.environment.evidence.model import CondaFile
from reconstruct.environment.evidence.requirement_files import resolve
from reconstruct.environment.evidence.requirement_lines import parse_line
from reconstruct.environment.evidence.texts import YamlReader
from reconstruct.environment.evidence.tree import Notebook, SourceTree
from reconstruct.environment.evidence.versions import python_version
from reconstruct.environment.knowledge import conda_names

_PLACES: Final = re.compile(
    r"(?:(?:\.?ci|conda|\.?conda-envs?|requirements|\.github|envs?|tests?|continuous_integration"
    r"|\.circleci)/(?:[\w.-]+/)?)?[\w.-]+\.ya?ml",
    re.IGNORECASE,
)
_UNSUITABLE: Final = re.compile(
    r"(?<![a-z])(?:min|minimal|minimum|docs?|rtd|windows|win|osx|upstream|bare|all-but|binder|mybinder|lint|nightly|bench\w*|asv|py2\w*)(?![a-z])",
    re.IGNORECASE,
)
_SPEC: Final = re.compile(r"(?:[\w-]+::)?([\w.-]+)\s*(.*)")
MAX_FILES: Final = 30


def read_conda_files(tree: SourceTree, notes: Notebook) -> tuple[CondaFile, ...]:
    """Return the environment files that may serve tests; variants for other purposes are left out."""
    found = []
    reader = YamlReader(tree, notes)
    for path in [p for p in tree.files if _PLACES.fullmatch(p) and not p.startswith(".github/workflows")][
        :MAX_FILES
    ]:
        if _UNSUITABLE.search(basename(path).replace("_", "-")):
            continue
        data = reader.parse(path)
        entries = data.get("dependencies") if isinstance(data, dict) and "channels" in data else None
        if isinstance(entries, list):
            found.append(_read(path, entries, tree, notes))
    return tuple(found)


def _read(path: str, entries: list[object], tree: SourceTree, notes: Notebook) -> CondaFile:
    texts = [entry.strip() for entry in entries if isinstance(entry, str)]
    pip: list[str] = []
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("pip"), list):
            pip.extend(text for text in entry["pip"] if isinstance(text, str))
    names = tuple(dict.fromkeys(name for text in texts if (name := index_requirement(text))))
    python = next((v for text in texts if text.startswith("python") and (v := _python(text))), None)
    notes.note("conda_file", f"python {python or 'any'}, {len(names)} names", path)
    requested = resolve([parse_line(text) for text in pip], path.rpartition("/")[0], tree, notes, origin=path)
    return CondaFile(path=path, python=python, names=names, requested=requested)


def _python(text: str) -> str | None:
    match = _SPEC.fullmatch(text)
    if not match or match[1] != "python":
        return None
    return python_version(match[2].lstrip("=~> ").split("=")[0].split(",")[0])


def index_requirement(text: str) -> str | None:
    """Return a conda match specification as a PEP 508 text; None for what isn't a Python distribution."""
    match = _SPEC.fullmatch(text.split(" #", maxsplit=1)[0].strip())
    if not match or match[1].lower() in {"python", "pip"}:
        return None
    known = conda_names()
    name = match[1].lower()
    mapped = known.get(name, match[1])
    if mapped is None:
        return None
    specifier = match[2].strip()
    if specifier.startswith("=") and not specifier.startswith("=="):
        version = specifier[1:].split("=")[0].rstrip("*.")
        specifier = f"=={version}.*" if version else ""
    line = parse_line(f"{mapped}{specifier.split(' ')[0]}")
    return line.text if line.name else None
