"""Everything that a source tree says about how to build and test it, in one frozen value."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from reconstruct.environment.evidence.ci import CiFacts, read_ci
from reconstruct.environment.evidence.conda import read_conda_files
from reconstruct.environment.evidence.imports import scan_imports
from reconstruct.environment.evidence.ini import IniFile
from reconstruct.environment.evidence.layout import read_layout
from reconstruct.environment.evidence.lock_files import read_locked_versions
from reconstruct.environment.evidence.model import (
    CondaFile,
    Group,
    ImportedNames,
    Install,
    Layout,
    Metadata,
    Origin,
    PytestNeeds,
    PythonHint,
    RequirementFile,
)
from reconstruct.environment.evidence.nox import read_nox
from reconstruct.environment.evidence.pyproject import PATH as PYPROJECT
from reconstruct.environment.evidence.pyproject import load_pyproject, read_pyproject
from reconstruct.environment.evidence.pytest_settings import read_pytest_settings
from reconstruct.environment.evidence.requirement_files import read_requirement_file, requirement_files
from reconstruct.environment.evidence.requirement_lines import name_of
from reconstruct.environment.evidence.runners import Runner, read_runner
from reconstruct.environment.evidence.setup_cfg import load_ini, read_setup_cfg
from reconstruct.environment.evidence.setup_py import read_setup_py
from reconstruct.environment.evidence.tox import ToxFacts, read_tox
from reconstruct.environment.evidence.tree import Notebook, SourceTree
from reconstruct.environment.evidence.versions import sort_versions
from swequarry.records import Evidence

DEFAULT_BUILD_REQUIRES: Final = ("setuptools", "wheel")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFacts:
    """What the tree says, read and never run; each finding has its place in `evidence`.

    Texts of requirements are PEP 508. `requires_python` are alternatives of which one must hold, empty where
    nothing is said. `version_source` names the tool that takes the version from version control.
    `is_package` tells whether there is anything to install; else the tree can only be put on the path.
    """

    name: str | None = None
    version: str | None = None
    requires_python: tuple[str, ...] = ()
    pythons: tuple[PythonHint, ...] = ()
    build_backend: str | None = None
    build_requires: tuple[str, ...] = ()
    has_pyproject: bool = False
    has_setup_py: bool = False
    is_package: bool = False
    version_source: str | None = None
    dependencies: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()
    tox: ToxFacts = field(default_factory=ToxFacts)
    nox: tuple[Install, ...] = ()
    ci: tuple[Install, ...] = ()
    requirement_files: tuple[RequirementFile, ...] = ()
    conda_files: tuple[CondaFile, ...] = ()
    locked: tuple[str, ...] = ()
    pytest: PytestNeeds = field(default_factory=PytestNeeds)
    layout: Layout = field(default_factory=Layout)
    imports: ImportedNames = field(default_factory=ImportedNames)
    apt_packages: tuple[str, ...] = ()
    runner: Runner = field(default_factory=Runner)
    evidence: tuple[Evidence, ...] = ()

    def versions(self, *origins: Origin) -> tuple[str, ...]:
        """Return the Python versions that some origins (default: all) name, oldest first."""
        return sort_versions(h.version for h in self.pythons if not origins or h.origin in origins)

    def named(self) -> tuple[str, ...]:
        """Return every requirement text that some file of the project names, in order of their weight."""
        texts = [*self.dependencies, *(text for group in self.groups for text in group.requirements)]
        texts += [text for install in (*self.ci, *self.nox) for text in install.requested.requirements]
        texts += [text for section in self.tox.sections for text in section.named()]
        texts += [text for file in self.requirement_files for text in file.requested.requirements]
        texts += [t for file in self.conda_files for t in (*file.names, *file.requested.requirements)]
        return tuple(dict.fromkeys(texts))

    def extras(self) -> dict[str, tuple[str, ...]]:
        """Return the declared extras and what they ask for."""
        return {group.name: group.requirements for group in self.groups if group.origin is Origin.EXTRA}


def collect_facts(tree: Path) -> ProjectFacts:
    """Read everything that a tree says about its environment; executes nothing, follows no link out.

    Broken, huge or binary files become evidence under the key `broken`.

    Raises:
        FileNotFoundError: there is no folder at `tree`.
    """
    notes = Notebook()
    files = SourceTree.open(tree)
    pyproject = load_pyproject(files, notes)
    setup_cfg = load_ini("setup.cfg", files, notes)
    own = _own_metadata(files, notes, setup_cfg, pyproject)
    tox = read_tox(files, notes, setup_cfg, pyproject)
    nox = read_nox(files, notes)
    ci = read_ci(files, notes)
    pytest = read_pytest_settings(files, notes, setup_cfg, pyproject)
    imports = scan_imports(files, notes)
    found = ProjectFacts(
        name=own.name,
        version=own.version,
        requires_python=own.requires_python,
        pythons=own.pythons + tox.pythons + nox.pythons + ci.pythons,
        build_backend=own.build_backend,
        build_requires=own.build_requires,
        has_pyproject=files.has(PYPROJECT),
        has_setup_py=files.has("setup.py"),
        is_package=own.is_package,
        version_source=own.version_source,
        dependencies=own.dependencies,
        groups=own.groups,
        tox=tox,
        nox=nox.installs,
        ci=ci.installs,
        requirement_files=requirement_files(files, notes),
        conda_files=read_conda_files(files, notes),
        locked=read_locked_versions(files, notes),
        pytest=pytest,
        layout=read_layout(files, notes),
        imports=imports,
        apt_packages=ci.apt_packages,
        runner=_runner(files, notes, own, tox, ci, pytest, imports),
    )
    return replace(found, evidence=notes.entries())


def _own_metadata(
    files: SourceTree, notes: Notebook, setup_cfg: IniFile | None, pyproject: Mapping[str, Any]
) -> Metadata:
    """What the three files of metadata say together; where two say the same thing, the first counts."""
    stated = (
        read_pyproject(pyproject, files.read(PYPROJECT, notes) or "", notes),
        read_setup_cfg(setup_cfg, files, notes),
        read_setup_py(files, notes),
    )
    source = _first(m.version_source for m in stated)
    return Metadata(
        name=_first(m.name for m in stated),
        version=_first(m.version for m in stated),
        requires_python=next((m.requires_python for m in stated if m.requires_python), ()),
        pythons=tuple(dict.fromkeys(hint for m in stated for hint in m.pythons)),
        dependencies=_dependencies(stated, source, files, notes),
        groups=_groups(stated),
        build_backend=stated[0].build_backend,
        build_requires=_build_requires(stated),
        version_source=source,
        is_package=any(m.is_package for m in stated),
    )


def _first(values: Iterable[str | None]) -> str | None:
    return next((value for value in values if value), None)


def _build_requires(stated: tuple[Metadata, ...]) -> tuple[str, ...]:
    """What building asks for: `build-system.requires`, else setuptools, and always `setup_requires`."""
    declared = stated[0].build_requires or DEFAULT_BUILD_REQUIRES
    return tuple(dict.fromkeys(declared + stated[1].build_requires + stated[2].build_requires))


def _dependencies(
    stated: tuple[Metadata, ...], version_source: str | None, files: SourceTree, notes: Notebook
) -> tuple[str, ...]:
    found = next((m.dependencies for m in stated if m.dependencies), ())
    if not found and version_source == "pbr":
        return read_requirement_file("requirements.txt", files, notes).requirements
    return found


def _groups(stated: tuple[Metadata, ...]) -> tuple[Group, ...]:
    """Every group once; where two files give one of the same kind and name, the first file counts."""
    found: dict[tuple[Origin, str], Group] = {}
    for metadata in stated:
        for group in metadata.groups:
            found.setdefault((group.origin, group.name), group)
    return tuple(found.values())


def _runner(
    files: SourceTree,
    notes: Notebook,
    own: Metadata,
    tox: ToxFacts,
    ci: CiFacts,
    pytest: PytestNeeds,
    imports: ImportedNames,
) -> Runner:
    named = {name_of(text) for group in own.groups for text in group.requirements}
    return read_runner(
        files,
        notes,
        f"{tox.command_text}\n{ci.commands}",
        uses_pytest=pytest.configured or "pytest" in named | imports.tests,
        uses_nose="nose" in imports.tests,
    )
