"""Reviews a task: findings with reasons, and a score for each of three axes.

Scores go from 0 (as it should be) to 1. They order tasks for a person's look; no finding blocks but for a
statement that gives the fix away.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from patchreview.findings import Finding, Severity, worst_first
from patchreview.task.hidden import hidden_messages, hidden_names, private_names, said_share
from patchreview.task.subject import Subject
from patchreview.task.words import words_of

_LARGE_FIX = 6
_FEWEST_WORDS, _SHORT_WORDS = 15, 40
_LONG_LINE = 20
_NO_WISH, _FAR, _FEW_SAID = 0.2, 0.3, 0.2
_GIVEN_AWAY, _PARTLY = 0.6, 0.25
_WIDE_TESTS, _WIDE_FILES = 50, 5
_SHA = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{10,40}\b")
_CHANGE_LINK = re.compile(
    r"https?://\S+/(?:pull|commit|merge_requests|compare)/\S+|\b(?:fixed|solved) (?:in|by) #\d+",
    re.IGNORECASE,
)
_READS_SOURCE = re.compile(
    rb"\binspect\.getsource\b|\blinecache\b|\bast\.parse\(\s*open|\b__file__\b.*\.py\b|getsourcelines"
)
_TASK = re.compile(r"^\s*(?:[-*]|\d+[.)])\s*\[[ x]\]", re.MULTILINE)


class Axis(StrEnum):
    """Between which two parts of a task something doesn't fit; intent is what the fix does."""

    STATEMENT_TESTS = "statement <-> tests"
    TESTS_INTENT = "tests <-> intent"
    STATEMENT_INTENT = "statement <-> intent"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReview:
    """What is doubtful about a task."""

    instance_id: str
    findings: tuple[Finding, ...]
    scores: dict[Axis, float]

    def to_json(self) -> dict[str, object]:
        """Return the review as JSON has it."""
        return {
            "instance_id": self.instance_id,
            "scores": {axis.value: round(score, 4) for axis, score in self.scores.items()},
            "findings": [finding.to_json() for finding in self.findings],
        }


@dataclass(frozen=True, slots=True)
class _Doubt:
    """How much something weighs on which axis, and the finding; None where it isn't worth a line."""

    axis: Axis
    weight: float
    finding: Finding | None


def review_task(subject: Subject) -> TaskReview:
    """Return what is doubtful about a task and why. The scores are 1 minus the product of (1 - weight)."""
    doubts = [doubt for look in _LOOKS for doubt in look(subject)]
    scores = dict.fromkeys(Axis, 1.0)
    for doubt in doubts:
        scores[doubt.axis] *= 1 - doubt.weight
    return TaskReview(
        instance_id=subject.instance_id,
        findings=worst_first(doubt.finding for doubt in doubts if doubt.finding is not None),
        scores={axis: 1 - left for axis, left in scores.items()},
    )


def _doubt(
    axis: Axis, weight: float, rule: str, message: str, evidence: str = "", severity: Severity = Severity.WARN
) -> _Doubt:
    return _Doubt(
        axis, weight, Finding(rule=rule, severity=severity, message=message, evidence=evidence[:300])
    )


def _hidden(subject: Subject) -> Iterator[_Doubt]:
    axis = Axis.STATEMENT_TESTS
    if names := hidden_names(subject):
        weight = min(0.8, 0.35 + 0.1 * len(names))
        yield _doubt(
            axis,
            weight,
            "hidden-name",
            f"underspecified: the tests use {len(names)} names that nobody wrote down",
            ", ".join(names),
        )
    if messages := hidden_messages(subject):
        yield _doubt(
            axis,
            0.5,
            "hidden-message",
            f"underspecified: the tests want {len(messages)} texts that nobody wrote down",
            "; ".join(messages),
        )
    if private := private_names(subject):
        yield _doubt(
            axis, 0.15, "private-name", "the tests reach private names", ", ".join(private), Severity.NOTE
        )


def _statement(subject: Subject) -> Iterator[_Doubt]:
    words, axis = words_of(subject.statement), Axis.STATEMENT_INTENT
    if words.prose < _FEWEST_WORDS:
        yield _doubt(axis, 0.6, "short-statement", f"the statement has {words.prose} words of prose")
    elif words.prose < _SHORT_WORDS and not words.code_lines and not words.prompts:
        yield _doubt(axis, 0.35, "short-statement", f"the statement has {words.prose} words and no code")
    if words.doubts + words.questions > words.wishes + 2:
        said = f"{words.doubts} doubts and {words.questions} questions, {words.wishes} wishes"
        yield _doubt(axis, 0.25, "vague-statement", said)
    if words.images and not words.code_lines and not words.tracebacks:
        yield _doubt(axis, 0.2, "visual-task", "the statement shows pictures and no code", "", Severity.NOTE)
    if len(subject.issue_numbers) > 1:
        said = ", ".join(f"#{number}" for number in subject.issue_numbers)
        yield _doubt(axis, 0.3, "several-issues", "several issues in one task", said)
    elif len(_TASK.findall(subject.statement)) > 2:  # noqa: PLR2004
        yield _doubt(
            axis, 0.2, "several-issues", "the statement is a list of things to do", "", Severity.NOTE
        )


def _wish(subject: Subject) -> Iterator[_Doubt]:
    """Doubt statements that say what is wrong and not what should be: the tests want one thing of several."""
    words = words_of(subject.statement)
    if words.wishes == 0 and words.form == 0:
        said = "the statement doesn't say what should happen"
        for axis in (Axis.STATEMENT_INTENT, Axis.STATEMENT_TESTS):
            yield _doubt(axis, _NO_WISH, "no-wish", said, "", Severity.NOTE)


def _far(subject: Subject) -> Iterator[_Doubt]:
    """Doubt fixes of which the statement has few words: who reads it may look elsewhere."""
    share = said_share(subject)
    if share is None:
        return
    said = f"the statement has {share:.0%} of the words of code that the fix touches"
    doubt = _doubt(Axis.STATEMENT_TESTS, _FAR * (1 - share), "far-from-fix", said, "", Severity.NOTE)
    yield doubt if share < _FEW_SAID else replace(doubt, finding=None)


def _size(subject: Subject) -> Iterator[_Doubt]:
    """Doubt a large fix a little: the more there is to decide, the likelier tests want one way of several."""
    size = subject.gold.size
    if size > _LARGE_FIX:
        weight = min(0.4, 0.08 * math.log2(size / _LARGE_FIX))
        said = (
            f"the fix has {size} lines in {len(subject.gold.every)} files: there are other ways to write it"
        )
        for axis in (Axis.STATEMENT_TESTS, Axis.STATEMENT_INTENT):
            yield _doubt(axis, weight, "large-fix", said, "", Severity.NOTE)


def _given_away(subject: Subject) -> Iterator[_Doubt]:
    axis = Axis.STATEMENT_INTENT
    text = " ".join(subject.statement.split())
    lines = [
        " ".join(line.raw.decode("utf-8", "replace").split())
        for file in subject.gold.files
        for line in file.added
    ]
    long = [line for line in lines if len(line) >= _LONG_LINE]
    given = [line for line in long if line in text]
    share = len(given) / len(long) if long else 0.0
    if share >= _PARTLY:
        severity = Severity.BLOCK if share >= _GIVEN_AWAY else Severity.WARN
        said = f"solution_in_issue: {len(given)} of {len(long)} lines of the fix stand in the statement"
        yield _doubt(axis, min(0.9, share), "solution-in-statement", said, given[0], severity)
    links = [*_CHANGE_LINK.findall(subject.statement), *_SHA.findall(subject.statement)]
    if links:
        yield _doubt(
            axis,
            0.1,
            "link-in-statement",
            "the statement leads to commits or pull requests",
            ", ".join(links),
            Severity.NOTE,
        )


def _tests(subject: Subject) -> Iterator[_Doubt]:
    axis = Axis.TESTS_INTENT
    files = {test.partition("::")[0] for test in subject.fail_to_pass}
    if len(subject.fail_to_pass) > _WIDE_TESTS or len(files) > _WIDE_FILES:
        said = f"{len(subject.fail_to_pass)} FAIL_TO_PASS tests in {len(files)} files"
        yield _doubt(axis, 0.35, "wide-tests", said)
    for file in subject.tests.python:
        line = next((line for line in file.added if _READS_SOURCE.search(line.code)), None)
        if line is not None:
            yield _doubt(
                axis,
                0.4,
                "tests-read-source",
                f"{file.name}:{line.number} reads source",
                line.raw.decode("utf-8", "replace").strip(),
            )
    larger = subject.tests.size / max(1, subject.gold.size)
    touched = {file.base_name.removeprefix(b"test_").split(b".")[0] for file in subject.tests.python}
    if larger > 8 and subject.tests.size > 100:  # noqa: PLR2004
        said = (
            f"{subject.tests.size} lines of tests for {subject.gold.size} of the fix, in {len(touched)} files"
        )
        yield _doubt(axis, 0.25, "tests-beyond", said, "", Severity.NOTE)


_LOOKS: tuple[Callable[[Subject], Iterator[_Doubt]], ...] = (
    _hidden,
    _size,
    _wish,
    _far,
    _statement,
    _given_away,
    _tests,
)
