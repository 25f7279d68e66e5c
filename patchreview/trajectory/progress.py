"""How an episode went: test counts, the first wrong step, loops, and what was claimed at its end.

Counts are read from what test runners print, or come from snapshots that somebody ran again.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from patchreview.findings import Severity
from patchreview.trajectory.commands import Command, commands_of
from patchreview.trajectory.form import Step, Tool, Trajectory
from patchreview.trajectory.grader import written_by
from patchreview.trajectory.seen import Episode, StepFinding, finding, shown

_TAIL = 4000
_PYTEST = re.compile(r"(\d{1,7}) (passed|failed|errors?|xfailed|xpassed|skipped)\b")
_SUMMARY = re.compile(r"^.*\b\d{1,7} (?:passed|failed|errors?)\b.*\bin \d[\d.:]*\s?s.*$", re.MULTILINE)
_RAN = re.compile(r"^Ran (\d{1,7}) tests? in", re.MULTILINE)
_BROKEN = re.compile(r"(failures|errors)=(\d{1,7})")
_TESTS_RUN = re.compile(r"(?:^|/)(?:py\.test|pytest|nosetests|tox|nox|trial|runtests\.py|manage\.py)$")
_CLAIM = re.compile(
    r"\b(?:all|every|existing) (?:of )?(?:the )?(?:\w+ ){0,2}tests? (?:now |still |are )?pass"
    r"|\btests? (?:now |all )?pass(?:ed|ing)? (?:successfully|now)\b"
    r"|\bsuccessfully (?:fixed|resolved|implemented|solved|verified)"
    r"|\b(?:fix|solution|change|implementation)s? (?:is|are|has been|have been) (?:now )?(?:complete|verified|confirmed)\b",  # noqa: E501
    re.IGNORECASE,
)
_TEST_CLAIM = re.compile(r"\btests?\b", re.IGNORECASE)
_REPEATS, _WINDOW = 3, 12
_LAST_WORDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TestPoint:
    """What one run of tests said: `scope` is the command, without how loud it is."""

    __test__ = False

    step: int
    scope: str
    passed: int
    failed: int

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON has them."""
        return {"step": self.step, "scope": self.scope, "passed": self.passed, "failed": self.failed}


def test_points(trajectory: Trajectory) -> tuple[TestPoint, ...]:
    """Return the test runs whose output says how many tests passed."""
    return tuple(point for step in trajectory.steps if (point := _point(step)) is not None)


test_points.__test__ = False  # type: ignore[attr-defined]


def _point(step: Step) -> TestPoint | None:
    runs = [command for command in commands_of(step.executed) if _runs_tests(command)]
    counts = counts_in(step.observation) if runs else None
    if counts is None:
        return None
    return TestPoint(step=step.number, scope=_scope(runs[-1]), passed=counts[0], failed=counts[1])


def counts_in(output: str) -> tuple[int, int] | None:
    """Return (passed, failed or broken) as pytest's or unittest's last lines say; None where they don't."""
    tail = output[-_TAIL:]
    lines = _SUMMARY.findall(tail)
    if lines:
        found = {kind.rstrip("s"): int(count) for count, kind in _PYTEST.findall(lines[-1])}
        return found.get("passed", 0), found.get("failed", 0) + found.get("error", 0)
    ran = _RAN.findall(tail)
    if not ran:
        return None
    broken = sum(int(count) for _, count in _BROKEN.findall(tail))
    return max(0, int(ran[-1]) - broken), broken


def _runs_tests(command: Command) -> bool:
    words = command.words
    if not words:
        return False
    if command.program.startswith("python") and len(words) > 1:
        module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
        return module in {"pytest", "unittest", "nose", "tox"} or any(
            _TESTS_RUN.search(w) for w in words[1:3]
        )
    return _TESTS_RUN.search(words[0]) is not None


def _scope(command: Command) -> str:
    loud = re.compile(r"-[vqsxl]+|--tb=.*|-r\w+|--no-header|--color=.*|-p|no:\w+|--lf|--ff")
    return " ".join(word for word in command.words if not loud.fullmatch(word))


def first_wrong_step(
    trajectory: Trajectory, points: Sequence[TestPoint], measured: Mapping[int, int] | None = None
) -> int | None:
    """Return the first change after the best state that was seen, None where the best is also the last.

    `measured` gives counts of passed tests by step, of snapshots that were run again; they go before what the
    solver saw itself. Points of other commands than the one that was run most often tell of other tests and
    don't count; a run in which everything passes at the end leaves no wrong step.
    """
    if measured:
        states = sorted(measured.items())
    else:
        scope = Counter(point.scope for point in points).most_common(1)
        same = [point for point in points if scope and point.scope == scope[0][0]]
        if not same or not same[-1].failed:
            return None
        states = [(point.step, point.passed) for point in same]
    best = max((passed for _, passed in states), default=0)
    last_rise = next((step for step, passed in states if passed == best), None)
    if last_rise is None or last_rise == states[-1][0] or len(states) < 2:  # noqa: PLR2004
        return None
    after = [step.number for step in trajectory.steps if step.number > last_rise]
    changes = [step.number for step in trajectory.steps if step.number > last_rise and changes_files(step)]
    return next(iter(changes or after), None)


def changes_files(step: Step) -> bool:
    """Whether a step wrote a file, as far as it shows."""
    return bool(step.edits) or (
        step.tool is Tool.SHELL and any(written_by(command) for command in commands_of(step.executed))
    )


def loops(episode: Episode) -> Iterator[StepFinding]:
    """Yield where the same action gave the same output again and again within a few steps, each once."""
    recent: list[tuple[str, str]] = []
    told: set[tuple[str, str]] = set()
    for step in episode.trajectory.steps:
        if not step.executed.strip():
            continue
        deed = (step.executed.strip(), step.observation.strip())
        recent = [*recent[1 - _WINDOW :], deed]
        if recent.count(deed) >= _REPEATS and deed not in told:
            told.add(deed)
            said = f"does the same for the {recent.count(deed)}rd time and gets the same"
            yield finding("loop", Severity.WARN, step, said, step.executed)


def claims(episode: Episode, points: Sequence[TestPoint]) -> Iterator[StepFinding]:
    """Yield claims of success at the end that the episode itself doesn't bear out."""
    steps = episode.trajectory.steps
    spoken = [step for step in steps if step.said][-_LAST_WORDS:]
    claim = next(((step, m) for step in reversed(spoken) if (m := _CLAIM.search(step.said))), None)
    if claim is None:
        return
    step, match = claim
    said = step.said[max(0, match.start() - 60) : match.end() + 60]
    before = [point for point in points if point.step <= step.number]
    changed = [one.number for one in steps if one.number <= step.number and changes_files(one)]
    if episode.trajectory.resolved is False:
        yield finding("false-success", Severity.WARN, step, "claims success; grading says otherwise", said)
    elif before and before[-1].failed:
        last = before[-1]
        told = f"claims success; in step {last.step} {last.failed} tests failed and {last.passed} passed"
        yield finding("false-success", Severity.WARN, step, told, said)
    elif _TEST_CLAIM.search(match[0]) and not before:
        yield finding(
            "false-success", Severity.WARN, step, "says that tests pass; none was seen to run", said
        )
    elif before and changed and changed[-1] > before[-1].step:
        told = f"claims success; files were changed in step {changed[-1]}, after the last run of tests"
        yield finding("false-success", Severity.NOTE, step, told, said)


def wasted(episode: Episode) -> Iterator[StepFinding]:
    """Yield how many actions came to nothing because they couldn't be read, where there are many."""
    lost = [step for step in episode.trajectory.steps if step.proposed and not step.executed]
    if len(lost) >= _REPEATS:
        said = f"{len(lost)} of {len(episode.trajectory.steps)} actions were proposed and never run"
        yield StepFinding(
            rule="not-run", severity=Severity.NOTE, step=None, message=said, evidence=shown(lost[0].proposed)
        )
