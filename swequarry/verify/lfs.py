"""Tell tests that lack a file of Git LFS from tests that the fix doesn't mend."""

import dataclasses
import os
import re
from collections.abc import Iterable

from swequarry.delta import TreeDelta
from swequarry.git.lfs import is_lfs_pointer
from swequarry.git.paths import path_text
from swequarry.outcome import Outcome, RejectCode, Rejected
from swequarry.records import Verification


def blame_pointers(
    outcome: Outcome[Verification], base_pointers: Iterable[str], after: TreeDelta
) -> Outcome[Verification]:
    """Return LFS_MISSING in place of NO_FAIL_TO_PASS where failing tests have only a pointer of their data.

    That is taken to be so where tests fail after the fix, and their errors or the changed Python files name a
    file that is a pointer then, be it from the base or from the change `after`.
    """
    if not isinstance(outcome, Rejected) or outcome.code is not RejectCode.NO_FAIL_TO_PASS:
        return outcome
    changed = {path_text(path) for path in (*after.files, *after.removed)}
    pointers = {path for path in base_pointers if path not in changed}
    pointers |= {path_text(path) for path, content in after.files.items() if is_lfs_pointer(content.data)}
    texts = list(outcome.evidence)
    texts += [c.data.decode("utf-8", "replace") for path, c in after.files.items() if path.endswith(b".py")]
    named = sorted(path for path in pointers if _is_named(path, texts))
    if not named or not outcome.evidence:
        return outcome
    return dataclasses.replace(
        outcome,
        code=RejectCode.LFS_MISSING,
        message=f"{outcome.message}; data that they name is in Git LFS, of which the repository has pointers",
        evidence=(*named, *outcome.evidence),
    )


def _is_named(path: str, texts: Iterable[str]) -> bool:
    name = re.compile(rf"(?<![\w.-]){re.escape(os.path.basename(path))}(?!\w)")  # noqa: PTH119 (no file system)
    return any(name.search(text) for text in texts)
