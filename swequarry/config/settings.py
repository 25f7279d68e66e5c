"""All settings, read from plain data or YAML; what is wrong is named with the nearest right name."""

import difflib
from pathlib import Path
from typing import Any, Literal, Self, get_args

import yaml
from pydantic import BaseModel, Field, ValidationError, model_validator

from swequarry.config.curate import CurateSettings
from swequarry.config.environment import EnvironmentSettings, SandboxSettings
from swequarry.config.executor import ExecutorSettings
from swequarry.config.output import ExportSettings, PolicySettings, ReleaseSettings
from swequarry.config.place import BlobsUrl, LedgerUrl
from swequarry.config.proof import ChecksSettings, StabilitySettings, StrengthSettings, VerifySettings
from swequarry.config.section import Section
from swequarry.config.source import SourceSettings
from swequarry.config.writing import InterfaceSettings, LlmSettings, ReviewSettings, WritingSettings
from swequarry.errors import ConfigError


class Settings(Section):
    """All settings of a run.

    `ledger` is the URL of a Postgres database where many machines work, else the ledger is a file of the
    workspace. `blobs` is the URL of a store that all of them reach, of which each keeps copies, no more than
    `blob_cache_gb` of them; else blobs are files of the workspace.
    """

    workspace: Path = Path("quarry")
    cache: Path | None = None
    ledger: LedgerUrl | None = None
    blobs: BlobsUrl | None = None
    blob_cache_gb: float = Field(default=10.0, gt=0)
    workers: int = Field(default=2, ge=1)
    executor: ExecutorSettings = ExecutorSettings()
    max_attempts: int = Field(default=3, ge=1)
    history: Literal["full", "none"] | int = "full"
    source: SourceSettings = SourceSettings()
    curate: CurateSettings = CurateSettings()
    sandbox: SandboxSettings = SandboxSettings()
    environment: EnvironmentSettings = EnvironmentSettings()
    verify: VerifySettings = VerifySettings()
    stability: StabilitySettings = StabilitySettings()
    checks: ChecksSettings = ChecksSettings()
    strength: StrengthSettings = StrengthSettings()
    llm: LlmSettings = LlmSettings()
    interface: InterfaceSettings = InterfaceSettings()
    testwriter: WritingSettings = WritingSettings()
    review: ReviewSettings = ReviewSettings()
    export: ExportSettings = ExportSettings()
    release: ReleaseSettings = ReleaseSettings()
    policy: PolicySettings = PolicySettings()

    @model_validator(mode="after")
    def _what_many_machines_share(self) -> Self:
        if self.executor.kind != "local" and None in (self.ledger, self.blobs):
            raise ValueError("executor.kind ray needs `ledger` and `blobs`, which all machines reach")
        return self


def _known_keys(model: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    place: Any = model
    for part in path:
        if isinstance(place, type) and issubclass(place, BaseModel):
            place = place.model_fields[str(part)].annotation if str(part) in place.model_fields else None
        else:  # a mapping of any keys to one kind of section
            place = next(iter(get_args(place)[1:]), None)
    return list(place.model_fields) if isinstance(place, type) and issubclass(place, BaseModel) else []


_FRIENDLY = {"tuple_type": "must be a list, for instance [a, b]"}


def _explain(error: ValidationError, origin: str) -> str:
    lines = []
    for item in error.errors():
        where = ".".join(str(part) for part in item["loc"] if part != "[key]")
        if item["type"] == "extra_forbidden":
            known = _known_keys(Settings, item["loc"][:-1])
            near = difflib.get_close_matches(str(item["loc"][-1]), known, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else f"; known here: {', '.join(sorted(known))}"
            lines.append(f"{origin}: unknown setting `{where}`{hint}")
        else:
            said = _FRIENDLY.get(item["type"], item["msg"].removeprefix("Value error, "))
            lines.append(f"{origin}: setting `{where}`: {said}")
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
