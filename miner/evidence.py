"""Which issues a pull request resolves, by all that is known: GitHub's own word first, keywords second.

GitHub says it twice: in the pull request's closing references, and in the timeline of the issue (who closed
it). Both are confirmation, and none is needed: for a pull request that isn't aimed at the default branch
GitHub gives no reference, and the issue stays open until a release. Facts can also speak against a link; then
it is ambiguous, and the evidence stays:

- the issue was opened again after the merge, or opened only after it;
- it is a pull request;
- its timeline is known, the pull request went to the default branch, and the issue was never closed, or by
  another pull request or commit.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

from miner.linking import NEGATED, TARGET_IS_PULL_REQUEST, LinkText, find_links
from swequarry.records import (
    Confidence,
    IssueClosing,
    IssueLink,
    IssueRecord,
    LinkPlace,
    PullRecord,
    RepoRef,
)

REOPENED = "reopened"
NEWER = "opened_after_the_merge"
NEVER_CLOSED = "never_closed"
CLOSED_BY_OTHER = "closed_by_other"

REASONS: Mapping[str, str] = {
    NEGATED: "the sentence says that it does not",
    TARGET_IS_PULL_REQUEST: "it is a pull request",
    REOPENED: "it was opened again after the merge",
    NEWER: "it was opened only after the merge",
    NEVER_CLOSED: "it was never closed",
    CLOSED_BY_OTHER: "another pull request or commit closed it",
}
"""What `IssueLink.ambiguous` can be, as a part of a sentence."""

_PLACES: Mapping[LinkPlace, str] = {
    LinkPlace.CLOSING_REFERENCE: "GitHub lists it",
    LinkPlace.TIMELINE: "the issue's timeline",
    LinkPlace.TITLE: "the title",
    LinkPlace.BODY: "the description",
    LinkPlace.COMMIT_MESSAGE: "a commit message",
    LinkPlace.SOURCE: "the source",
}
_OTHER_BRANCH = "merged into {base}, which isn't the default branch {default}"


class Timelines:
    """Which issues a pull request closed, as their timelines say; learns issues as they become known."""

    def __init__(self) -> None:
        self._learnt = 0
        self._by_pull: dict[int, list[int]] = defaultdict(list)
        self._by_commit: dict[str, list[int]] = defaultdict(list)

    def learn(self, issues: Mapping[int, IssueRecord]) -> None:
        """Read the issues that were added since the last call; a mapping keeps its order, and only grows."""
        for issue in islice(issues.values(), self._learnt, None):
            for closing in issue.closings or ():
                if closing.pull is not None and closing.repo is None:
                    self._by_pull[closing.pull].append(issue.number)
                if closing.commit is not None:
                    self._by_commit[closing.commit].append(issue.number)
        self._learnt = len(issues)

    def closed_by(self, pull: PullRecord) -> tuple[int, ...]:
        """Return the issues that a pull request or a commit of its own closed, each once."""
        found = list(self._by_pull.get(pull.number, ()))
        for sha in (pull.merge_commit, *pull.commits) if self._by_commit else ():
            found += self._by_commit.get(sha, ())
        return tuple(dict.fromkeys(found))


def link_pull(
    pull: PullRecord,
    issues: Mapping[int, IssueRecord],
    closed: Iterable[int] = (),
    pulls: Container[int] = frozenset(),
) -> tuple[IssueLink, ...]:
    """Return the issues that a pull request resolves, each once with all evidence, in order of appearance.

    `issues` are those of its repository as far as they are known, `closed` the numbers that `Timelines` gives
    for it, `pulls` the numbers that name pull requests where no issue is known by them.
    """
    named = find_links(_texts(pull), pull.repo)
    kept: dict[tuple[str | None, int], IssueLink] = {}
    for link in (*named, *_references(pull), *_closings(pull, issues, closed)):
        key = (link.repo and link.repo.lower(), link.number)
        kept[key] = _stronger(kept[key], link) if key in kept else link
    return tuple(_judged(link, pull, issues, pulls) for link in kept.values())


def _texts(pull: PullRecord) -> Iterator[LinkText]:
    yield LinkText(place=LinkPlace.TITLE, text=pull.title or "")
    yield LinkText(place=LinkPlace.BODY, text=pull.body or "")
    for message in pull.commit_messages:
        yield LinkText(place=LinkPlace.COMMIT_MESSAGE, text=message)


def _references(pull: PullRecord) -> Iterator[IssueLink]:
    for reference in pull.closing_references or ():
        elsewhere = reference.repo is not None and not _same(reference.repo, pull.repo)
        yield IssueLink(
            number=reference.number,
            repo=reference.repo if elsewhere else None,
            place=LinkPlace.CLOSING_REFERENCE,
            quote="among the issues that the pull request closes",
            confidence=Confidence.CONFIRMED,
        )


def _same(full_name: str, repo: RepoRef) -> bool:
    return full_name.lower() == repo.full_name.lower()


def _closings(
    pull: PullRecord, issues: Mapping[int, IssueRecord], closed: Iterable[int]
) -> Iterator[IssueLink]:
    for number in closed:
        issue = issues.get(number)
        own = next((c for c in (issue.closings if issue else None) or () if _is_own(c, pull)), None)
        if own is not None:
            by = f"commit {own.commit}" if own.pull is None else f"#{own.pull}"
            when = f" on {own.at:%Y-%m-%d %H:%M} UTC" if own.at else ""
            yield IssueLink(
                number=number,
                place=LinkPlace.TIMELINE,
                quote=f"closed by {by}{when}",
                confidence=Confidence.CONFIRMED,
            )


def _is_own(closing: IssueClosing, pull: PullRecord) -> bool:
    if closing.pull is not None:
        return closing.pull == pull.number and (closing.repo is None or _same(closing.repo, pull.repo))
    return closing.commit is not None and closing.commit in (pull.merge_commit, *pull.commits)


def _stronger(known: IssueLink, other: IssueLink) -> IssueLink:
    """Put one piece of evidence beside another: GitHub's word stands first, what speaks against it stays."""
    ranks = list(LinkPlace)
    first, second = (known, other) if ranks.index(known.place) <= ranks.index(other.place) else (other, known)
    note = f"{_PLACES[second.place]}: {second.quote}"
    return replace(
        first, ambiguous=first.ambiguous or second.ambiguous, notes=(*first.notes, *second.notes, note)
    )


def _judged(
    link: IssueLink, pull: PullRecord, issues: Mapping[int, IssueRecord], pulls: Container[int]
) -> IssueLink:
    """Say what the facts have against a link, and where the branch explains that GitHub has no word of it."""
    default = _on_default_branch(pull)
    if default is False:
        note = _OTHER_BRANCH.format(base=pull.base_branch, default=pull.default_branch)
        link = replace(link, notes=(*link.notes, note))
    if link.ambiguous is not None or link.repo is not None:
        return link
    issue = issues.get(link.number)
    if (issue is None or issue.is_pull_request is None) and link.number in pulls:
        return replace(link, ambiguous=TARGET_IS_PULL_REQUEST)
    against = None if issue is None else _against(issue, link, pull, on_default=default is True)
    return replace(link, ambiguous=against)


def _on_default_branch(pull: PullRecord) -> bool | None:
    if pull.base_branch is None or pull.default_branch is None:
        return None
    return pull.base_branch == pull.default_branch


def _against(issue: IssueRecord, link: IssueLink, pull: PullRecord, *, on_default: bool) -> str | None:
    merged = pull.merged_at
    if issue.is_pull_request:
        return TARGET_IS_PULL_REQUEST
    if merged is not None and any(moment > merged for moment in issue.reopened_at or ()):
        return REOPENED
    if merged is not None and issue.created_at is not None and issue.created_at > merged:
        return NEWER
    if link.confidence is Confidence.CONFIRMED or not on_default or issue.closings is None:
        return None
    if not issue.closings:
        return NEVER_CLOSED
    others = [c for c in issue.closings if c.pull is not None or c.commit is not None]
    return CLOSED_BY_OTHER if others and not any(_is_own(c, pull) for c in others) else None


def say_link(link: IssueLink, repo: RepoRef) -> str:
    """Explain a link in a sentence, with the quoted span."""
    issue = f"{link.repo or repo.full_name}#{link.number}"
    if link.ambiguous is not None:
        head = f"{issue} isn't taken as resolved, for {REASONS.get(link.ambiguous, link.ambiguous)}"
    elif link.repo is not None:
        head = f"{issue} is resolved too, but it is of another repository"
    else:
        head = f"{issue} is resolved ({link.confidence.value})"
    more = "".join(f"; {note}" for note in link.notes)
    return f'{head}: {_PLACES[link.place]}: "{link.quote}"{more}'
