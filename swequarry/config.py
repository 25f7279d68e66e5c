"""Settings: YAML in, validated and frozen models out; unknown keys are refused with a did-you-mean.

Secrets come from the environment only. The resolved settings are saved with each run. Settings that
change what comes out (`meaning_of`) are part of a stage's key; workers and paths never are.
"""

import difflib
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from swequarry.errors import ConfigError
from swequarry.records import ContentHash, canonical_json, sha256_hex


class Section(BaseModel):
    """Base of all sections: frozen, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceSettings(Section):
    """Where candidates come from.

    `mirror` is a path template with `{owner}` and `{name}` (clones and bare mirrors alike); without it, or
    where nothing lies there, `url` is a template to clone from into the cache. `limit` counts candidates per
    repository, newest first.
    """

    kind: Literal["git", "rows"] = "git"
    repositories: tuple[str, ...] = ()
    repositories_file: Path | None = None
    rows: Path | None = None
    issues: Path | None = None
    mirror: str | None = None
    url: str = "https://github.com/{owner}/{name}"
    since: str | None = None
    until: str | None = None
    limit: int | None = Field(default=None, ge=1)
    pulls: tuple[int, ...] = ()
    branch: str | None = None


class CurateSettings(Section):
    """What the Curator drops. `statement_from_commits` allows candidates without an issue's text."""

    statement_from_commits: bool = True
    max_gold_files: int = Field(default=100, ge=1)
    max_patch_bytes: int = Field(default=1_000_000, ge=1)


class SandboxSettings(Section):
    """Where foreign code runs, and its limits."""

    backend: Literal["bubblewrap", "docker"] = "bubblewrap"
    base_image: str = "python:{python}-slim"
    memory_mb: int = Field(default=4096, ge=64)
    processes: int = Field(default=512, ge=16)
    disk_mb: int = Field(default=2048, ge=16)
    build_timeout_s: int = Field(default=900, ge=1)


class EnvironmentSettings(Section):
    """How environments are resolved.

    `index_url` is a PEP 503/691 simple index, by default the one that pip would use here; `ca_bundle` a PEM
    file, by default the one that the environment names.
    """

    index_url: str | None = None
    ca_bundle: Path | None = None
    python: str | None = None
    max_tries: int = Field(default=6, ge=1)


class VerifySettings(Section):
    """How tests are run. `runs` is the number of runs of before and of after each."""

    runs: int = Field(default=3, ge=1)
    scope: Literal["touched"] = "touched"
    timeout_s: int = Field(default=1800, ge=1)
    test_timeout_s: int = Field(default=300, ge=1)


class ExportSettings(Section):
    """What the dataset holds. `include_statement_from_commits` lets such tasks into the release."""

    include_statement_from_commits: bool = False
    name: str = "swequarry-dataset"


class Settings(Section):
    """All settings of a run."""

    workspace: Path = Path("quarry")
    cache: Path | None = None
    workers: int = Field(default=2, ge=1)
    max_attempts: int = Field(default=3, ge=1)
    history: Literal["full", "none"] | int = "full"
    source: SourceSettings = SourceSettings()
    curate: CurateSettings = CurateSettings()
    sandbox: SandboxSettings = SandboxSettings()
    environment: EnvironmentSettings = EnvironmentSettings()
    verify: VerifySettings = VerifySettings()
    export: ExportSettings = ExportSettings()


def _known_keys(model: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    for part in path:
        annotation = model.model_fields[str(part)].annotation if str(part) in model.model_fields else None
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            model = annotation
        else:
            return []
    return list(model.model_fields)


def _explain(error: ValidationError, origin: str) -> str:
    lines = []
    for item in error.errors():
        where = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            known = _known_keys(Settings, item["loc"][:-1])
            near = difflib.get_close_matches(str(item["loc"][-1]), known, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else f"; known here: {', '.join(sorted(known))}"
            lines.append(f"{origin}: unknown setting `{where}`{hint}")
        else:
            lines.append(f"{origin}: setting `{where}`: {item['msg']}")
    return "\n".join(lines)


def parse_settings(data: object, origin: str = "settings") -> Settings:
    """Validate plain data as settings.

    Raises:
        ConfigError: an unknown key (with the nearest known one) or a value of the wrong type.
    """
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise ConfigError(f"{origin}: settings are a mapping of names to values, not {type(data).__name__}")
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        raise ConfigError(_explain(error, origin)) from error


def load_settings(path: Path) -> Settings:
    """Read settings from a YAML file; relative paths in it are relative to the current folder.

    Raises:
        ConfigError: the file is missing, isn't YAML, or holds an unknown or impossible setting.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"can't read the settings file {path}: {error.strerror}; name an existing YAML file"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} isn't YAML: {error}") from error
    return parse_settings(data, str(path))


def meaning_of(*sections: Section | str | int) -> ContentHash:
    """Return the hash of the settings that a stage declares as part of its key."""
    data = [
        s.model_dump(mode="json", exclude_defaults=True) if isinstance(s, Section) else s for s in sections
    ]
    return ContentHash(sha256_hex(canonical_json(data)))
