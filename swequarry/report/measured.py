"""Stability and strength of tasks in words and numbers, for whoever shows them."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from swequarry.errors import StorageError
from swequarry.records import (
    BlobHash,
    GoldCoverage,
    Stability,
    Strength,
    Task,
    TestStability,
    Verification,
    WrongFix,
    WrongFixKind,
)
from swequarry.records.strength import PASSED, REJECTED

KIND_WORDS = {
    WrongFixKind.NO_OP: "nothing done",
    WrongFixKind.FILE_LEFT_OUT: "a file of the fix left out",
    WrongFixKind.HUNK_LEFT_OUT: "a hunk of the fix left out",
    WrongFixKind.EMPTY_BODY: "a function emptied",
    WrongFixKind.MUTANT: "mutant",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """A wrong fix that the hidden tests let pass: what was done where, how, and the patch from gold to it."""

    what: str
    place: str
    fate: str
    diff: str


def strength_of(task: Task) -> float | None:
    """Return the share of wrong fixes that a task's tests reject; None where none was measured."""
    return task.strength.share if task.strength is not None else None


def weakest_first(tasks: Sequence[Task]) -> list[Task]:
    """Return tasks by strength, those without one last."""
    return sorted(
        tasks, key=lambda task: (strength_of(task) is None, strength_of(task) or 0.0, task.instance_id)
    )


def median_strength(tasks: Sequence[Task]) -> float | None:
    """Return the median of the strengths that were measured."""
    shares = [share for task in tasks if (share := strength_of(task)) is not None]
    return median(shares) if shares else None


def quarantine_reasons(tasks: Sequence[Task]) -> list[tuple[str, int]]:
    """Return why tests are in quarantine, with how many, the most frequent first."""
    counts = Counter(test.reason for task in tasks for test in task.verification.quarantined)
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def say_scope(verification: Verification) -> str:
    """Return how the test files were chosen, and how many there are."""
    count = len(verification.test_files)
    files = f"{verification.scope}, {count} test {'file' if count == 1 else 'files'}"
    left = verification.left_out_files
    return f"{files}, {left} more left out for want of time" if left else files


def say_stability(stability: Stability | None) -> str:
    """Return how stable the tests of a task are, in a sentence."""
    if stability is None:
        return "not measured"
    unstable = len(stability.quarantined)
    words = f"{unstable} unstable" if unstable else "no unstable test"
    by_test = {test.id: test.reason for test in stability.unstable}
    reasons = Counter(reason.value for reason in by_test.values() if reason is not None)
    named = f" ({', '.join(f'{name} {count}' for name, count in sorted(reasons.items()))})" if reasons else ""
    whole = "" if stability.complete else "; not everything was tried"
    return f"{words}{named} in {stability.runs} perturbed runs{whole}"


def say_strength(strength: Strength | None) -> str:
    """Return how strong the tests of a task are, in a sentence."""
    if strength is None:
        return "not measured"
    rejected, passed = strength.count(REJECTED), strength.count(PASSED)
    words = [f"{rejected} of {rejected + passed} wrong fixes rejected ({share_text(strength.share)})"]
    needed, tried = strength.hunks_needed
    if tried:
        words.append(f"{needed} of {tried} hunks needed")
    if strength.coverage is not None:
        words.append(say_coverage(strength.coverage))
    if strength.not_tried:
        words.append(f"{strength.not_tried} not tried for want of time")
    return ", ".join(words)


def say_coverage(coverage: GoldCoverage) -> str:
    """Return how much of the lines and branches that gold wrote ran."""
    least = "" if coverage.whole else "at least "
    lines = f"{least}{coverage.covered_lines} of {coverage.lines} changed lines"
    branches = f"{coverage.covered_branches} of {coverage.branches} branches"
    return f"{lines} and {branches} run" if coverage.branches else f"{lines} run"


def share_text(share: float | None) -> str:
    """Return a share as a percentage, `unknown` for None."""
    return "unknown" if share is None else f"{share:.0%}"


def say_test(test: TestStability) -> str:
    """Return what an unstable test did under which perturbation."""
    reason = test.reason.value if test.reason is not None else "stable"
    said = f"{test.id} ({test.state.value}): {reason}, passed {test.passes} of {test.runs}"
    return "; ".join([said, *(f"{label}: {' '.join(each)}" for label, each in outcome_words(test))])


def outcome_words(test: TestStability) -> list[tuple[str, list[str]]]:
    """Return what a test did without perturbation (`none`), under single ones and `several` at once."""
    told: dict[str, list[str]] = {"none": []}
    several: list[str] = []
    for label, each in test.outcomes:
        place = several if "+" in label else told.setdefault(label, [])
        place.extend(one.value for one in each)
    return [(label, each) for label, each in (*told.items(), ("several", several)) if each]


def survivors(strength: Strength, get_blob: Callable[[BlobHash], bytes]) -> list[Survivor]:
    """Return the wrong fixes that pass, with their patches; one that is gone is said in its place."""
    return [_survivor(fix, get_blob) for fix in strength.survivors]


def _survivor(fix: WrongFix, get_blob: Callable[[BlobHash], bytes]) -> Survivor:
    operator = f" {fix.operator.replace('_', ' ')}" if fix.operator else ""
    likely = " (may be equivalent)" if fix.likely_equivalent else ""
    try:
        diff = get_blob(fix.diff).decode("utf-8", "backslashreplace")
    except StorageError as error:
        diff = str(error)
    return Survivor(
        what=f"{KIND_WORDS[fix.kind]}{operator}{likely}",
        place=f"{fix.path}:{fix.line}" if fix.line else fix.path,
        fate=fix.fate.value,
        diff=diff,
    )
