"""What the rules say of tasks and of patches for them, as records that stand beside what was measured."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable

from patchreview.diff import Diff, read_diff
from patchreview.findings import Finding
from patchreview.interface import Ground
from patchreview.measured import Calibration, measures
from patchreview.reviewer import review_patch
from patchreview.task.review import review_task
from patchreview.task.subject import Subject
from swequarry.errors import GitError, PatchError
from swequarry.git.repository import Repository
from swequarry.records import (
    BlobHash,
    ContentHash,
    Reviewed,
    ReviewFinding,
    ReviewSeverity,
    Task,
)

GetBlob = Callable[[BlobHash], bytes]
_HELD = 64


def subject_of(task: Task, get_blob: GetBlob, in_base: Callable[[bytes], bool] | None = None) -> Subject:
    """Return a task as a reviewer sees it; `in_base` tells whether the base tree has a word.

    Raises:
        StorageError: a patch is missing from the blob store.
    """
    return Subject(
        instance_id=task.instance_id,
        statement=task.instruction.text,
        gold=_read(get_blob(task.candidate.gold_patch)),
        tests=_read(get_blob(task.verifier.test_patch)),
        fail_to_pass=task.verifier.fail_to_pass,
        issue_numbers=task.instruction.issue_numbers,
        in_base=in_base,
    )


def ground_of(subject: Subject, *, with_gold: bool = True) -> Ground:
    """Return what a patch for a task is held against."""
    return Ground(gold=subject.gold if with_gold else None, tests=subject.tests, statement=subject.statement)


def words_of_base(repository: Repository, tree: str) -> Callable[[bytes], bool]:
    """Return whether a tree has a word; where it can't be read, no word is known to be there."""

    def has(word: bytes) -> bool:
        asked: list[str | bytes] = [
            "grep",
            "--quiet",
            "--word-regexp",
            "--fixed-strings",
            "-I",
            "-e",
            word,
            tree,
        ]
        try:
            repository.git(asked)
        except GitError:  # its exit code for "nowhere" is one, too
            return False
        return True

    return has


def reviewed_task(task: Task, get_blob: GetBlob, in_base: Callable[[bytes], bool] | None = None) -> Reviewed:
    """Return the doubts about a task.

    Raises:
        StorageError: as `subject_of`.
    """
    found = review_task(subject_of(task, get_blob, in_base))
    scores = tuple((axis.value, round(score, 4)) for axis, score in found.scores.items())
    return Reviewed(findings=_kept(found.findings), scores=scores)


class PatchReviews:
    """Reviews patches for tasks, from any thread; what the tasks' own patches hold is read once."""

    def __init__(self, get_blob: GetBlob, calibration: Callable[[], Calibration] = measures) -> None:
        self._get_blob = get_blob
        self._calibration = calibration
        self._lock = threading.Lock()
        self._grounds: OrderedDict[ContentHash, Ground] = OrderedDict()

    def __call__(self, task: Task, patch: bytes) -> Reviewed:
        """Return what the rules find in a patch for a task.

        Raises:
            InputError: the calibration isn't one.
            StorageError: as `subject_of`.
        """
        with self._lock:  # some milliseconds; what is read of a task's patches isn't made for several threads
            found = review_patch(patch, self._ground(task), calibration=self._calibration())
            return Reviewed(findings=_kept(found.findings))

    def _ground(self, task: Task) -> Ground:
        key = task.content_hash()
        ground = self._grounds.pop(key, None) or ground_of(subject_of(task, self._get_blob))
        self._grounds[key] = ground
        if len(self._grounds) > _HELD:
            self._grounds.popitem(last=False)
        return ground


def _read(patch: bytes) -> Diff:
    """Read a patch of a task; one that can't be read says nothing, it was verified as trees."""
    try:
        return read_diff(patch)
    except PatchError:
        return read_diff(b"")


def _kept(findings: Iterable[Finding]) -> tuple[ReviewFinding, ...]:
    return tuple(
        ReviewFinding(
            rule=one.rule,
            severity=ReviewSeverity(one.severity.value),
            message=one.message,
            path=one.path,
            line=one.line,
            evidence=one.evidence,
        )
        for one in findings
    )
