"""Patches of a verified task made by general rules: the gold patch, none, a part of gold, a wrong fix.

`partial` is gold without one hunk, or without one file where no hunk can go alone; `wrong` is gold with one
changed line mutated, or an emptied function where nothing can be. Both are drawn by a seed that follows from
the task. Provably equivalent ones aren't taken; whether hidden tests reject the others is what is asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from swequarry.git.paths import path_text
from swequarry.pipeline.graded_task import OpenTask
from swequarry.records import WrongFixKind
from swequarry.verify.attacks import Target
from swequarry.verify.mutation_fixes import Attempt, FixLimits, changed_files, wrong_fixes

KINDS = ("gold", "empty", "wrong", "partial")
_ONE_OF_EACH = FixLimits(hunks=1, files=1, bodies=1, mutants=1)
_RULES = {
    "partial": (WrongFixKind.HUNK_LEFT_OUT, WrongFixKind.FILE_LEFT_OUT),
    "wrong": (WrongFixKind.MUTANT, WrongFixKind.EMPTY_BODY),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A patch and the rule that made it, for readers."""

    kind: str
    rule: str
    patch: bytes


def variants(opened: OpenTask) -> tuple[Variant, ...]:
    """Return the patches of a task; a kind that its gold patch gives none of is left out.

    Raises:
        PatchError, GitError, StorageError, RepositoryError: its trees can't be made.
    """
    with opened.room() as (rig, case):
        target = Target(rig.bench, case)
        files = changed_files(rig.bench, case.before, case.after)
        attempts, _ = wrong_fixes(files, f"{case.base} {case.after}", _ONE_OF_EACH)
        gold = opened.house.workspace.blobs.get(opened.task.candidate.gold_patch)
        found = [
            Variant(kind="gold", rule="the gold patch", patch=gold),
            Variant(kind="empty", rule="no patch", patch=b""),
        ]
        for kind in ("wrong", "partial"):
            attempt = chosen(attempts, kind)
            if attempt is not None:
                changes = {path_text(path): data for path, data in attempt.files.items()}
                found.append(Variant(kind=kind, rule=_told(attempt), patch=target.gold(changes)))
        return tuple(found)


def chosen(attempts: Sequence[Attempt], kind: str) -> Attempt | None:
    """Return the wrong fix that stands for a kind; the first rule that gives one counts."""
    for rule in _RULES[kind]:
        for attempt in attempts:
            if attempt.kind is rule and not attempt.equivalent:
                return attempt
    return None


def _told(attempt: Attempt) -> str:
    place = f"{path_text(attempt.path)}:{attempt.line}" if attempt.line else path_text(attempt.path)
    return f"{attempt.kind.value} {attempt.operator} {place}".replace("  ", " ")
