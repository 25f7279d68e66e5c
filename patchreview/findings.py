"""What a review says: findings, each with a rule, a severity, a place and evidence."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

_SHOWN = 160


class Severity(StrEnum):
    """What a finding is for: it stops a patch, it wants a person's look, or it's merely said."""

    BLOCK = "block"
    WARN = "warn"
    NOTE = "note"


_ORDER = {severity: place for place, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a rule saw.

    `path` is as records name paths, empty for the patch as a whole; `line` counts from 1 on the side that the
    evidence is on (the new one, or the old one for what was removed), None for the file as a whole.
    `precision` is how often the rule was right in what it stopped, None where that wasn't measured.
    """

    rule: str
    severity: Severity
    path: str = ""
    line: int | None = None
    message: str
    evidence: str = ""
    precision: float | None = None

    def __str__(self) -> str:
        """Return `place: severity: message [rule]`, as compilers write it."""
        place = self.path or "the patch"
        return f"{place}{f':{self.line}' if self.line else ''}: {self.severity}: {self.message} [{self.rule}]"

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON has them."""
        return {
            "rule": self.rule,
            "severity": self.severity.value,
            "path": self.path,
            "line": self.line,
            "message": self.message,
            "evidence": self.evidence,
            "precision": None if self.precision is None else round(self.precision, 4),
        }


def shown(text: bytes) -> str:
    """Return a line as evidence: whole where it's short, and readable whatever its bytes are."""
    line = text.strip()[: 4 * _SHOWN].decode("utf-8", "backslashreplace")
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings by severity, then place, then rule; each once."""
    return tuple(
        sorted(
            dict.fromkeys(findings),
            key=lambda f: (_ORDER[f.severity], f.path, f.line or 0, f.rule, f.message),
        )
    )
