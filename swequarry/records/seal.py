"""Seals: what a leak audit looked for in a world, and what it found."""

from dataclasses import dataclass

from swequarry.records.base import ContentHash, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakFinding(Record):
    """One place inside a world from which the answer can be had.

    `path` is valid inside; members of archives follow after `!`. `kind` is `gold` or `tests` for content,
    `name` for a name of the task, `copy` for a second copy of the project, `byte code` for byte code of
    another source than the one beside it. `evidence` are lines, words or shares, in order.
    """

    path: str
    kind: str
    evidence: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.path}: {self.kind}: {'; '.join(self.evidence)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal(Record):
    """What was checked of a task's world; a task has one only without findings.

    `scanner` is the version of the audit. `checks` name what was looked at. `lines`, `words` and `blocks`
    count what only the answer has and was looked for: nothing distinctive, nothing found. `not_scanned` are
    paths that were too large or damaged. How many files and bytes there were, and when, is observed.
    """

    scanner: int
    snapshot: ContentHash
    environment: ContentHash
    checks: tuple[str, ...]
    lines: int
    words: int
    blocks: int
    findings: tuple[LeakFinding, ...] = ()
    not_scanned: tuple[str, ...] = ()
