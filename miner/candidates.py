"""From two trees to a candidate: which part of a change is the fix, which part its tests.

Everything that isn't a test belongs to the gold patch, documentation and configuration too, so that
base + test patch + gold patch is the merged tree, to the byte. A file that crosses the border between
source and tests is a removal on one side and an addition on the other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from swequarry.config import CurateSettings
from swequarry.errors import BinaryWithoutDataError, ObjectMissingError, PatchError
from swequarry.git.paths import path_text
from swequarry.git.repository import GITLINK_MODE
from swequarry.git.testpaths import PathRole, classify_path, is_python, is_test_module
from swequarry.git.trees import ChangedPath, TreeWorkbench
from swequarry.outcome import RejectCode, Rejected
from swequarry.records import BlobHash, Statement, StatementKind, TreeProof, TreeSha

PutBlob = Callable[[bytes], BlobHash]

FIXTURES_ONLY = "fixtures_only"
"""Flag: the tests' data or support changed, but no test module did."""
NO_UPSTREAM_TESTS = "no_upstream_tests"
"""Flag: the pull request changes no test; what judges the task was written here."""
SPLIT_DIFFERS = "row_split_differs"
"""Flag: a row's own division into fix and tests isn't what the paths say."""

_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A change divided in two: trees, patches as bytes, and the paths of each side."""

    base_tree: TreeSha
    before_tree: TreeSha
    after_tree: TreeSha
    test_patch: bytes
    gold_patch: bytes
    test_files: tuple[str, ...]
    gold_files: tuple[str, ...]
    proof: TreeProof
    flags: tuple[str, ...] = ()


def reject(code: RejectCode, message: str, paths: Sequence[bytes] = ()) -> Rejected:
    """Build a rejection whose evidence is (the first of) some paths."""
    return Rejected(code=code, message=message, evidence=tuple(path_text(path) for path in paths[:_SHOWN]))


def touched(changes: Sequence[ChangedPath]) -> tuple[bytes, ...]:
    """Return the paths that changes touch, sorted, each once."""
    return tuple(sorted({path for change in changes for path in change.paths}))


def judge_change(
    changes: Sequence[ChangedPath],
    tests: Sequence[bytes],
    gold: Sequence[bytes],
    settings: CurateSettings,
    *,
    testless: bool = False,
) -> Rejected | None:
    """Say why a change can't become a candidate, by its paths alone; None where it can.

    `tests` and `gold` are the paths of the two sides; with `testless` there need be no tests.
    """
    submodules = touched([c for c in changes if GITLINK_MODE in (c.old_mode, c.new_mode)])
    sources = [path for path in gold if classify_path(path) is PathRole.SOURCE]
    python = any(is_python(path) for path in sources)
    limit = settings.max_gold_files
    rules = (
        (bool(submodules), RejectCode.SUBMODULE_CHANGED, "a submodule changed", submodules),
        (not changes, RejectCode.NO_SOURCE_CHANGE, "nothing changed", ()),
        (not sources, RejectCode.NO_SOURCE_CHANGE, "no changed file is source", [*gold, *tests]),
        (not tests and not testless, RejectCode.NO_TEST_CHANGE, "no changed file is a test", gold),
        (not python, RejectCode.NOT_PYTHON, "no changed source is Python", sources),
        (len(gold) > limit, RejectCode.TOO_LARGE, f"the fix changes {len(gold)} files of {limit}", gold),
    )
    return next((reject(code, message, paths) for holds, code, message, paths in rules if holds), None)


def judge_size(test_patch: bytes, gold_patch: bytes, settings: CurateSettings) -> Rejected | None:
    """Say whether a patch is larger than the settings allow; None where none is."""
    for name, patch in (("gold", gold_patch), ("test", test_patch)):
        if len(patch) > settings.max_patch_bytes:
            return Rejected(
                code=RejectCode.TOO_LARGE,
                message=f"the {name} patch has {len(patch)} bytes, more than {settings.max_patch_bytes}",
            )
    return None


def test_paths(changes: Sequence[ChangedPath]) -> tuple[bytes, ...]:
    """Return the changed paths that are tests or belong to tests, sorted."""
    return tuple(path for path in touched(changes) if classify_path(path) is PathRole.TEST)


def split_merged(
    bench: TreeWorkbench,
    base: TreeSha,
    merged: TreeSha,
    changes: Sequence[ChangedPath],
    settings: CurateSettings,
    *,
    testless: bool = False,
) -> Split | Rejected:
    """Divide what a pull request changed between two trees, and prove the division by tree hashes.

    With `testless` the side of the tests may be empty.

    Raises:
        GitError: git broke.
    """
    tests = test_paths(changes)
    gold = tuple(path for path in touched(changes) if path not in set(tests))
    if rejected := judge_change(changes, tests, gold, settings, testless=testless):
        return rejected
    try:
        before = bench.compose(base, merged, tests)
        test_patch, gold_patch = bench.diff(base, before), bench.diff(before, merged)
        if rejected := judge_size(test_patch, gold_patch, settings):
            return rejected
        proven = bench.apply(base, test_patch) == before and bench.apply(before, gold_patch) == merged
    except ObjectMissingError as error:
        return reject(RejectCode.MISSING_OBJECTS, str(error))
    except PatchError as error:
        return reject(RejectCode.RENAME_ACROSS_BORDER, str(error), tests)
    if not proven:
        return reject(RejectCode.TREE_MISMATCH, f"base + tests + fix isn't the merged tree {merged}")
    return Split(
        base_tree=base,
        before_tree=before,
        after_tree=merged,
        test_patch=test_patch,
        gold_patch=gold_patch,
        test_files=tuple(sorted(path_text(path) for path in tests)),
        gold_files=tuple(sorted(path_text(path) for path in gold)),
        proof=TreeProof.PROVEN,
        flags=_test_flags(tests),
    )


def judge_statement(split: Split, statement: Statement, writable: Callable[[str], bool]) -> Rejected | None:
    """Reject a change without tests of which nobody said enough for one to be written; None for others."""
    if split.test_files or (statement.kind is not StatementKind.COMMITS and writable(statement.text)):
        return None
    return Rejected(
        code=RejectCode.NO_TEST_CHANGE,
        message="no changed file is a test, and the issue shows no code that one could be made of",
        evidence=split.gold_files[:_SHOWN],
    )


def never(statement: str) -> bool:
    """Say of any statement that no test can be written from it."""
    del statement
    return False


def _test_flags(tests: Sequence[bytes]) -> tuple[str, ...]:
    if not tests:
        return (NO_UPSTREAM_TESTS,)
    return () if any(is_test_module(path) for path in tests) else (FIXTURES_ONLY,)


def _apply(bench: TreeWorkbench, tree: TreeSha, patch: bytes, name: str) -> TreeSha | Rejected:
    try:
        return bench.apply(tree, patch)
    except BinaryWithoutDataError as error:
        return reject(RejectCode.BINARY_WITHOUT_DATA, f"`{name}`: {error}")
    except PatchError as error:
        return reject(RejectCode.CORRUPT_PATCH, f"`{name}`: {error}")
    except ObjectMissingError as error:
        return reject(RejectCode.MISSING_OBJECTS, f"`{name}`: {error}")


def split_published(
    bench: TreeWorkbench,
    base: TreeSha,
    test_patch: bytes,
    gold_patch: bytes,
    settings: CurateSettings,
    *,
    testless: bool = False,
) -> Split | Rejected:
    """Apply a row's two patches to the base and make both again from the trees.

    The row's own division stands, since it defines the published task; where paths say otherwise the
    candidate is flagged. No merge commit proves it.

    Raises:
        GitError: git broke.
    """
    before = _apply(bench, base, test_patch, "test_patch")
    if isinstance(before, Rejected):
        return before
    after = _apply(bench, before, gold_patch, "patch")
    if isinstance(after, Rejected):
        return after
    test_changes, gold_changes = bench.changes(base, before), bench.changes(before, after)
    tests, gold = touched(test_changes), touched(gold_changes)
    if rejected := _judge_published([*test_changes, *gold_changes], tests, gold, settings, testless=testless):
        return rejected
    try:
        made_tests, made_gold = bench.diff(base, before), bench.diff(before, after)
    except ObjectMissingError as error:
        return reject(RejectCode.MISSING_OBJECTS, str(error))
    if rejected := judge_size(made_tests, made_gold, settings):
        return rejected
    return Split(
        base_tree=base,
        before_tree=before,
        after_tree=after,
        test_patch=made_tests,
        gold_patch=made_gold,
        test_files=tuple(sorted(path_text(path) for path in tests)),
        gold_files=tuple(sorted(path_text(path) for path in gold)),
        proof=TreeProof.NONE,
        flags=_test_flags(tests) + _split_flags(tests, gold),
    )


def _judge_published(
    changes: Sequence[ChangedPath],
    tests: Sequence[bytes],
    gold: Sequence[bytes],
    settings: CurateSettings,
    *,
    testless: bool,
) -> Rejected | None:
    if not gold:
        return reject(RejectCode.NO_SOURCE_CHANGE, "`patch` changes nothing", tests)
    if not tests and not testless:
        return reject(RejectCode.NO_TEST_CHANGE, "`test_patch` changes nothing", gold)
    return judge_change(changes, tests, gold, settings, testless=testless)


def _split_flags(tests: Sequence[bytes], gold: Sequence[bytes]) -> tuple[str, ...]:
    source_in_tests = any(classify_path(path) is PathRole.SOURCE for path in tests)
    test_in_gold = any(classify_path(path) is PathRole.TEST for path in gold)
    return (SPLIT_DIFFERS,) if source_in_tests or test_in_gold else ()


def cutoff_of(
    merged_at: datetime | None, created_at: datetime | None, base_time: datetime | None
) -> datetime:
    """Return the day as of which the environment is resolved, in UTC.

    The merge date; without one the later of creation and base commit.

    Raises:
        ValueError: nothing is known.
    """
    known = [merged_at] if merged_at else [day for day in (created_at, base_time) if day]
    return max(known).astimezone(UTC)
