"""Settings from a file, from `--set name=value`, and from the options of a command."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from swequarry.config import Settings, load_settings, parse_settings
from swequarry.errors import ConfigError


def with_changes(settings: Settings, changes: Mapping[str, object], origin: str) -> Settings:
    """Return settings with some dotted names set to new values; None leaves a name as it is.

    Raises:
        ConfigError: a name is unknown or a value impossible.
    """
    data: dict[str, Any] = settings.model_dump(mode="json", exclude_unset=True)
    for name, value in changes.items():
        if value is None:
            continue
        *path, last = name.split(".")
        place = data
        for part in path:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise ConfigError(f"{origin}: `{name}` isn't a setting; `{part}` holds a value")
        place[last] = value
    return parse_settings(data, origin)


def parse_assignments(assignments: Sequence[str]) -> dict[str, object]:
    """Read `name=value` words; values are YAML, so `true`, `3` and `[a, b]` mean what they look like.

    Raises:
        ConfigError: a word has no `=` or its value isn't YAML.
    """
    changes: dict[str, object] = {}
    for word in assignments:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ConfigError(f"--set {word!r}: write it as name=value, for instance --set verify.runs=5")
        try:
            changes[name] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise ConfigError(f"--set {word!r}: the value isn't YAML: {error}") from error
    return changes


def resolve(config: Path | None, assignments: Sequence[str], options: Mapping[str, object]) -> Settings:
    """Return the settings of a command: file, then `--set`, then its own options."""
    settings = load_settings(config) if config else Settings()
    settings = with_changes(settings, parse_assignments(assignments), "--set")
    return with_changes(settings, options, "command line")
