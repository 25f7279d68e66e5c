"""Candidates from the rows of a published dataset, in the file's order."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from miner.candidates import PutBlob, Split, cutoff_of, judge_statement, never, split_published
from miner.licence import LicenceReader
from miner.policy import Policy
from miner.sources.dates import is_within
from miner.sources.guard import guarded
from miner.sources.interface import MinedItem
from miner.sources.rows import Row, RowProblem, read_rows
from swequarry.config import CurateSettings
from swequarry.errors import ObjectMissingError, RepositoryError
from swequarry.git.mirrors import MirrorLocator, fetch_commit
from swequarry.git.repository import Repository
from swequarry.git.trees import TreeWorkbench
from swequarry.outcome import Accepted, Outcome, RejectCode, Rejected
from swequarry.records import Candidate, RepoRef, Statement, StatementKind

_OPEN_REPOSITORIES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Room:
    """What is kept open for one repository."""

    repository: Repository
    bench: TreeWorkbench
    licences: LicenceReader
    closing: ExitStack


class _Rooms:
    """The repositories in use, the least recently used closed first; a failure to open is remembered."""

    def __init__(self, locator: MirrorLocator) -> None:
        self._locator = locator
        self._open: OrderedDict[RepoRef, _Room] = OrderedDict()
        self._broken: dict[RepoRef, RepositoryError] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for room in self._open.values():
            room.closing.close()
        self._open.clear()

    def of(self, repo: RepoRef) -> _Room:
        """Return the open repository.

        Raises:
            RepositoryError: it is nowhere, or not a repository.
        """
        if repo in self._broken:
            raise self._broken[repo]
        if repo not in self._open:
            self._open[repo] = self._enter(repo)
        self._open.move_to_end(repo)
        while len(self._open) > _OPEN_REPOSITORIES:
            self._open.popitem(last=False)[1].closing.close()
        return self._open[repo]

    def _enter(self, repo: RepoRef) -> _Room:
        try:
            repository = self._locator.locate(repo)
        except RepositoryError as error:
            self._broken[repo] = error
            raise
        closing = ExitStack()
        bench = closing.enter_context(TreeWorkbench(repository))
        return _Room(repository=repository, bench=bench, licences=LicenceReader(repository), closing=closing)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Which rows are looked at: as pull requests, but by creation date; `limit` is per repository."""

    since: datetime | None = None
    until: datetime | None = None
    numbers: frozenset[int] = frozenset()
    repositories: frozenset[str] = frozenset()
    limit: int | None = None

    def chooses(self, row: Row) -> bool:
        """Whether a row is looked at, apart from `limit`."""
        if self.numbers and row.pull_number not in self.numbers:
            return False
        if self.repositories and row.repo.full_name.lower() not in self.repositories:
            return False
        return is_within(row.created_at, self.since, self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsSource:
    """Makes candidates of the rows of one file; `writable` as `GitSource`."""

    path: Path
    locator: MirrorLocator
    curate: CurateSettings
    put_blob: PutBlob
    policy: Policy
    writable: Callable[[str], bool] = never
    _seen: dict[str, int] = field(default_factory=dict)
    _accepted: dict[RepoRef, int] = field(default_factory=dict)

    def items(self, chosen: RowFilter) -> Iterator[MinedItem]:
        """Yield one item for every row that the filter chooses, and for every broken row.

        Raises:
            InputError: the file can't be read at all.
            StorageError: a patch can't be stored.
        """
        with _Rooms(self.locator) as rooms:
            for row in read_rows(self.path):
                if isinstance(row, RowProblem):
                    yield self._problem(row)
                elif chosen.chooses(row) and not self._is_full(row.repo, chosen):
                    yield self._item(row, rooms)

    def _is_full(self, repo: RepoRef, chosen: RowFilter) -> bool:
        return chosen.limit is not None and self._accepted.get(repo, 0) >= chosen.limit

    def _problem(self, problem: RowProblem) -> MinedItem:
        where = f"{problem.file}:{problem.line}"
        named = problem.instance_id if problem.instance_id and problem.instance_id not in self._seen else None
        if named:
            self._seen[named] = problem.line
        return MinedItem(
            item=named or f"{problem.file}#{problem.line}",
            outcome=Rejected(
                code=problem.code, message=f"{where}: {problem.message}", evidence=(f"place={where}",)
            ),
        )

    def _item(self, row: Row, rooms: _Rooms) -> MinedItem:
        where = f"{self.path.name}:{row.line}"
        if row.instance_id in self._seen:
            first = f"{self.path.name}:{self._seen[row.instance_id]}"
            outcome: Outcome[Candidate] = Rejected(
                code=RejectCode.DUPLICATE_ROW,
                message=f"{where}: {row.instance_id} is already at {first}",
                evidence=(f"first={first}",),
            )
            return MinedItem(item=f"{row.instance_id}#{row.line}", outcome=outcome, notes=row.notes)
        self._seen[row.instance_id] = row.line
        outcome = self._outcome(row, rooms)
        if isinstance(outcome, Accepted):
            self._accepted[row.repo] = self._accepted.get(row.repo, 0) + 1
        return MinedItem(item=row.instance_id, outcome=outcome, notes=row.notes)

    def _outcome(self, row: Row, rooms: _Rooms) -> Outcome[Candidate]:
        return guarded(lambda: self._decide(row, rooms.of(row.repo)))

    def _decide(self, row: Row, room: _Room) -> Outcome[Candidate]:
        if not row.problem_statement.strip():
            return Rejected(
                code=RejectCode.EMPTY_PROBLEM_STATEMENT, message="field `problem_statement` has no text"
            )
        if not self._has_base(row, room.repository):
            return Rejected(
                code=RejectCode.BASE_UNREACHABLE,
                message=f"{row.repo.full_name} has no commit {row.base_commit}, nor can it be fetched",
                evidence=(f"base_commit={row.base_commit}",),
            )
        base_tree = room.repository.tree_of(row.base_commit)
        testless = self.writable is not never
        split = split_published(
            room.bench, base_tree, row.test_patch, row.patch, self.curate, testless=testless
        )
        if isinstance(split, Rejected):
            return split
        candidate = self._candidate(row, split, room)
        if rejected := judge_statement(split, candidate.statement, self.writable):
            return rejected
        return self.policy.judge(candidate, split.gold_patch, split.test_patch)

    def _has_base(self, row: Row, repository: Repository) -> bool:
        url = self.locator.url.format(owner=row.repo.owner, name=row.repo.name)
        if not fetch_commit(repository, row.base_commit, url):
            return False
        try:
            return repository.resolve(row.base_commit) == row.base_commit
        except ObjectMissingError:  # the id of something that is no commit
            return False

    def _candidate(self, row: Row, split: Split, room: _Room) -> Candidate:
        base_time = room.repository.commit_time(row.base_commit)
        return Candidate(
            repo=row.repo,
            instance_id=row.instance_id,
            pull_number=row.pull_number,
            source="rows",
            base_commit=row.base_commit,
            base_tree=split.base_tree,
            before_tree=split.before_tree,
            after_tree=split.after_tree,
            gold_patch=self.put_blob(split.gold_patch),
            test_patch=self.put_blob(split.test_patch),
            gold_files=split.gold_files,
            test_files=split.test_files,
            cutoff=cutoff_of(row.merged_at, row.created_at, base_time),
            statement=Statement(
                kind=StatementKind.PUBLISHED,
                text=row.problem_statement,
                hints=row.hints_text,
                issue_numbers=row.issue_numbers,
            ),
            tree_proof=split.proof,
            created_at=row.created_at,
            merged_at=row.merged_at,
            licence=room.licences.at(split.base_tree),
            flags=tuple(dict.fromkeys(row.flags + split.flags)),
        )
