"""Candidates from a clone or mirror: one item for each of its merged pull requests, newest merge first."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from miner.candidates import PutBlob, Split, cutoff_of, judge_paths, split_merged
from miner.evidence import Timelines, link_pull, say_link
from miner.health import Activity, health_at, root_commits
from miner.licence import LicenceReader
from miner.policy import Policy
from miner.sources.dates import is_within
from miner.sources.guard import git_outcome, guarded
from miner.sources.interface import Informant, MinedItem
from miner.sources.issues import IssueBook
from miner.statements import first_moment, statement_from_issues, statement_from_messages
from miner.variants import NOT_ON_DEFAULT
from swequarry.config import CurateSettings
from swequarry.errors import GitError
from swequarry.git.history import History, MergedPull
from swequarry.git.netchanges import net_changes
from swequarry.git.repository import GITLINK_MODE, Repository
from swequarry.git.trees import ChangedPath, TreeWorkbench
from swequarry.outcome import Accepted, Boundary, Failed, Outcome, RejectCode, Rejected
from swequarry.records import Candidate, IssueLink, IssueRecord, PullRecord, RepoRef, Statement, TreeSha

_BATCH = 200
ISSUE_TEXT_MISSING = "issue_text_missing"
"""Flag: the pull request links an issue whose text the source doesn't have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullFilter:
    """Which merged pull requests are looked at. Those left out are no candidates and no items.

    `since` and `until` bound the merge date, both inclusive. `numbers`, where given, names the only ones.
    `limit` ends the walk, newest merge first, when so many were accepted: what was rejected on the way
    is told, what comes after isn't looked at. Those of `absent` are answered for elsewhere.
    """

    since: datetime | None = None
    until: datetime | None = None
    numbers: frozenset[int] = frozenset()
    limit: int | None = None
    absent: frozenset[int] = frozenset()

    def chooses(self, pull: PullRecord) -> bool:
        """Whether a pull request is looked at, apart from `limit`."""
        if self.numbers and pull.number not in self.numbers:
            return False
        return is_within(pull.merged_at, self.since, self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSource:
    """Makes candidates of one repository's history. `issues` None means that no issue texts were given.

    `informant` is asked about the pull requests that pass by their paths, and about the issues that they
    name; what it says of issues goes into `issues`. `complete` brings blobs that a partial clone lacks.
    """

    repository: Repository
    repo: RepoRef
    history: History
    curate: CurateSettings
    issues: IssueBook | None
    put_blob: PutBlob
    policy: Policy
    licences: LicenceReader = field(repr=False)
    informant: Informant | None = None
    complete: Callable[[Repository, Sequence[str]], object] | None = None
    source: str = "git"
    stars: int | None = None
    reported_licence: str | None = None
    timelines: Timelines = field(init=False, repr=False, default_factory=Timelines)
    activity: Activity = field(init=False, repr=False)
    roots: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        """Index the history once, and name its first commits where a benchmark is known by such."""
        if self.policy.comparer is not None and self.policy.comparer.knows_roots:
            object.__setattr__(self, "roots", root_commits(self.repository, self.history.tip))
        object.__setattr__(self, "activity", Activity(self.history))

    def items(self, chosen: PullFilter) -> Iterator[MinedItem]:
        """Yield one item for every pull request that the filter chooses; none raises for itself.

        Raises:
            StorageError: a patch can't be stored.
        """
        pulls = [pull for pull in self.history.pulls if chosen.chooses(pull.record)]
        accepted = 0
        with TreeWorkbench(self.repository) as bench:
            for start in range(0, len(pulls), _BATCH):
                batch = pulls[start : start + _BATCH]
                seen = list(zip(batch, self._changes(batch), strict=True))
                told = self._told(seen)
                self._complete(seen)
                for pull, changes in seen:
                    known = told.get(pull.record.number, pull)
                    outcome = _untold() if known is None else self._outcome(known, changes, bench)
                    yield MinedItem(item=self.repo.instance_id(pull.record.number), outcome=outcome)
                    accepted += isinstance(outcome, Accepted)
                    if chosen.limit is not None and accepted >= chosen.limit:
                        return
        yield from self._not_found(chosen)

    def _not_found(self, chosen: PullFilter) -> Iterator[MinedItem]:
        """Answer for pull requests that were asked for by number and aren't in the history."""
        shown = {pull.record.number for pull in self.history.pulls}
        for number in sorted(chosen.numbers - chosen.absent - shown):
            known = number in self.history.known_pulls
            seen = "its head is here, but its commits aren't on" if known else "nothing names it on"
            yield MinedItem(
                item=self.repo.instance_id(number),
                outcome=Rejected(
                    code=RejectCode.BASE_UNKNOWN,
                    message=f"#{number} isn't seen as merged: {seen} the branch at {self.history.tip}",
                ),
            )

    def _changes(self, pulls: Sequence[MergedPull]) -> list[tuple[ChangedPath, ...] | GitError]:
        """Return each pull request's net change, or what stands in the way of reading it."""
        usable = [p for p in pulls if p.rejection is None and p.base_tree is not None]
        pairs = [(p.base_tree, p.merged_tree) for p in usable if p.base_tree is not None]
        try:
            found: list[tuple[ChangedPath, ...] | GitError] = [*net_changes(self.repository, pairs)]
        except GitError:
            found = [self._change(old, new) for old, new in pairs]
        by_number = {p.record.number: change for p, change in zip(usable, found, strict=True)}
        return [by_number.get(p.record.number, ()) for p in pulls]

    def _change(self, old: TreeSha, new: TreeSha) -> tuple[ChangedPath, ...] | GitError:
        try:
            return next(net_changes(self.repository, [(old, new)]))
        except GitError as error:
            return error

    def _complete(self, seen: Sequence[tuple[MergedPull, tuple[ChangedPath, ...] | GitError]]) -> None:
        """Bring the blobs that a batch will need, at once; what can't be had is missed where it is needed."""
        if self.complete is None:
            return
        wanted: list[str] = []
        for pull, changes in seen:
            if pull.base_tree is None or isinstance(changes, GitError) or judge_paths(changes, self.curate):
                continue
            wanted += self.licences.blobs_at(pull.base_tree)
            for change in changes:
                sides = ((change.old_mode, change.old_sha), (change.new_mode, change.new_sha))
                wanted += [sha for mode, sha in sides if mode not in {0, GITLINK_MODE}]
        with suppress(GitError):
            self.complete(self.repository, wanted)

    def _told(
        self, seen: Sequence[tuple[MergedPull, tuple[ChangedPath, ...] | GitError]]
    ) -> dict[int, MergedPull | None]:
        """Ask the informant about those that can still become candidates; None is one it can't tell of."""
        informant = self.informant
        if informant is None:
            return {}
        asked = {
            pull.record.number: pull
            for pull, changes in seen
            if pull.rejection is None
            and not isinstance(changes, GitError)
            and judge_paths(changes, self.curate) is None
        }
        told = informant.pulls([pull.record for pull in asked.values()])
        if self.issues is not None:
            named = {
                ref.number for r in told.values() for ref in r.closing_references or () if ref.repo is None
            }
            named |= {link.number for r in told.values() for link in self._links(r) if link.repo is None}
            self.issues.learn(informant.issues(sorted(named)))
        return {n: replace(p, record=told[n]) if n in told else None for n, p in asked.items()}

    def _outcome(
        self, pull: MergedPull, changes: tuple[ChangedPath, ...] | GitError, bench: TreeWorkbench
    ) -> Outcome[Candidate]:
        if isinstance(changes, GitError):
            return git_outcome(changes)
        return guarded(lambda: self._decide(pull, changes, bench))

    def _decide(
        self, pull: MergedPull, changes: Sequence[ChangedPath], bench: TreeWorkbench
    ) -> Outcome[Candidate]:
        if pull.rejection is not None or pull.base_tree is None:
            return pull.rejection or Rejected(code=RejectCode.BASE_UNREACHABLE, message="no base commit")
        objection = self.policy.judge_pull(pull.record)
        if objection is not None:
            return objection
        split = split_merged(bench, pull.base_tree, pull.merged_tree, changes, self.curate)
        if isinstance(split, Rejected):
            return split
        links = self._links(pull.record)
        stated = self._statement(pull, links)
        if isinstance(stated, Rejected):
            return stated
        candidate = self._candidate(pull, split, links, *stated)
        year = self.activity.in_the_year_up_to(candidate.merged_at)
        health = health_at(self.repository, split.base_tree, self.curate.health, year, self.stars)
        return self.policy.judge(candidate, split.gold_patch, split.test_patch, health, self.roots)

    def _links(self, pull: PullRecord) -> tuple[IssueLink, ...]:
        issues = self.issues.issues if self.issues is not None else {}
        self.timelines.learn(issues)
        return link_pull(pull, issues, self.timelines.closed_by(pull), self.history.known_pulls)

    def _statement(
        self, pull: MergedPull, links: Sequence[IssueLink]
    ) -> tuple[Statement, tuple[str, ...]] | Rejected:
        flags: tuple[str, ...] = ()
        clear = [link for link in links if link.ambiguous is None and link.repo is None]
        if self.issues is not None:
            known = [self.issues.issues[n.number] for n in clear if n.number in self.issues.issues]
            if known:
                begun_at = first_moment(pull.begun_at, pull.record.first_commit_at, pull.record.created_at)
                statement, told = statement_from_issues(known, begun_at, title_alone=self.curate.title_alone)
                return _with_text(statement, told) if statement.text else _empty(known[0])
            if links and not clear:
                return _no_issue(links, self.repo)
            flags = (ISSUE_TEXT_MISSING,) if clear else ()
        if not self.curate.statement_from_commits:
            return _no_issue(links, self.repo)
        statement, more = statement_from_messages(pull.record)
        return _with_text(statement, flags + more)

    def _candidate(
        self,
        pull: MergedPull,
        split: Split,
        links: tuple[IssueLink, ...],
        statement: Statement,
        flags: tuple[str, ...],
    ) -> Candidate:
        record = pull.record
        return Candidate(
            repo=self.repo,
            instance_id=self.repo.instance_id(record.number),
            pull_number=record.number,
            source=self.source,
            base_commit=record.base_commit,
            base_tree=split.base_tree,
            before_tree=split.before_tree,
            after_tree=split.after_tree,
            gold_patch=self.put_blob(split.gold_patch),
            test_patch=self.put_blob(split.test_patch),
            gold_files=split.gold_files,
            test_files=split.test_files,
            cutoff=cutoff_of(record.merged_at, None, pull.base_time),
            statement=statement,
            merge_kind=record.merge_kind,
            merge_commit=record.merge_commit,
            tree_proof=split.proof,
            merged_at=record.merged_at,
            links=links,
            licence=replace(self.licences.at(split.base_tree), reported=self.reported_licence),
            flags=tuple(dict.fromkeys(pull.flags + split.flags + flags + _branch_flags(record))),
        )


def _untold() -> Failed:
    return Failed(
        boundary=Boundary.SOURCE, message="the source gave no usable answer about this pull request alone"
    )


def _branch_flags(pull: PullRecord) -> tuple[str, ...]:
    known = pull.base_branch is not None and pull.default_branch is not None
    return (NOT_ON_DEFAULT,) if known and pull.base_branch != pull.default_branch else ()


def _with_text(statement: Statement, flags: tuple[str, ...]) -> tuple[Statement, tuple[str, ...]] | Rejected:
    if statement.text:
        return statement, flags
    return Rejected(
        code=RejectCode.EMPTY_PROBLEM_STATEMENT, message="the pull request's messages have no text"
    )


def _empty(issue: IssueRecord) -> Rejected:
    message = f"issue #{issue.number} has no text beside its title" if issue.title else "it has no text"
    return Rejected(
        code=RejectCode.EMPTY_PROBLEM_STATEMENT,
        message=message,
        evidence=(issue.title,) if issue.title else (),
    )


def _no_issue(links: Sequence[IssueLink], repo: RepoRef) -> Rejected:
    return Rejected(
        code=RejectCode.NO_LINKED_ISSUE,
        message="every link is ambiguous or leads elsewhere" if links else "no issue is linked",
        evidence=tuple(say_link(link, repo) for link in links),
    )
