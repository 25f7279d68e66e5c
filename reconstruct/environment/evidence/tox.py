"""tox: environment lists, factor conditions, substitutions; tox.ini, setup.cfg, pyproject.toml, tox.toml."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from reconstruct.environment.evidence.ini import IniFile, Line, parse_ini
from reconstruct.environment.evidence.model import Origin, PythonHint, Requested
from reconstruct.environment.evidence.requirement_files import resolve
from reconstruct.environment.evidence.requirement_lines import MAX_LINES, parse_line
from reconstruct.environment.evidence.shell import install_commands
from reconstruct.environment.evidence.tox_names import conditions_of, expand_list
from reconstruct.environment.evidence.tree import Notebook, SourceTree
from reconstruct.environment.evidence.versions import python_version

MAX_SUBSTITUTIONS: Final = 200
MAX_DEPTH: Final = 8
MAX_LINE_CHARS: Final = 10_000
_REFERENCE: Final = re.compile(r"\{\[([^\]{}]+)\]([\w-]+)\}")
_VARIABLE: Final = re.compile(r"\{env:[^:{}]+:?([^{}]*)\}")
_POSARGS: Final = re.compile(r"\{posargs:?[^{}]*\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditional:
    """What a line asks for if its conditions (alternatives of factors, `!` negates) hold; none: always."""

    conditions: tuple[tuple[str, ...], ...] = ()
    requested: Requested


@dataclass(frozen=True, slots=True, kw_only=True)
class ToxSection:
    """`testenv` or one named environment; None means that the option isn't set there."""

    name: str
    deps: tuple[Conditional, ...] | None = None
    extras: tuple[Conditional, ...] | None = None
    commands: tuple[Conditional, ...] | None = None

    def named(self) -> tuple[str, ...]:
        """Return every requirement text of the section, whatever its condition."""
        lines = (*(self.deps or ()), *(self.commands or ()))
        return tuple(text for line in lines for text in line.requested.requirements)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToxFacts:
    """Environment names in their order, and the sections that describe them; the first one is `testenv`."""

    environments: tuple[str, ...] = ()
    sections: tuple[ToxSection, ...] = ()
    pythons: tuple[PythonHint, ...] = ()
    command_text: str = ""


def read_tox(
    tree: SourceTree, notes: Notebook, setup_cfg: IniFile | None, pyproject: Mapping[str, Any]
) -> ToxFacts:
    """Return what tox would be told, from the first place that tox itself would look at."""
    tables = _native_tables(pyproject)
    legacy = tables.get("legacy_tox_ini")
    text = tree.read("tox.ini", notes)
    if text is not None:
        found = parse_ini("tox.ini", text)
        if any(name == "tox" or name.startswith("testenv") for name in found.sections):
            return _IniReader(found, "tox", tree, notes).facts()
    if setup_cfg is not None and "tox:tox" in setup_cfg.sections:
        return _IniReader(setup_cfg, "tox:tox", tree, notes).facts()
    if isinstance(legacy, str):
        return _IniReader(parse_ini("pyproject.toml", legacy), "tox", tree, notes).facts()
    return _native(tables, tree, notes)


class _IniReader:
    def __init__(self, ini: IniFile, main: str, tree: SourceTree, notes: Notebook) -> None:
        self._ini = ini
        self._main = main
        self._tree = tree
        self._notes = notes
        self._substitutions = 0

    def facts(self) -> ToxFacts:
        names = self._environment_names()
        sections = [name for name in self._ini.sections if name.startswith("testenv")]
        commands = [line.text for s in sections for line in self._lines(s, "commands")]
        return ToxFacts(
            environments=names,
            sections=tuple(self._section(name) for name in sorted(sections, key=lambda n: n != "testenv")),
            pythons=self._pythons(names),
            command_text="\n".join(commands),
        )

    def _environment_names(self) -> tuple[str, ...]:
        lines = self._lines(self._main, "envlist") or self._lines(self._main, "env_list")
        return expand_list("\n".join(line.text for line in lines))

    def _pythons(self, names: tuple[str, ...]) -> tuple[PythonHint, ...]:
        line = self._ini.line_of(self._main, "envlist") or self._ini.line_of(self._main, "env_list")
        sections = [name[8:] for name in self._ini.sections if name.startswith("testenv:")]
        versions = [v for name in [*names, *sections] if (v := python_version(name.split("-")[0]))]
        for version in dict.fromkeys(versions):
            self._notes.note("tox_python", version, self._ini.path, line)
        return tuple(PythonHint(version=v, origin=Origin.TOX) for v in dict.fromkeys(versions))

    def _section(self, section: str) -> ToxSection:
        return ToxSection(
            name=section.removeprefix("testenv").removeprefix(":"),
            deps=self._conditionals(section, "deps", self._dependency),
            extras=self._conditionals(section, "extras", self._extras),
            commands=self._commands(section),
        )

    def _conditionals(self, section: str, option: str, read: Any) -> tuple[Conditional, ...] | None:
        if option not in self._ini.sections.get(section, {}):
            return None
        found = []
        for line in self._lines(section, option):
            conditions, rest = conditions_of(line.text)
            requested: Requested = read(Line(line.number, rest))
            if requested or requested.constraints:
                found.append(Conditional(conditions=conditions, requested=requested))
        return tuple(found)

    def _dependency(self, line: Line) -> Requested:
        self._notes.note("tox_dep", line.text, self._ini.path, line.number)
        return resolve(
            [parse_line(line.text, line.number)], "", self._tree, self._notes, origin=self._ini.path
        )

    def _extras(self, line: Line) -> Requested:
        names = tuple(part.strip() for part in re.split(r"[,\s]+", line.text) if part.strip())
        for name in names:
            self._notes.note("tox_extra", name, self._ini.path, line.number)
        return Requested(extras=names)

    def _commands(self, section: str) -> tuple[Conditional, ...]:
        lines = [line for option in ("commands_pre", "commands") for line in self._lines(section, option)]
        return tuple(found for line in lines for found in self._installs(line))

    def _installs(self, line: Line) -> Iterator[Conditional]:
        conditions, rest = conditions_of(line.text)
        for command in install_commands(rest.lstrip("- ")):
            if command.tool == "pip":
                self._notes.note("tox_install", rest, self._ini.path, line.number)
                requested = resolve(command.lines, "", self._tree, self._notes, origin=self._ini.path)
                yield Conditional(conditions=conditions, requested=requested)

    def _lines(self, section: str, option: str, depth: int = 0) -> list[Line]:
        """The lines of an option with `{[section]option}` put in place; loops and excess are cut."""
        found: list[Line] = []
        for line in self._ini.lines(section, option)[:MAX_LINES]:
            text = _POSARGS.sub("", _VARIABLE.sub(r"\1", line.text))
            found.extend(self._substituted(Line(line.number, text.split(" #")[0].strip()), depth))
        return [line for line in found if line.text]

    def _substituted(self, line: Line, depth: int) -> Iterator[Line]:
        match = _REFERENCE.search(line.text)
        self._substitutions += bool(match)
        if not match or len(line.text) > MAX_LINE_CHARS:
            yield line
        elif depth < MAX_DEPTH and self._substitutions < MAX_SUBSTITUTIONS:
            conditions, rest = conditions_of(line.text)
            prefix = line.text[: len(line.text) - len(rest)] if conditions else ""
            inner = self._lines(match[1], match[2], depth + 1)
            if rest == match[0]:
                yield from (Line(line.number, prefix + each.text) for each in inner)
            else:
                joined = " ".join(each.text for each in inner)
                text = line.text[: match.start()] + joined + line.text[match.end() :]
                yield from self._substituted(Line(line.number, text), depth + 1)


def _native_tables(pyproject: Mapping[str, Any]) -> Mapping[str, Any]:
    tool = pyproject.get("tool")
    tox = tool.get("tox") if isinstance(tool, dict) else None
    return tox if isinstance(tox, dict) else {}


def _native(tables: Mapping[str, Any], tree: SourceTree, notes: Notebook) -> ToxFacts:
    """Read the TOML form of tox itself: `env_list`, `env_run_base`, `env.NAME`."""
    names = tuple(name for name in tables.get("env_list", []) if isinstance(name, str))
    bodies = {"": tables.get("env_run_base"), **_dict(tables.get("env"))}
    sections = tuple(_native_section(name, _dict(body), tree, notes) for name, body in bodies.items())
    hints = [python_version(name.split("-")[0]) for name in names]
    pythons = tuple(PythonHint(version=v, origin=Origin.TOX) for v in dict.fromkeys(hints) if v)
    for hint in pythons:
        notes.note("tox_python", hint.version, "pyproject.toml")
    return ToxFacts(environments=names, sections=sections if tables else (), pythons=pythons)


def _native_section(name: str, body: dict[str, Any], tree: SourceTree, notes: Notebook) -> ToxSection:
    deps = [parse_line(text) for text in body.get("deps", []) if isinstance(text, str)]
    requested = resolve(deps, "", tree, notes, origin="pyproject.toml")
    own = Requested(extras=_strings(body.get("extras")), groups=_strings(body.get("dependency_groups")))
    return ToxSection(
        name=name,
        deps=(Conditional(requested=requested),) if "deps" in body else None,
        extras=(Conditional(requested=own),) if own else None,
    )


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _strings(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
