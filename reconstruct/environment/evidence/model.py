"""What readers hand over: small frozen values without behaviour of their own."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Origin(StrEnum):
    """Which kind of place named a Python version or a set of requirements."""

    CLASSIFIER = "classifier"
    TOX = "tox"
    NOX = "nox"
    CI = "ci"
    HATCH = "hatch"
    EXTRA = "extra"
    TESTS_REQUIRE = "tests_require"
    DEPENDENCY_GROUP = "dependency_group"
    POETRY = "poetry"
    PDM = "pdm"
    UV = "uv"
    FLIT = "flit"


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonHint:
    """A Python minor version (`3.9`) that the project says it works with or tests."""

    version: str
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A named set of requirements; all texts are PEP 508."""

    origin: Origin
    name: str
    requirements: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """What some lines ask an installer for.

    `extras` and `groups` are the project's own, `local` are folders of the tree (never the root), `urls`
    the names of distributions that would come from a version control system or an address (maybe empty).
    """

    requirements: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    local: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    def joined(self, other: "Requested") -> "Requested":
        """Return both together, each text once, ours first."""
        return Requested.together((self, other))

    @classmethod
    def together(cls, parts: Iterable["Requested"]) -> "Requested":
        """Return all parts as one, each text once, in their order."""
        known = tuple(parts)
        return cls(
            requirements=_once(part.requirements for part in known),
            constraints=_once(part.constraints for part in known),
            extras=_once(part.extras for part in known),
            groups=_once(part.groups for part in known),
            local=_once(part.local for part in known),
            urls=_once(part.urls for part in known),
        )

    def __bool__(self) -> bool:
        """Whether anything at all is asked for."""
        return bool(self.requirements or self.extras or self.groups or self.local or self.urls)


def _once(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for texts in parts for text in texts))


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementFile:
    """A requirement file that was chosen by its name, with everything that it includes."""

    path: str
    requested: Requested


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """What one CI job or nox session installs; `conda` says that the names are conda's, not the index's."""

    path: str
    job: str
    requested: Requested
    conda: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CondaFile:
    """A conda environment file: `python` is the minor version that it asks for."""

    path: str
    python: str | None
    names: tuple[str, ...]
    requested: Requested


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What a project says about itself in one place; empty and None mean that it isn't said there."""

    name: str | None = None
    version: str | None = None
    requires_python: tuple[str, ...] = ()
    pythons: tuple[PythonHint, ...] = ()
    dependencies: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()
    build_backend: str | None = None
    build_requires: tuple[str, ...] = ()
    version_source: str | None = None
    is_package: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestNeeds:
    """What pytest is told to load: distributions of plugins, and requirement texts from its settings."""

    plugins: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    minimum: str | None = None
    configured: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the project's code lies.

    `modules` are the top-level names that the project offers, `tests` folders and files with tests,
    `local_modules` every name that an import finds in the tree, so that it is no distribution. `compiled` are
    the first sources of extension modules, none of them of tests or documents.
    """

    modules: tuple[str, ...] = ()
    source_folder: str = "."
    tests: tuple[str, ...] = ()
    local_modules: tuple[str, ...] = ()
    lock_files: tuple[str, ...] = ()
    compiled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedNames:
    """Top-level names that Python files import, whatever the condition; `tests` are those of test files.

    `functions` are functions of test files that are called like a plugin's fixture.
    """

    everywhere: frozenset[str] = frozenset()
    tests: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
