"""The class of cause for which an environment can't be had: what a user would have to give.

The classes lie in failure_causes.yaml; each has a test with a log line that it was made for.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from swequarry.errors import InputError

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cause:
    name: str
    pattern: re.Pattern[str]
    packages: Mapping[str, str]

    def read(self, line: str) -> str | None:
        match = self.pattern.search(line)
        if match is None:
            return None
        found = match.groupdict().get("name") or ""
        name = self.name.replace("{name}", self.packages.get(found, found))
        return name.rstrip(": ")


@cache
def _causes() -> tuple[_Cause, ...]:
    text = files("reconstruct.environment").joinpath("failure_causes.yaml").read_text(encoding="utf-8")
    try:
        return tuple(
            _Cause(
                name=str(entry["class"]),
                pattern=re.compile(str(entry["pattern"])),
                packages=entry.get("packages") or {},
            )
            for entry in yaml.safe_load(text)
        )
    except (yaml.YAMLError, KeyError, TypeError, re.error) as error:
        raise InputError(
            f"the data file failure_causes.yaml of this installation is damaged: {error!r}; install it again"
        ) from error


def cause_of(lines: Iterable[str]) -> str:
    """Return the class of cause that decisive lines of a log name, `unknown` where none is known.

    Classes come in the order of what they explain: a missing header explains a failed build.
    """
    texts = tuple(lines)
    named = (cause.read(line) for cause in _causes() for line in texts)
    return next((name for name in named if name), UNKNOWN)
