"""Columns of a row about what was measured of its tests: how stable, and how strong."""

from dataclasses import dataclass

import pyarrow as pa

from swequarry.export.interface import GetBlob
from swequarry.export.text import visible_text
from swequarry.records import Stability, Strength, TestStability
from swequarry.records.strength import PASSED, REJECTED


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomesColumn:
    """What a test did under a perturbation, run by run; `none` is without any."""

    perturbation: str
    outcomes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnstableColumn:
    """An unstable test in one state: runs, passes, the reason, and what it did under each perturbation."""

    id: str
    state: str
    runs: int
    passes: int
    reason: str
    outcomes: tuple[OutcomesColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StabilityColumn:
    """How the tests were searched: stable ones by state, and each unstable one."""

    runs: int
    complete: bool
    stable_before: int
    stable_after: int
    tried_before: tuple[str, ...]
    tried_after: tuple[str, ...]
    unstable: tuple[UnstableColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivorColumn:
    """A wrong fix that the hidden tests let pass, with the patch from gold to it."""

    kind: str
    operator: str
    fate: str
    path: str
    line: int
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongFixesColumn:
    """What `strength` is made of. Lines and branches are those that gold wrote, None where not measured."""

    rejected: int
    passed: int
    not_tried: int
    hunks: int
    hunks_needed: int
    lines: int | None
    covered_lines: int | None
    branches: int | None
    covered_branches: int | None
    survivors: tuple[SurvivorColumn, ...]


_TEXT = pa.string()
_TEXTS = pa.list_(_TEXT)
_COUNT = pa.int32()
_OUTCOMES = pa.struct([("perturbation", _TEXT), ("outcomes", _TEXTS)])
_UNSTABLE = pa.struct(
    [
        ("id", _TEXT),
        ("state", _TEXT),
        ("runs", _COUNT),
        ("passes", _COUNT),
        ("reason", _TEXT),
        ("outcomes", pa.list_(_OUTCOMES)),
    ]
)
STABILITY = pa.struct(
    [
        ("runs", _COUNT),
        ("complete", pa.bool_()),
        ("stable_before", _COUNT),
        ("stable_after", _COUNT),
        ("tried_before", _TEXTS),
        ("tried_after", _TEXTS),
        ("unstable", pa.list_(_UNSTABLE)),
    ]
)
_SURVIVOR = pa.struct(
    [
        ("kind", _TEXT),
        ("operator", _TEXT),
        ("fate", _TEXT),
        ("path", _TEXT),
        ("line", _COUNT),
        ("diff", _TEXT),
    ]
)
WRONG_FIXES = pa.struct(
    [
        *((name, _COUNT) for name in ("rejected", "passed", "not_tried", "hunks", "hunks_needed")),
        *((name, _COUNT) for name in ("lines", "covered_lines", "branches", "covered_branches")),
        ("survivors", pa.list_(_SURVIVOR)),
    ]
)


def stability_column(stability: Stability | None) -> StabilityColumn | None:
    """Return the column of a task's stability; None where it wasn't measured."""
    if stability is None:
        return None
    stable = {state.value: count for state, count in stability.stable}
    tried = {state.value: labels for state, labels in stability.tried}
    return StabilityColumn(
        runs=stability.runs,
        complete=stability.complete,
        stable_before=stable.get("before", 0),
        stable_after=stable.get("after", 0),
        tried_before=tried.get("before", ()),
        tried_after=tried.get("after", ()),
        unstable=tuple(map(_unstable, stability.unstable)),
    )


def _unstable(test: TestStability) -> UnstableColumn:
    return UnstableColumn(
        id=visible_text(test.id),
        state=test.state.value,
        runs=test.runs,
        passes=test.passes,
        reason=test.reason.value if test.reason is not None else "",
        outcomes=tuple(
            OutcomesColumn(perturbation=label, outcomes=tuple(one.value for one in each))
            for label, each in test.outcomes
        ),
    )


def wrong_fixes_column(strength: Strength | None, get_blob: GetBlob) -> WrongFixesColumn | None:
    """Return the column of a task's wrong fixes; None where none was tried.

    Raises:
        StorageError: the patch of one that passed is missing from the blob store.
    """
    if strength is None:
        return None
    needed, hunks = strength.hunks_needed
    coverage = strength.coverage
    return WrongFixesColumn(
        rejected=strength.count(REJECTED),
        passed=strength.count(PASSED),
        not_tried=strength.not_tried,
        hunks=hunks,
        hunks_needed=needed,
        lines=coverage.lines if coverage else None,
        covered_lines=coverage.covered_lines if coverage else None,
        branches=coverage.branches if coverage else None,
        covered_branches=coverage.covered_branches if coverage else None,
        survivors=tuple(
            SurvivorColumn(
                kind=fix.kind.value,
                operator=fix.operator,
                fate=fix.fate.value,
                path=visible_text(fix.path),
                line=fix.line,
                diff=get_blob(fix.diff).decode("utf-8", "backslashreplace"),
            )
            for fix in strength.survivors
        ),
    )
