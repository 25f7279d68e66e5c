"""What differs between two datasets: releases or exported sets, in whatever order they were made.

Tasks are compared by their records. Lists of tests are told by the tests that came and went. Fields that say
again what another says, such as hashes of parents, are named only where nothing else differs: two tasks with
different hashes are never called the same.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from swequarry.export.releases.read import Dataset
from swequarry.records import Task

DIFF_SCHEMA = 1
_PASSED_OVER = frozenset(
    {
        *(f"verifier.{name}" for name in ("fail_to_pass", "pass_to_pass")),
        *(f"verification.{name}" for name in ("fail_to_pass", "pass_to_pass", "quarantined", "causes")),
        *(f"verification.{name}" for name in ("matrix", "backend", "test_command", "test_files")),
        *(f"candidate.{name}" for name in ("instance_id", "repo", "base_commit", "base_tree")),
        *(f"candidate.{name}" for name in ("statement", "test_patch", "before_tree", "after_tree")),
        *(f"provenance.{name}" for name in ("candidate", "snapshot", "environment", "verification")),
        *(f"provenance.{name}" for name in ("checks", "seal", "stability", "strength")),
        *(f"seal.{name}" for name in ("snapshot", "environment")),
        "initial_state.snapshot",
    }
)
"""Told as tests, told elsewhere in the record under another name, or following from what is told."""
_DEEP = frozenset({"recipe", "licence"})
"""Parts of a part whose fields are named one by one."""
_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedField:
    """A field of a task: its place in the record, and both values, of lists what the other side lacks."""

    field: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTests:
    """A list of tests, and what came and went."""

    list_name: str
    added: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTask:
    """A task that both sides have, with other content; `split` is (old, new) where it moved."""

    instance_id: str
    fields: tuple[ChangedField, ...] = ()
    tests: tuple[ChangedTests, ...] = ()
    split: tuple[str, str] | None = None
    answer_in_base: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedTask:
    """A task that the new side lacks, and why it says that it does, where it says so."""

    instance_id: str
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What differs, by instance id."""

    old: Mapping[str, str | None]
    new: Mapping[str, str | None]
    added: tuple[str, ...]
    removed: tuple[RemovedTask, ...]
    changed: tuple[ChangedTask, ...]
    unchanged: int

    def __bool__(self) -> bool:
        """Whether any task differs."""
        return bool(self.added or self.removed or self.changed)


def compare(old: Dataset, new: Dataset) -> Difference:
    """Return what differs between two datasets."""
    both = sorted(old.tasks.keys() & new.tasks.keys())
    changed = [task for name in both if (task := _changed(name, old, new)) is not None]
    gone = sorted(old.tasks.keys() - new.tasks.keys())
    return Difference(
        old=old.identity(),
        new=new.identity(),
        added=tuple(sorted(new.tasks.keys() - old.tasks.keys())),
        removed=tuple(RemovedTask(instance_id=name, reason=new.left_out.get(name)) for name in gone),
        changed=tuple(changed),
        unchanged=len(both) - len(changed),
    )


def _changed(name: str, old: Dataset, new: Dataset) -> ChangedTask | None:
    before, after = old.tasks[name], new.tasks[name]
    sides = old.split_of[name], new.split_of[name]
    tests = tuple(_tests(before, after))
    fields = _fields(before, after)
    if tests and all(one.field in _PASSED_OVER for one in fields):
        fields = ()
    places = _places(old, name) != _places(new, name)
    if not (fields or tests or places or sides[0] != sides[1]):
        return None
    return ChangedTask(
        instance_id=name,
        fields=fields,
        tests=tests,
        split=sides if sides[0] != sides[1] else None,
        answer_in_base=places,
    )


def _places(dataset: Dataset, name: str) -> Any:
    return dataset.told.get(name, {}).get("answer_in_base", [])


def _tests(before: Task, after: Task) -> Iterator[ChangedTests]:
    lists = (
        ("FAIL_TO_PASS", before.verifier.fail_to_pass, after.verifier.fail_to_pass),
        ("PASS_TO_PASS", before.verifier.pass_to_pass, after.verifier.pass_to_pass),
        (
            "quarantined",
            tuple(test.id for test in before.verification.quarantined),
            tuple(test.id for test in after.verification.quarantined),
        ),
    )
    for name, was, now in lists:
        added, removed = sorted(set(now) - set(was)), sorted(set(was) - set(now))
        if added or removed:
            yield ChangedTests(list_name=name, added=tuple(added), removed=tuple(removed))


def _fields(before: Task, after: Task) -> tuple[ChangedField, ...]:
    was, now = dict(_flat(before.to_json())), dict(_flat(after.to_json()))
    found = []
    for place in sorted(was.keys() | now.keys()):
        old, new = was.get(place), now.get(place)
        if old != new:
            found.append(ChangedField(field=place, old=_short(old, new), new=_short(new, old)))
    return tuple(one for one in found if one.field not in _PASSED_OVER) or tuple(found)


def _flat(data: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields of a record by their places, two levels deep, some parts three."""
    for name, value in data.items():
        place = f"{above}{name}"
        if isinstance(value, dict) and (not above or name in _DEEP):
            yield from _flat(value, f"{place}.")
        else:
            yield place, value


def _short(value: Any, other: Any) -> str:
    """Return a value for people: of lists what the other side lacks, of long texts the beginning."""
    if value is None:
        return "nothing"
    if isinstance(value, list) and isinstance(other, list):
        value = [member for member in value if member not in other] or "the same in another order"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"
