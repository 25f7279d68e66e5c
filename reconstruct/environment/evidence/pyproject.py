"""pyproject.toml: PEP 518, PEP 621, PEP 735, and the tables of poetry, flit, pdm, hatch and uv."""

import itertools
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from packaging.utils import canonicalize_name

from reconstruct.environment.evidence.model import Group, Metadata, Origin, PythonHint
from reconstruct.environment.evidence.poetry_versions import to_pep440
from reconstruct.environment.evidence.requirement_lines import MAX_LINES, Kind, parse_line
from reconstruct.environment.evidence.tree import Notebook, SourceTree
from reconstruct.environment.evidence.versions import (
    MAX_REQUIREMENT_CHARS,
    classifier_version,
    python_requirement,
    python_version,
)

PATH: Final = "pyproject.toml"
MAX_INCLUDES: Final = 200
_VERSION_TOOLS: Final = ("setuptools_scm", "versioneer", "pbr", "poetry-dynamic-versioning", "versioningit")


def load_pyproject(tree: SourceTree, notes: Notebook) -> Mapping[str, Any]:
    """Return the parsed file; empty (with a note) where it is absent or broken."""
    text = tree.read(PATH, notes)
    if text is None:
        return {}
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        notes.broken(PATH, f"not TOML: {error}")
        return {}


def read_pyproject(data: Mapping[str, Any], text: str, notes: Notebook) -> Metadata:
    """Return what the file says; `text` is only used to give line numbers.

    Tables of a tool alone don't make a package: without `build-system` installers take setuptools, which
    doesn't read them.
    """
    reader = _Reader(text, notes)
    project, tool = _table(data, "project"), _table(data, "tool")
    poetry, flit = _table(tool, "poetry"), _table(tool, "flit", "metadata")
    build = _table(data, "build-system")
    found = Metadata(
        name=_first_text(project.get("name"), poetry.get("name"), flit.get("dist-name"), flit.get("module")),
        version=_first_text(project.get("version"), poetry.get("version")),
        requires_python=reader.requires_python(project, poetry, flit),
        pythons=reader.pythons(project, poetry, flit, _table(tool, "hatch", "envs")),
        dependencies=reader.dependencies(project, poetry, flit),
        groups=tuple(reader.groups(data, project, tool)),
        build_backend=_first_text(build.get("build-backend")),
        build_requires=reader.texts(build.get("requires"), "build_requires"),
        version_source=_version_source(project, tool, build),
        is_package=bool(project or ((poetry or flit) and build)),
    )
    reader.note_main_facts(found)
    return found


class _Reader:
    """Reads tables tolerantly: what has the wrong type is as if it weren't there."""

    def __init__(self, text: str, notes: Notebook) -> None:
        self._lines = text.split("\n")
        self._notes = notes

    def line_of(self, needle: str) -> int:
        if self._notes.is_full:
            return 0
        return next((n for n, line in enumerate(self._lines, start=1) if needle in line), 0)

    def note(self, key: str, value: str, needle: str | None = None) -> None:
        self._notes.note(key, value, PATH, self.line_of(needle or value))

    def note_main_facts(self, found: Metadata) -> None:
        for key, value in (
            ("name", found.name),
            ("build_backend", found.build_backend),
            ("version_source", found.version_source),
        ):
            if value:
                self.note(key, value)

    def texts(self, value: object, key: str) -> tuple[str, ...]:
        """The named requirements of a list of PEP 508 texts."""
        found = []
        for text in _strings(value):
            line = parse_line(text)
            if line.kind is Kind.NAMED:
                found.append(line.text)
                self.note(key, line.text, text)
            else:
                self.note("requirement_from_url", text)
        return tuple(dict.fromkeys(found))

    def requires_python(self, *tables: Mapping[str, Any]) -> tuple[str, ...]:
        project, poetry, flit = tables
        text = _first_text(
            project.get("requires-python"),
            _version_text(_table(poetry, "dependencies").get("python")),
            flit.get("requires-python"),
        )
        if text is None:
            return ()
        self.note("requires_python", text)
        return python_requirement(text)

    def pythons(self, *tables: Mapping[str, Any]) -> tuple[PythonHint, ...]:
        *metadata, environments = tables
        hints = []
        for table in metadata:
            for classifier in _strings(table.get("classifiers")):
                if version := classifier_version(classifier):
                    self.note("classifier", version, classifier)
                    hints.append(PythonHint(version=version, origin=Origin.CLASSIFIER))
        for environment in _tables(environments):
            matrices = environment.get("matrix")
            for matrix in matrices if isinstance(matrices, list) else []:
                for token in _strings(_table({"m": matrix}, "m").get("python")):
                    if version := python_version(token):
                        self.note("hatch_python", version, token)
                        hints.append(PythonHint(version=version, origin=Origin.HATCH))
        return tuple(dict.fromkeys(hints))

    def dependencies(self, *tables: Mapping[str, Any]) -> tuple[str, ...]:
        project, poetry, flit = tables
        return (
            self.texts(project.get("dependencies"), "dependency")
            or self.poetry(poetry.get("dependencies"), "dependency", optional=False)
            or self.texts(flit.get("requires"), "dependency")
        )

    def poetry(self, table: object, key: str, *, optional: bool = True) -> tuple[str, ...]:
        """Poetry's table of name to constraint, as PEP 508 texts; paths and addresses are dropped."""
        found = []
        for name, value in itertools.islice(table.items() if isinstance(table, dict) else (), MAX_LINES):
            if name.lower() == "python":
                continue
            for text in _poetry_requirements(name, value, optional=optional):
                line = parse_line(text)
                if line.kind is Kind.NAMED:
                    found.append(line.text)
                    self.note(key, line.text, name)
        return tuple(dict.fromkeys(found))

    def groups(
        self, data: Mapping[str, Any], project: Mapping[str, Any], tool: Mapping[str, Any]
    ) -> Iterator[Group]:
        for origin, name, texts in _requirement_lists(data, project, tool):
            if found := self.texts(texts, f"{origin}:{name}"):
                yield Group(origin=origin, name=name, requirements=found)
        poetry = _table(tool, "poetry")
        for name, table in _poetry_groups(poetry):
            if found := self.poetry(table, f"poetry:{name}"):
                yield Group(origin=Origin.POETRY, name=name, requirements=found)
        yield from self._poetry_extras(poetry)

    def _poetry_extras(self, poetry: Mapping[str, Any]) -> Iterator[Group]:
        known = {canonicalize_name(n): (n, v) for n, v in _table(poetry, "dependencies").items()}
        for extra, names in _table(poetry, "extras").items():
            chosen = [known[c] for n in _strings(names) if (c := canonicalize_name(n.split("[")[0])) in known]
            texts = [t for name, value in chosen for t in _poetry_requirements(name, value, optional=True)]
            if texts:
                yield Group(origin=Origin.EXTRA, name=extra, requirements=self.texts(texts, f"extra:{extra}"))


def _requirement_lists(
    data: Mapping[str, Any], project: Mapping[str, Any], tool: Mapping[str, Any]
) -> Iterator[tuple[Origin, str, object]]:
    """Every named list of PEP 508 texts: extras, PEP 735 groups, flit, pdm, uv, hatch."""
    flit = _table(tool, "flit", "metadata")
    for extras in (_table(project, "optional-dependencies"), _table(flit, "requires-extra")):
        for name, texts in extras.items():
            yield Origin.EXTRA, name, texts
    groups = _table(data, "dependency-groups")
    for name in groups:
        yield Origin.DEPENDENCY_GROUP, name, _include_groups(groups, name)
    yield Origin.FLIT, "dev", flit.get("dev-requires")
    yield Origin.UV, "dev", _table(tool, "uv").get("dev-dependencies")
    for name, texts in _table(tool, "pdm", "dev-dependencies").items():
        yield Origin.PDM, name, texts
    for name, environment in _table(tool, "hatch", "envs").items():
        if isinstance(environment, dict):
            both = _strings(environment.get("dependencies")) + _strings(environment.get("extra-dependencies"))
            yield Origin.HATCH, name, both


def _include_groups(groups: Mapping[str, Any], name: str) -> list[str]:
    """The texts of a PEP 735 group with the groups that it includes; loops and excess are cut."""
    by_name = {canonicalize_name(key): value for key, value in groups.items()}
    found: list[str] = []
    seen: set[str] = set()
    waiting = [canonicalize_name(name)]
    while waiting and len(seen) < MAX_INCLUDES:
        current = waiting.pop(0)
        if current in seen:
            continue
        seen.add(current)
        entries = by_name.get(current)
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, str):
                found.append(entry)
            elif isinstance(entry, dict) and isinstance(entry.get("include-group"), str):
                waiting.append(canonicalize_name(entry["include-group"]))
    return found


def _poetry_groups(poetry: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    yield "dev", poetry.get("dev-dependencies")
    for name, group in _table(poetry, "group").items():
        if isinstance(group, dict):
            yield name, group.get("dependencies")


def _poetry_requirements(name: str, value: object, *, optional: bool) -> Iterator[str]:
    """One poetry dependency as PEP 508 texts; a list gives one text per alternative."""
    for entry in value if isinstance(value, list) else [value]:
        table = entry if isinstance(entry, dict) else {"version": entry}
        if table.keys() & {"git", "path", "url", "hg", "file"} or (
            table.get("optional") is True and not optional
        ):
            continue
        version = table.get("version", "*")
        if not isinstance(version, str) or len(version) > MAX_REQUIREMENT_CHARS:
            continue
        specifier = to_pep440(version.split("||")[-1])
        extras = ",".join(_strings(table.get("extras")))
        markers = [str(table["markers"])] if isinstance(table.get("markers"), str) else []
        markers += _python_markers(table.get("python"))
        marker = " and ".join(f"({m})" for m in markers)
        yield f"{name}{f'[{extras}]' if extras else ''}{specifier}{f' ; {marker}' if marker else ''}"


def _python_markers(text: object) -> list[str]:
    if not isinstance(text, str) or not (alternatives := python_requirement(text)):
        return []
    choices = []
    for spec in alternatives:
        parts = [p.strip() for p in spec.split(",") if p.strip()]
        choices.append(" and ".join(_marker(part) for part in parts))
    return [" or ".join(choices)]


def _marker(specifier: str) -> str:
    operator = specifier.rstrip("0123456789.*abcrdevpost")
    version = specifier[len(operator) :]
    variable = (
        "python_version" if version.count(".") <= 1 or version.endswith(".*") else "python_full_version"
    )
    return f'{variable} {operator} "{version}"'


def _version_source(
    project: Mapping[str, Any], tool: Mapping[str, Any], build: Mapping[str, Any]
) -> str | None:
    """Which tool computes the version from version control, if any does."""
    if _table(tool, "hatch", "version").get("source") == "vcs":
        return "hatch-vcs"
    if _table(tool, "pdm", "version").get("source") == "scm":
        return "pdm-scm"
    names = {canonicalize_name(parse_line(text).name or "-") for text in _strings(build.get("requires"))}
    for name in _VERSION_TOOLS:
        if canonicalize_name(name) in names or (name in tool and "version" not in project):
            return name
    return None


def _version_text(value: object) -> object:
    return value.get("version") if isinstance(value, dict) else value


def _first_text(*values: object) -> str | None:
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), None)


def _strings(value: object) -> list[str]:
    return [item for item in value[:MAX_LINES] if isinstance(item, str)] if isinstance(value, list) else []


def _table(data: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    for name in path:
        inner = data.get(name)
        if not isinstance(inner, dict):
            return {}
        data = inner
    return data


def _tables(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [value for value in data.values() if isinstance(value, dict)]
