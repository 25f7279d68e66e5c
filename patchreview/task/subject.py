"""A task as a reviewer sees it."""

from collections.abc import Callable
from dataclasses import dataclass

from patchreview.diff import Diff


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Statement, fix and tests of a task.

    `in_base` tells whether the base tree has a word, where the tree is at hand.
    """

    instance_id: str
    statement: str
    gold: Diff
    tests: Diff
    fail_to_pass: tuple[str, ...] = ()
    issue_numbers: tuple[int, ...] = ()
    in_base: Callable[[bytes], bool] | None = None
