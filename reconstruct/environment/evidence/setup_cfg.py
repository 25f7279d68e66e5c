"""setup.cfg of setuptools and of pbr."""

from typing import Final

from reconstruct.environment.evidence.ini import IniFile, Line, parse_ini
from reconstruct.environment.evidence.model import Group, Metadata, Origin, PythonHint
from reconstruct.environment.evidence.requirement_files import read_requirement_file
from reconstruct.environment.evidence.requirement_lines import Kind, parse_line
from reconstruct.environment.evidence.tree import Notebook, SourceTree, inside
from reconstruct.environment.evidence.versions import classifier_version, python_requirement

PATH: Final = "setup.cfg"


def load_ini(path: str, tree: SourceTree, notes: Notebook) -> IniFile | None:
    """Return a parsed INI file, None where it is absent; lines that mean nothing are noted."""
    text = tree.read(path, notes)
    if text is None:
        return None
    parsed = parse_ini(path, text)
    for line in parsed.unreadable:
        notes.broken(path, f"line not understood: {line.text}", line.number)
    return parsed


def read_setup_cfg(ini: IniFile | None, tree: SourceTree, notes: Notebook) -> Metadata:
    """Return what the sections `metadata` and `options` say."""
    if ini is None:
        return Metadata()
    reader = _Reader(ini, tree, notes)
    name = reader.text("metadata", "name", "name")
    spec = reader.text("options", "python_requires", "requires_python") or reader.text(
        "metadata", "python_requires", "requires_python"
    )
    return Metadata(
        name=name,
        version=_static_version(ini.value("metadata", "version")),
        requires_python=python_requirement(spec) if spec else (),
        pythons=reader.pythons(),
        dependencies=reader.requirements("options", "install_requires", "dependency"),
        groups=reader.groups(),
        build_requires=reader.requirements("options", "setup_requires", "build_requires"),
        version_source="versioneer" if "versioneer" in ini.sections else None,
        is_package=bool(name),
    )


class _Reader:
    def __init__(self, ini: IniFile, tree: SourceTree, notes: Notebook) -> None:
        self._ini = ini
        self._tree = tree
        self._notes = notes

    def text(self, section: str, option: str, key: str) -> str | None:
        value = self._ini.value(section, option).strip()
        if value:
            self._notes.note(key, value, PATH, self._ini.line_of(section, option))
        return value or None

    def pythons(self) -> tuple[PythonHint, ...]:
        hints = []
        for option in ("classifiers", "classifier"):
            for line in self._ini.lines("metadata", option):
                if version := classifier_version(line.text):
                    self._notes.note("classifier", version, PATH, line.number)
                    hints.append(PythonHint(version=version, origin=Origin.CLASSIFIER))
        return tuple(dict.fromkeys(hints))

    def requirements(self, section: str, option: str, key: str) -> tuple[str, ...]:
        found: list[str] = []
        for line in self._ini.lines(section, option):
            found.extend(self._line(line, key))
        return tuple(dict.fromkeys(found))

    def _line(self, line: Line, key: str) -> list[str]:
        if line.text.startswith("file:"):
            paths = [inside("", part.strip()) for part in line.text[5:].split(",")]
            return [
                text
                for path in paths
                if path
                for text in read_requirement_file(path, self._tree, self._notes).requirements
            ]
        texts = []
        for part in _split(line.text):
            parsed = parse_line(part, line.number)
            if parsed.kind is Kind.NAMED:
                self._notes.note(key, parsed.text, PATH, line.number)
                texts.append(parsed.text)
        return texts

    def groups(self) -> tuple[Group, ...]:
        found = []
        tests = self.requirements("options", "tests_require", "tests_require")
        if tests:
            found.append(Group(origin=Origin.TESTS_REQUIRE, name="tests_require", requirements=tests))
        for section in ("options.extras_require", "extras"):
            for extra in self._ini.options(section):
                texts = self.requirements(section, extra, f"extra:{extra}")
                found.append(Group(origin=Origin.EXTRA, name=extra.partition(":")[0], requirements=texts))
        return tuple(found)


def _split(text: str) -> list[str]:
    """Parts of a line: setuptools allows `;` between requirements, where pip would expect a marker."""
    line = text.split(" #", maxsplit=1)[0].strip()
    whole = parse_line(line)
    if whole.kind is Kind.NAMED and not whole.note:
        return [line]
    parts = [part.strip() for part in line.split(";") if part.strip()]
    readable = all(part.kind is Kind.NAMED and not part.note for part in map(parse_line, parts))
    return parts if readable else [line]


def _static_version(value: str) -> str | None:
    text = value.strip()
    return text if text and not text.startswith(("attr:", "file:")) else None
