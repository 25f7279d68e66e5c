"""Places in a task's base tree from which its answer, or a part of it, can be read."""

from dataclasses import dataclass
from enum import StrEnum

from swequarry.records.base import Record


class AnswerKind(StrEnum):
    """What stands in the base tree.

    GOLD_LINES: lines of the fix, in a file that it doesn't change. CHANGELOG: an entry that names the issue
    or the pull request, or that the fix would write. VISIBLE_TEST: a hidden test that is there
    already and fails, or most of its lines. XFAIL_MARK: a test marked as failing or skipped for this issue.
    """

    GOLD_LINES = "gold_lines"
    CHANGELOG = "changelog"
    VISIBLE_TEST = "visible_test"
    XFAIL_MARK = "xfail_mark"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPlace(Record):
    """One place. `path` is of the repository; `line` counts from 1; 0 is the file as a whole."""

    kind: AnswerKind
    path: str
    line: int = 0
    evidence: str
