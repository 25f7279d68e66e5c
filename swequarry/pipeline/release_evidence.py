"""What mirrors and runs say of the tasks of a release: answers in base trees, fixes that bases hold, times.

Each repository is opened once; what one of its blobs says is kept for all of its bases.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from reconstruct.leaks.base_tree import BaseReader, Sought, added_lines, changelog_files
from swequarry.export.releases.budgets import MeasuredRuns
from swequarry.export.releases.splits import Split
from swequarry.git.fixlines import FixLines, base_lines, code_files, read_fix_lines, squeezed
from swequarry.git.heldfixes import Fix, HeldFix, Holder, code_entries, find_held_fixes, root_commits
from swequarry.git.repository import Repository
from swequarry.git.run import Place
from swequarry.git.store import ObjectReader, list_files, object_reader, store_view
from swequarry.ledger.attempts import Attempt, AttemptStatus
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.queries import attempts_of
from swequarry.outcome import Accepted
from swequarry.pipeline.stages.verify import VerifyStage
from swequarry.records import (
    AnswerKind,
    AnswerPlace,
    BlobHash,
    CommitSha,
    RepoRef,
    State,
    Task,
    TestOutcome,
    Verification,
)
from swequarry.verify.passes import FAILING
from swequarry.verify.testsource import file_of

_Found = dict[str, tuple[AnswerPlace, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was found: places that tell a task's own answer, by id; bases that hold other tasks' fixes.

    `unread` counts files whose content a mirror lacks: nothing is known of them.
    """

    places: Mapping[str, tuple[AnswerPlace, ...]] = field(default_factory=dict)
    held: tuple[HeldFix, ...] = ()
    unread: int = 0


@dataclass(slots=True)
class _Known:
    """One repository with its tasks, and what it was asked for."""

    repository: Repository
    tasks: Sequence[Task]
    roots: frozenset[CommitSha]
    lines: dict[str, FixLines] = field(default_factory=dict)
    own: dict[str, frozenset[bytes]] = field(default_factory=dict)
    places: _Found = field(default_factory=dict)
    unread: int = 0


def gather(
    tasks: Sequence[Task],
    splits: Mapping[str, Split],
    repository: Callable[[RepoRef], Repository],
    get_blob: Callable[[BlobHash], bytes],
) -> Evidence:
    """Return what the repositories of some tasks say of them.

    Raises:
        RepositoryError: a repository isn't there: what its bases hold can't be told.
        GitError, PatchError, StorageError: a base, a patch or a blob can't be read.
    """
    by_repo: dict[RepoRef, list[Task]] = {}
    for task in tasks:
        by_repo.setdefault(task.candidate.repo, []).append(task)
    known = [_ask(repository(repo), own, get_blob) for repo, own in by_repo.items()]
    held: list[HeldFix] = []
    unread = sum(one.unread for one in known)
    for one in known:
        fixes = [fix for other in known if _related(one, other) for fix in _test_fixes(other, splits)]
        found = find_held_fixes(one.repository, list(_training(one, splits)), fixes)
        held += found.found
        unread += found.unread
    places = {name: found for one in known for name, found in one.places.items()}
    return Evidence(places=places, held=tuple(held), unread=unread)


def _related(one: _Known, other: _Known) -> bool:
    """Whether two repositories are one, or forks: others have no fix in common."""
    return one is other or bool(one.roots & other.roots)


def _test_fixes(known: _Known, splits: Mapping[str, Split]) -> Iterator[Fix]:
    for task in known.tasks:
        if splits[task.instance_id] is Split.TEST:
            lines = known.lines[task.instance_id]
            yield Fix(key=task.instance_id, merge=task.candidate.merge_commit, lines=lines)


def _training(known: _Known, splits: Mapping[str, Split]) -> Iterator[Holder]:
    for task in known.tasks:
        if splits[task.instance_id] is Split.TRAIN:
            own = known.own[task.instance_id]
            yield Holder(key=task.instance_id, base=task.candidate.base_commit, own=own)


def _ask(repository: Repository, tasks: Sequence[Task], get_blob: Callable[[BlobHash], bytes]) -> _Known:
    roots = root_commits(repository, [task.candidate.base_commit for task in tasks])
    known = _Known(repository, tasks, roots)
    with store_view(repository.objects) as place, object_reader(place) as reader:
        sought = {task.instance_id: _sought(reader, place, task, get_blob) for task in tasks}
        base = BaseReader(reader, frozenset().union(*(one.wanted for one in sought.values())))
        for task in tasks:
            name, tree = task.instance_id, task.candidate.base_tree
            found = base.places(list_files(place, tree), sought[name])
            known.places[name] = (*found, *visible_tests(task, get_blob))
            here = frozenset().union(*(base.lines.of(entry.sha) for entry in code_entries(place, tree)))
            known.lines[name] = _telling(sought[name].gold, here)
            known.own[name] = _added(get_blob(task.candidate.gold_patch))
        known.unread = len(base.lines.unread)
    return known


def _telling(gold: FixLines, here: frozenset[bytes]) -> FixLines:
    """Return the lines by which others are found to hold a fix: none that its own base has anywhere.

    A single line is an idiom as often as not, and counts in the same files alone, as short ones do.
    """
    lines = gold.lines - here
    return FixLines(lines=lines, paths=gold.paths, long=gold.long and len(lines) > 1)


def _sought(reader: ObjectReader, place: Place, task: Task, get_blob: Callable[[BlobHash], bytes]) -> Sought:
    candidate = task.candidate
    gold, tests = get_blob(candidate.gold_patch), get_blob(candidate.test_patch)
    news = changelog_files(gold)
    numbers = (*task.instruction.issue_numbers, *filter(None, [candidate.pull_number]))
    return Sought(
        gold=read_fix_lines(reader, place, candidate.base_tree, gold),
        tests=read_fix_lines(reader, place, candidate.base_tree, tests),
        entries=added_lines(news) - base_lines(reader, place, candidate.base_tree, news),
        numbers=frozenset(numbers),
    )


def _added(patch: bytes) -> frozenset[bytes]:
    added = (line for file in code_files(patch) for hunk in file.hunks for line in hunk.added)
    return frozenset(squeezed(line.strip()) for line in added)


def visible_tests(task: Task, get_blob: Callable[[BlobHash], bytes]) -> Iterator[AnswerPlace]:
    """Yield the FAIL_TO_PASS tests that the base has already, and that failed there when it was run.

    Raises:
        StorageError: the outcomes of the runs are gone.
    """
    if task.verification.matrix is None:
        return
    tests = json.loads(get_blob(task.verification.matrix))["tests"]
    for test in task.verifier.fail_to_pass:
        seen = {TestOutcome(outcome) for outcome in tests.get(test, {}).get(State.BASE.value, ())}
        if seen & FAILING:
            evidence = f"{test} is in the base already, and {'/'.join(sorted(seen))} there"
            path = file_of(test, task.verification.test_files) or ""
            yield AnswerPlace(kind=AnswerKind.VISIBLE_TEST, path=path, evidence=evidence)


def measured_runs(ledger: Ledger, tasks: Sequence[Task]) -> Mapping[str, MeasuredRuns]:
    """Return what the runs took by which some tasks were verified; tasks without any are left out.

    Raises:
        StorageError: the ledger can't be read.
    """
    tries: dict[str, list[Attempt]] = {}
    for attempt in attempts_of(ledger, [task.instance_id for task in tasks]):
        if attempt.key.stage == VerifyStage.name and attempt.status is AttemptStatus.DONE:
            tries.setdefault(attempt.item, []).append(attempt)
    found = {task.instance_id: _measured(ledger, task, tries.get(task.instance_id, [])) for task in tasks}
    return {name: measured for name, measured in found.items() if measured is not None}


def _measured(ledger: Ledger, task: Task, tries: Sequence[Attempt]) -> MeasuredRuns | None:
    for attempt in reversed(tries):
        seconds = [float(run["duration_s"]) for run in attempt.observed.get("runs", ())]
        outcomes = ledger.result(attempt.key) or ()
        made = [found.outcome.value for found in outcomes if isinstance(found.outcome, Accepted)]
        hashes = {Verification.from_json(value).content_hash() for value in made}
        if seconds and task.provenance.verification in hashes:
            return MeasuredRuns(slowest_s=max(seconds), runs=len(seconds))
    return None
