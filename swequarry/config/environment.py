"""Where foreign code runs, and how environments are resolved."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from swequarry.config.section import (
    Moment,
    Name,
    Python,
    RepositoryPattern,
    RequirementText,
    Section,
    VariableName,
)


class SandboxSettings(Section):
    """Where foreign code runs, and its limits.

    `runtime` names a runtime of the Docker engine, such as `runsc` (gVisor); by default the engine's own.
    """

    backend: Literal["bubblewrap", "docker"] = "bubblewrap"
    base_image: str = "python:{python}-slim"
    runtime: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    memory_mb: int = Field(default=4096, ge=64)
    processes: int = Field(default=512, ge=16)
    disk_mb: int = Field(default=2048, ge=16)
    build_timeout_s: int = Field(default=900, ge=1)

    @model_validator(mode="after")
    def _runtime_of_an_engine(self) -> Self:
        if self.runtime is not None and self.backend != "docker":
            raise ValueError("runtime is of the Docker engine; set sandbox.backend to docker too")
        return self


class EnvironmentOverride(Section):
    """What a person knows better than the evidence about one repository: data, never a shell command.

    `python`, `extras`, `install`, `test_command` replace what was found. `groups` names dependency groups of
    the project whose requirements are added. `requirements`, `optional`, `constraints`, `build_constraints`
    and `build_requirements` are added, each in place of what was found for the same distribution; with
    `build_requirements` the project is built without isolation. `without` drops distributions. `exempt` gives
    a distribution a later cut-off. `test_command` is one of `test_framework` (pytest where that isn't said)
    and ends where test files are appended.
    """

    python: Python | None = None
    extras: tuple[Name, ...] | None = None
    groups: tuple[Name, ...] = ()
    requirements: tuple[RequirementText, ...] = ()
    optional: tuple[RequirementText, ...] = ()
    constraints: tuple[RequirementText, ...] = ()
    without: tuple[Name, ...] = ()
    build_constraints: tuple[RequirementText, ...] = ()
    build_requirements: tuple[RequirementText, ...] = ()
    install: Literal["editable", "legacy-editable", "path"] | None = None
    local_packages: tuple[str, ...] = ()
    variables: Mapping[VariableName, str] = {}
    exempt: Mapping[Name, Moment] = {}
    test_framework: Literal["pytest", "unittest", "django"] | None = None
    test_command: tuple[str, ...] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _command_of_its_framework(self) -> Self:
        words = self.test_command or ()
        match self.test_framework:
            case _ if self.test_command is None:
                fits = self.test_framework is None
                example = "a `test_command` too"
            case "unittest":
                fits, example = words[-2:] == ("-m", "unittest"), "python -m unittest"
            case "django":
                fits, example = any(word.endswith(".py") for word in words), "python tests/runtests.py"
            case _:
                fits, example = bool({"pytest", "py.test"} & set(words)), "python -m pytest [options]"
        if not fits:
            raise ValueError(f"test_framework {self.test_framework or 'pytest'} needs {example}")
        return self


class EnvironmentSettings(Section):
    """How environments are resolved.

    `index_url` is a PEP 503/691 simple index, by default the one that pip would use here; `ca_bundle` a PEM
    file, by default the one that the environment names. `overrides` maps `owner/name`, or a pattern such as
    `owner/*`, to what is to be done otherwise there; the most specific entry counts, alone.
    """

    index_url: str | None = None
    ca_bundle: Path | None = None
    python: Python | None = None
    max_tries: int = Field(default=6, ge=1)
    overrides: Mapping[RepositoryPattern, EnvironmentOverride] = {}

    def override_for(self, full_name: str) -> tuple[str, EnvironmentOverride] | None:
        """Return the entry that counts for a repository: its own, else that of the longest pattern."""
        name = full_name.lower()
        fitting = [pattern for pattern in self.overrides if fnmatchcase(name, pattern.lower())]
        if not fitting:
            return None
        best = max(fitting, key=lambda pattern: (pattern.lower() == name, len(pattern), pattern))
        return best, self.overrides[best]
