"""Tables of knowledge about the Python world, kept as data files beside this module.

They say things that hold for every project: when interpreters appeared, which distribution an import
name means, which plugin an option belongs to. No project under test is named in them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from reconstruct.environment.evidence.versions import version_key
from swequarry.errors import InputError


def _load(name: str) -> Any:
    resource = files("reconstruct.environment").joinpath(name)
    try:
        return yaml.safe_load(resource.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise InputError(
            f"the data file {name} of this installation is damaged: {error}; install it again"
        ) from error


def _moment(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


@cache
def python_releases() -> Mapping[str, datetime]:
    """Minor versions of CPython (`3.9`) and the days on which they were released."""
    return {version: _moment(day) for version, day in _load("python_releases.yaml").items()}


@cache
def import_distributions() -> Mapping[str, str]:
    """Import names and the distributions that provide them, where it is known for certain."""
    table: Mapping[str, Any] = _load("import_names.yaml")
    same = {name.replace("-", "_"): name for name in table["same_name"]}
    return {**same, **table["other_name"]}


@cache
def conda_names() -> Mapping[str, str | None]:
    """Conda's names whose distribution is called otherwise; None: there is none, or not the same project."""
    table: Mapping[str, str | None] = _load("conda_names.yaml")
    return table


@cache
def late_uploads() -> Mapping[str, datetime]:
    """Distributions whose old files carry a later upload date, and the cut-off that they need."""
    return {name: _moment(day) for name, day in _load("late_uploads.yaml").items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendRule:
    """A build back-end: how it is named in `requires`, and the first version with editable installs."""

    distribution: str
    first_editable: str


@cache
def build_backends() -> Mapping[str, BackendRule]:
    """Rules by canonical distribution name."""
    return {
        name: BackendRule(distribution=name, first_editable=first)
        for name, first in _load("build_backends.yaml").items()
    }


@cache
def at_run_time() -> Mapping[str, str]:
    """Build requirements, and what must be at run time what they were built against: pins are for wheels."""
    table: Mapping[str, str] = _load("build_time.yaml")["as_at_run_time"]
    return table


@cache
def tools_on_import() -> Mapping[str, tuple[str, ...]]:
    """Back-ends whose editable installs build again on import, with the tools that they need then."""
    return {name: tuple(tools) for name, tools in _load("build_time.yaml")["build_on_import"].items()}


@cache
def is_not_needed(name: str) -> bool:
    """Whether tests can do without a distribution: linters, formatters, documentation, release tools.

    `name` is canonical (PEP 503).
    """
    return name in _not_needed_names() or any(
        fnmatchcase(name, pattern) for pattern in _not_needed_patterns()
    )


@cache
def is_heavy(name: str) -> bool:
    """Whether a distribution is so large that it isn't taken along on the chance that it is of use."""
    return any(fnmatchcase(name, pattern) for pattern in _not_needed_table()["heavy"])


@cache
def wants_system_libraries(name: str) -> bool:
    """Whether a distribution without a wheel is built against libraries that a machine rarely has."""
    return name in _not_needed_table()["system_libraries"]


@cache
def is_of_no_use(name: str, python: str) -> bool:
    """Whether a distribution is for another system than Linux, or in the library of a Python already."""
    if any(fnmatchcase(name, pattern) for pattern in _not_needed_table()["other_platforms"]):
        return True
    first = _standard_library().get(name)
    return first is not None and version_key(first) <= version_key(python)


@cache
def _standard_library() -> Mapping[str, str]:
    table: Mapping[str, str] = _load("standard_library.yaml")
    return table


@cache
def _not_needed_table() -> Mapping[str, list[str]]:
    table: Mapping[str, list[str]] = _load("not_needed.yaml")
    return table


@cache
def _not_needed_names() -> frozenset[str]:
    apart = {"heavy", "other_platforms", "system_libraries", "patterns"}
    kinds = _not_needed_table().items()
    return frozenset(name for kind, names in kinds if kind not in apart for name in names)


@cache
def _not_needed_patterns() -> tuple[str, ...]:
    return tuple(_not_needed_table()["patterns"])


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginTable:
    """By what pytest plugins are recognised; every value is a distribution."""

    distributions: frozenset[str]
    options: Mapping[str, str]
    short_options: Mapping[str, str]
    settings: Mapping[str, str]
    fixtures: Mapping[str, str]
    markers: Mapping[str, str]
    modules: Mapping[str, str]


@cache
def plugin_table() -> PluginTable:
    """Return the table of pytest plugins."""
    entries: Mapping[str, Mapping[str, list[str]]] = _load("pytest_plugins.yaml")

    def by(kind: str) -> dict[str, str]:
        return {key: name for name, entry in entries.items() for key in (entry or {}).get(kind, [])}

    return PluginTable(
        distributions=frozenset(entries),
        options=by("options"),
        short_options=by("short_options"),
        settings=by("settings"),
        fixtures=by("fixtures"),
        markers=by("markers"),
        modules=by("modules"),
    )
