"""The three states of a candidate as changes to its world."""

from collections.abc import Callable
from typing import Protocol

from swequarry.delta import TreeDelta
from swequarry.errors import PatchError
from swequarry.records import BlobHash, Candidate, State, TreeSha


class Workbench(Protocol):
    """What is needed of `swequarry.git.trees.TreeWorkbench`."""

    def apply(self, tree: TreeSha, patch: bytes) -> TreeSha:
        """Return the tree that a patch makes of a tree."""

    def delta(self, old: TreeSha, new: TreeSha) -> TreeDelta:
        """Return what turns the files of one tree into those of another."""


def state_trees(
    workbench: Workbench, candidate: Candidate, get_blob: Callable[[BlobHash], bytes]
) -> tuple[TreeSha, TreeSha]:
    """Return the trees of before and after, made from the candidate's patches in the workbench's store.

    Raises:
        PatchError: a patch doesn't apply, or the trees aren't those that the candidate names.
        ObjectMissingError: a file that a patch changes is missing from the mirror.
        StorageError: a patch is missing from the blob store.
    """
    before = workbench.apply(candidate.base_tree, get_blob(candidate.test_patch))
    after = workbench.apply(before, get_blob(candidate.gold_patch))
    for made, named, state in (
        (before, candidate.before_tree, State.BEFORE),
        (after, candidate.after_tree, State.AFTER),
    ):
        if made != named:
            raise PatchError(
                f"{candidate.instance_id}: the patches give tree {made} for the state {state.value}, "
                f"the candidate names {named}; mine it again"
            )
    return before, after


def state_deltas(
    workbench: Workbench, candidate: Candidate, get_blob: Callable[[BlobHash], bytes]
) -> dict[State, TreeDelta]:
    """Return the delta of each state to the base tree, made from the candidate's patches.

    Raises:
        PatchError: a patch doesn't apply, or the trees aren't those that the candidate names.
        ObjectMissingError: a file that a state needs is missing from the mirror.
        StorageError: a patch is missing from the blob store.
    """
    before, after = state_trees(workbench, candidate, get_blob)
    return {
        State.BASE: TreeDelta(),
        State.BEFORE: workbench.delta(candidate.base_tree, before),
        State.AFTER: workbench.delta(candidate.base_tree, after),
    }
