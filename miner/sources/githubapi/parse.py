"""From GitHub's JSON to facts. Every field of it may be null; no answer raises here."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from miner.sources.facts import GHOST, PullFacts, RepoFacts
from swequarry.records import (
    CommitSha,
    IssueClosing,
    IssueComment,
    IssueRecord,
    IssueRef,
    RepoRef,
    TextVersion,
)

Json = Mapping[str, Any]


def moment(value: object) -> datetime | None:
    """Read a time; None where there is none."""
    if not isinstance(value, str) or not value:
        return None
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def text(value: object) -> str:
    """Return a text as records keep it: LF line ends, lone surrogates written out."""
    found = value if isinstance(value, str) else ""
    return found.encode("utf-8", "backslashreplace").decode("utf-8").replace("\r\n", "\n")


def nodes(owner: Json, name: str) -> Sequence[Json]:
    """Return the members of a list that came with a node."""
    page = owner.get(name)
    return [one for one in page.get("nodes") or () if one is not None] if isinstance(page, Mapping) else ()


def _author(node: Json) -> str:
    author = node.get("author")
    return str(author.get("login") or GHOST) if isinstance(author, Mapping) else GHOST


def _is_bot(node: Json) -> bool | None:
    author = node.get("author")
    return author.get("__typename") == "Bot" if isinstance(author, Mapping) else None


def _sha(value: object) -> CommitSha | None:
    found = value.get("oid") if isinstance(value, Mapping) else value
    return CommitSha(found) if isinstance(found, str) and found else None


def _other(node: object, repo: RepoRef) -> str | None:
    """Return the full name of a node's repository, where it isn't this one."""
    there = node.get("repository") if isinstance(node, Mapping) else None
    name = there.get("nameWithOwner") if isinstance(there, Mapping) else None
    return str(name) if name and str(name).lower() != repo.full_name.lower() else None


def parse_pull(number: int, node: Json, repo: RepoRef) -> PullFacts:
    """Read a pull request from GraphQL, whole or only how it landed."""
    whole = "body" in node
    count = node.get("commits")
    return PullFacts(
        number=number,
        merged=bool(node.get("merged")) or node.get("mergedAt") is not None,
        merged_at=moment(node.get("mergedAt")),
        merge_commit=_sha(node.get("mergeCommit")),
        head_commit=_sha(node.get("headRefOid")),
        base_branch=node.get("baseRefName"),
        title=text(node.get("title")) if whole else None,
        body=text(node.get("body")) if whole else None,
        author=_author(node) if whole else None,
        is_bot=_is_bot(node) if whole else None,
        created_at=moment(node.get("createdAt")),
        edited_at=moment(node.get("lastEditedAt")),
        commit_count=count.get("totalCount") if isinstance(count, Mapping) else None,
        labels=tuple(str(one.get("name")) for one in nodes(node, "labels")) if whole else None,
        closing=tuple(_references(node, repo)) if whole else None,
    )


def _references(node: Json, repo: RepoRef) -> Iterator[IssueRef]:
    for one in nodes(node, "closingIssuesReferences"):
        if isinstance(one.get("number"), int):
            yield IssueRef(number=one["number"], repo=_other(one, repo))


def parse_issue(number: int, node: Json, repo: RepoRef) -> IssueRecord:
    """Read an issue from GraphQL, or that the number is a pull request.

    An issue that was transferred is answered from where it is now, with its new number; its text is the same.
    """
    if node.get("__typename") == "PullRequest":
        return IssueRecord(number=number, title=text(node.get("title")), is_pull_request=True)
    events = nodes(node, "timelineItems")
    closings = [one for one in events if one.get("__typename") == "ClosedEvent"]
    reopened = [one for one in events if one.get("__typename") == "ReopenedEvent"]
    return IssueRecord(
        number=number,
        title=text(node.get("title")),
        body=text(node.get("body")),
        author=_author(node),
        created_at=moment(node.get("createdAt")),
        is_pull_request=False,
        comments=tuple(_comment(one) for one in nodes(node, "comments")),
        edited_at=moment(node.get("lastEditedAt")),
        body_versions=tuple(_versions(nodes(node, "userContentEdits"))),
        closings=tuple(_closing(one, repo) for one in closings),
        reopened_at=tuple(at for one in reopened if (at := moment(one.get("createdAt")))),
    )


def _comment(node: Json) -> IssueComment:
    return IssueComment(
        text=text(node.get("body")),
        created_at=moment(node.get("createdAt")),
        edited_at=moment(node.get("lastEditedAt")),
        author=_author(node),
    )


def _versions(edits: Sequence[Json]) -> Iterator[TextVersion]:
    """Yield the states of a body, oldest first. `diff` holds the whole text; null where it was removed."""
    known = [(at, edit.get("diff")) for edit in edits if (at := moment(edit.get("editedAt")))]
    for at, diff in sorted(known, key=lambda one: one[0]):
        yield TextVersion(at=at, text=None if diff is None else text(diff))


def _closing(node: Json, repo: RepoRef) -> IssueClosing:
    closer = node.get("closer")
    kind = closer.get("__typename") if isinstance(closer, Mapping) else None
    return IssueClosing(
        at=moment(node.get("createdAt")),
        pull=closer.get("number") if kind == "PullRequest" and isinstance(closer, Mapping) else None,
        repo=_other(closer, repo) if kind == "PullRequest" else None,
        commit=_sha(closer) if kind == "Commit" else None,
    )


def parse_repo(body: Json) -> RepoFacts:
    """Read a repository from REST."""
    licence = body.get("license")
    return RepoFacts(
        id=int(body.get("id") or 0),
        full_name=str(body.get("full_name") or ""),
        default_branch=str(body.get("default_branch") or "main"),
        licence=licence.get("spdx_id") if isinstance(licence, Mapping) else None,
        stars=body.get("stargazers_count"),
        is_fork=body.get("fork"),
        is_archived=body.get("archived"),
        is_private=body.get("private"),
    )
