"""Write tests for a candidate: its subject, the stand that runs proposals, and the candidate with the tests.

Whatever a subject shows to writers, proposals are run against the whole truth: base with upstream's tests
before, gold on top after.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from swequarry.errors import SandboxError
from swequarry.git.paths import path_text
from swequarry.git.run import run_git
from swequarry.git.store import list_files, read_objects
from swequarry.git.trees import TreeWorkbench
from swequarry.outcome import Accepted, Boundary, Failed, Outcome
from swequarry.records import (
    AddedTest,
    BlobHash,
    Candidate,
    Recipe,
    Strength,
    TreeSha,
    Writing,
)
from swequarry.verify.mutation_diff import readable_patch
from swequarry.verify.mutation_fixes import changed_files
from swequarry.verify.perturbations import Clock
from swequarry.verify.rig import Rig, WatchedRig
from testwriter.engine import Engine, Put
from testwriter.interface import Subject, Survivor, Writer
from testwriter.proof.prover import Prover
from testwriter.proof.runs import Stand, within
from testwriter.proof.worth import Wanting
from testwriter.subjects import folder_for_tests, names_in

TESTS_ADDED = "tests_added"
"""Flag: hidden tests of the candidate were written here, and proven."""
_LONGEST_RUN_S = 120.0
_MOST_SURVIVORS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A candidate to write tests for: its trees, and the strength of its tests where that was measured."""

    candidate: Candidate
    recipe: Recipe
    base: TreeSha
    before: TreeSha
    after: TreeSha
    strength: Strength | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What the writing of a task's tests may cost: runs in all, runs after the fix of one proof, files."""

    budget_runs: int = 80
    runs: int = 4
    added: int = 3


class _Tree:
    """The files of one tree, read when they are asked for."""

    def __init__(self, bench: TreeWorkbench, tree: TreeSha) -> None:
        self._bench = bench
        self._known = {path_text(e.path): e for e in list_files(bench.place, tree) if e.kind == "blob"}

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self._known)

    def read(self, path: str) -> bytes | None:
        entry = self._known.get(path)
        return run_git(["cat-file", "blob", entry.sha], self._bench.place) if entry is not None else None

    def loaded(self) -> dict[str, bytes]:
        """Return all Python files, read at once."""
        wanted = [(path, entry.sha) for path, entry in self._known.items() if path.endswith(".py")]
        return dict(
            zip(
                [path for path, _ in wanted],
                read_objects(self._bench.place, [sha for _, sha in wanted]),
                strict=False,
            )
        )


def subject_of(bench: TreeWorkbench, given: Assignment, get_blob: Callable[[BlobHash], bytes]) -> Subject:
    """Return everything that is known of an assignment; `from_the_issue_alone` takes away what would tell.

    Raises:
        GitError: a tree can't be read.
    """
    base, before, after = (_Tree(bench, tree) for tree in (given.base, given.before, given.after))
    sources = base.loaded()
    upstream = tuple(
        (path, text.decode("utf-8", "replace"))
        for path in given.candidate.test_files
        if path.endswith(".py") and (text := before.read(path)) is not None
    )
    title, _, rest = given.candidate.statement.text.partition("\n")
    return Subject(
        instance_id=given.candidate.instance_id,
        title=title,
        statement=rest or title,
        paths=base.paths,
        read=lambda path: sources[path] if path in sources else base.read(path),
        base_names=names_in(sources.values()),
        folder=folder_for_tests(base.paths, [path for path, _ in upstream]),
        framework=given.recipe.test_framework,
        gold_patch=get_blob(given.candidate.gold_patch).decode("utf-8", "replace"),
        after=after.read,
        upstream_tests=upstream,
        survivors=tuple(_survivors(given.strength, get_blob)),
    )


def from_the_issue_alone(subject: Subject) -> Subject:
    """Return a subject without the fix, the pull request's tests and the wrong fixes."""
    return replace(subject, gold_patch=None, after=None, upstream_tests=None, survivors=())


def _survivors(strength: Strength | None, get_blob: Callable[[BlobHash], bytes]) -> list[Survivor]:
    known = strength.survivors if strength is not None else ()
    return [
        Survivor(
            diff=fix.diff,
            kind=fix.kind.value,
            path=fix.path,
            line=fix.line,
            operator=fix.operator,
            patch=get_blob(fix.diff).decode("utf-8", "replace"),
        )
        for fix in known
        if not fix.likely_equivalent
    ][:_MOST_SURVIVORS]


def stand_for(rig: Rig, given: Assignment, clock: Clock, runs: int) -> Stand:
    """Return where proposals for an assignment are run, by a rig that knows what its world offers.

    Raises:
        SandboxError: the world can't be asked.
    """
    rig, _ = rig.surveyed(given.recipe)
    stand = Stand(
        rig=rig,
        recipe=given.recipe,
        before=rig.bench.delta(given.base, given.before),
        after=rig.bench.delta(given.base, given.after),
        files=changed_files(rig.bench, given.before, given.after),
        clock=clock,
        runs=runs,
    )
    return within(stand, _LONGEST_RUN_S)


def wanting_of(rig: Rig, given: Assignment, subject: Subject) -> Wanting:
    """Return what an assignment's tests lack."""
    strength = given.strength
    survivors = {}
    for survivor in subject.survivors:
        tree = rig.bench.apply(given.after, rig.get_blob(BlobHash(survivor.diff)))
        survivors[BlobHash(survivor.diff)] = rig.bench.delta(given.base, tree)
    known = strength.coverage if strength is not None else None
    return Wanting(
        tests=bool(given.candidate.test_files),
        survivors=survivors,
        uncovered=frozenset(known.uncovered) if known is not None and known.whole else None,
    )


def write_tests(
    rig: Rig,
    given: Assignment,
    find_clock: Callable[[], Clock],
    writers: Sequence[tuple[str, Callable[[Stand], Writer]]],
    put_blob: Put,
    allowed: Allowed = Allowed(),
) -> tuple[Outcome[Writing], dict[str, Any]]:
    """Return what was written, and beside it what was observed; machinery that breaks gives `Failed`.

    `find_clock` says how dates can be faked, and is asked only where something is to be run.
    """
    if given.recipe.test_framework != "pytest":
        why = f"tests: they are functions, which {given.recipe.test_framework} doesn't run"
        return Accepted(value=Writing(left_out=(why,))), {}
    rig = WatchedRig.of(rig)
    try:
        subject = subject_of(rig.bench, given, rig.get_blob)
        wanting = wanting_of(rig, given, subject)
        if wanting.tests and not wanting.survivors and not wanting.uncovered:
            return Accepted(value=Writing(left_out=("tests: nothing is wanting",))), {}
        stand = stand_for(rig, given, find_clock(), allowed.runs)
        prover = Prover(stand=stand, subject=subject, wanting=wanting)
        engine = Engine(
            prover=prover,
            put_blob=put_blob,
            budget_runs=allowed.budget_runs,
            made=rig.seen,
            most=allowed.added,
        )
        prover.left = lambda: engine.left
        for name, make in writers:
            engine.hear(name, make(stand))
    except SandboxError as error:
        return Failed(boundary=Boundary.SANDBOX, message=str(error)), {}
    added, refused = engine.records()
    candidate = with_tests(rig.bench, given, added, rig.get_blob, put_blob) if added else None
    left_out = tuple(dict.fromkeys(engine.left_out))
    writing = Writing(added=added, refused=refused, candidate=candidate, left_out=left_out)
    return Accepted(value=writing), engine.observed()


def with_tests(
    bench: TreeWorkbench,
    given: Assignment,
    added: Sequence[AddedTest],
    get_blob: Callable[[BlobHash], bytes],
    put_blob: Put,
) -> Candidate:
    """Return a candidate with some test files in its test patch, beside those of the pull request.

    Raises:
        PatchError: a file is there already.
    """
    before, after = given.before, given.after
    for test in added:
        patch = readable_patch(test.path.encode(), None, get_blob(test.content))
        before, after = bench.apply(before, patch), bench.apply(after, patch)
    candidate = given.candidate
    return replace(
        candidate,
        before_tree=before,
        after_tree=after,
        test_patch=put_blob(bench.diff(given.base, before)),
        test_files=tuple(sorted({*candidate.test_files, *(test.path for test in added)})),
        flags=tuple(dict.fromkeys((*candidate.flags, TESTS_ADDED))),
    )
