"""What a rule is given and what it gives back."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from patchreview.diff import Diff, FileDiff
from patchreview.findings import Finding, Severity, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a patch is held against, as far as it's known: the task's fix, hidden tests and statement."""

    gold: Diff | None = None
    tests: Diff | None = None
    statement: str = ""


NO_GROUND = Ground()


class Case:
    """One patch under review."""

    def __init__(self, diff: Diff, ground: Ground = NO_GROUND) -> None:
        self.diff = diff
        self.ground = ground

    @cached_property
    def gold_paths(self) -> frozenset[bytes]:
        """The paths that the task's fix touches; empty where it isn't known."""
        gold = self.ground.gold
        return frozenset(path for file in gold.every for path in file.patch.paths) if gold else frozenset()

    @cached_property
    def gold_lines(self) -> frozenset[bytes]:
        """The lines that the task's fix adds, stripped."""
        gold = self.ground.gold
        return (
            frozenset(line.raw.strip() for file in gold.files for line in file.added) if gold else frozenset()
        )

    @cached_property
    def removed_lines(self) -> frozenset[bytes]:
        """The lines that the patch removes anywhere, stripped: one that is added again was only moved."""
        return frozenset(line.raw.strip() for file in self.diff.files for line in file.removed)

    def is_known(self, line: bytes) -> bool:
        """Whether an added line is one of the task's fix, or was merely moved."""
        return line.strip() in self.gold_lines or line.strip() in self.removed_lines


Check = Callable[[Case], Iterable[Finding]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: `code` names it everywhere, `severity` is the highest that it gives, `catches` says what."""

    code: str
    severity: Severity
    catches: str
    check: Check

    def __call__(self, case: Case) -> Iterable[Finding]:
        """Return what the rule finds."""
        return self.check(case)


def at(
    code: str,
    severity: Severity,
    file: FileDiff,
    message: str,
    line: int | None = None,
    evidence: bytes = b"",
) -> Finding:
    """Return a finding in a file."""
    return Finding(
        rule=code, severity=severity, path=file.name, line=line, message=message, evidence=shown(evidence)
    )
