"""Settings: YAML in, validated and frozen models out; unknown keys are refused with a did-you-mean.

Secrets come from the environment only. The resolved settings are saved with each run. Settings that
change what comes out (`meaning_of`) are part of a stage's key; workers and paths never are.
"""

from swequarry.config.curate import CurateSettings, DecontaminationSettings, HealthSettings
from swequarry.config.environment import EnvironmentOverride, EnvironmentSettings, SandboxSettings
from swequarry.config.executor import ExecutorSettings
from swequarry.config.output import ExportSettings, PolicySettings, ReleaseSettings
from swequarry.config.proof import ChecksSettings, StabilitySettings, StrengthSettings, VerifySettings
from swequarry.config.section import RepositoryPattern, Section, meaning_of
from swequarry.config.settings import Settings, load_settings, parse_settings
from swequarry.config.source import GharchiveSettings, GithubSettings, SourceSettings
from swequarry.config.writing import InterfaceSettings, LlmSettings, ReviewSettings, WritingSettings

__all__ = [
    "ChecksSettings",
    "CurateSettings",
    "DecontaminationSettings",
    "EnvironmentOverride",
    "EnvironmentSettings",
    "ExecutorSettings",
    "ExportSettings",
    "GharchiveSettings",
    "GithubSettings",
    "HealthSettings",
    "InterfaceSettings",
    "LlmSettings",
    "PolicySettings",
    "ReleaseSettings",
    "RepositoryPattern",
    "ReviewSettings",
    "SandboxSettings",
    "Section",
    "Settings",
    "SourceSettings",
    "StabilitySettings",
    "StrengthSettings",
    "VerifySettings",
    "WritingSettings",
    "load_settings",
    "meaning_of",
    "parse_settings",
]
