"""The GraphQL that is asked, and what it costs.

Many numbers are asked for at once, each under an alias of its own (`n12: pullRequest(number: 12)`), so that
exactly those are paid for that git couldn't answer. Costs are GitHub's own arithmetic (page "Rate limits and
query limits for the GraphQL API"): one request for each connection of each parent, by 100, at least a point.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

MAX_BATCH = 100
_PAGE_INFO = "pageInfo { hasNextPage endCursor }"
_AUTHOR = "author { __typename login }"


@dataclass(frozen=True, slots=True)
class Connection:
    """A list within a node: how many of it come with the node, and of what."""

    first: int
    fields: str
    arguments: str = ""

    def text(self, name: str, *, first: int | None = None, after: str | None = None) -> str:
        """Return the selection of one page."""
        cursor = f', after: "{after}"' if after else ""
        return (
            f"{name}(first: {first or self.first}{cursor}{self.arguments})"
            f" {{ totalCount {_PAGE_INFO} nodes {{ {self.fields} }} }}"
        )


class Kind(StrEnum):
    """What is asked for by number. `LANDING` tells whether and how a pull request was merged, and no more."""

    PULL = "pull"
    LANDING = "landing"
    ISSUE = "issue"


_EDITS = Connection(10, "editedAt diff")
_LABELS = Connection(20, "name")
_LANDING = (
    "number merged mergedAt baseRefName headRefOid mergeCommit { oid } commits(first: 1) { totalCount }"
)

CONNECTIONS: Mapping[str, Mapping[str, Connection]] = {
    "PullRequest": {
        "closingIssuesReferences": Connection(10, "number repository { nameWithOwner }"),
        "labels": _LABELS,
    },
    "Issue": {
        "comments": Connection(30, f"{_AUTHOR} body createdAt lastEditedAt"),
        "labels": _LABELS,
        "userContentEdits": _EDITS,
        "timelineItems": Connection(
            20,
            "__typename ... on ReopenedEvent { createdAt } ... on ClosedEvent { createdAt closer {"
            " __typename ... on PullRequest { number repository { nameWithOwner } }"
            " ... on Commit { oid } } }",
            ", itemTypes: [CLOSED_EVENT, REOPENED_EVENT]",
        ),
    },
}
"""The lists of each type; what doesn't come with the node is asked for afterwards, page by page."""

_PLAIN = {
    "PullRequest": f"__typename {_LANDING} title body {_AUTHOR} createdAt lastEditedAt",
    "Issue": f"__typename number title body {_AUTHOR} createdAt closedAt stateReason lastEditedAt"
    " repository { nameWithOwner }",
}
_FIELD = {Kind.PULL: "pullRequest", Kind.LANDING: "pullRequest", Kind.ISSUE: "issueOrPullRequest"}
VERSION = 1
"""Part of what is remembered: other fields are another version, and are asked for anew."""


def _node(kind: str) -> str:
    lists = " ".join(one.text(name) for name, one in CONNECTIONS[kind].items())
    return f"{_PLAIN[kind]} {lists}"


def _selection(kind: Kind) -> str:
    match kind:
        case Kind.PULL:
            return _node("PullRequest")
        case Kind.LANDING:
            return f"__typename {_LANDING}"
        case Kind.ISSUE:
            return f"__typename ... on Issue {{ {_node('Issue')} }} ... on PullRequest {{ number title }}"


def batch_query(kind: Kind, numbers: Sequence[int]) -> str:
    """Return the query for some numbers; variables are `owner` and `name`."""
    fields = " ".join(f"n{number}: {_FIELD[kind]}(number: {number}) {{ ...Node }}" for number in numbers)
    on = "IssueOrPullRequest" if kind is Kind.ISSUE else "PullRequest"
    return (
        "query($owner: String!, $name: String!) { rateLimit { cost } repository(owner: $owner, name: $name) {"
        f" nameWithOwner {fields} }} }} fragment Node on {on} {{ {_selection(kind)} }}"
    )


@dataclass(frozen=True, slots=True)
class Rest:
    """The rest of a list: from `cursor` on, of the node with that number."""

    number: int
    type: str
    name: str
    cursor: str


def rest_query(rests: Sequence[Rest]) -> str:
    """Return the query for the next pages of some lists; 100 of each."""
    fields = []
    for at, rest in enumerate(rests):
        page = CONNECTIONS[rest.type][rest.name].text(rest.name, first=100, after=rest.cursor)
        fields.append(
            f"r{at}: issueOrPullRequest(number: {rest.number}) {{ ... on {rest.type} {{ {page} }} }}"
        )
    return (
        "query($owner: String!, $name: String!) { rateLimit { cost } repository(owner: $owner, name: $name) {"
        f" nameWithOwner {' '.join(fields)} }} }}"
    )


def listing_query(after: str | None) -> str:
    """Return the query for 100 merged pull requests of a repository, oldest first, with how they landed."""
    cursor = f', after: "{after}"' if after else ""
    return (
        "query($owner: String!, $name: String!) { rateLimit { cost } repository(owner: $owner, name: $name) {"
        " nameWithOwner pullRequests(first: 100, states: [MERGED],"
        f" orderBy: {{field: CREATED_AT, direction: ASC}}{cursor})"
        f" {{ totalCount {_PAGE_INFO} nodes {{ {_LANDING} }} }} }} }}"
    )


SEARCH_QUERY = (
    "query($text: String!, $after: String) { rateLimit { cost } search(query: $text, type: ISSUE, first: 100,"
    f" after: $after) {{ issueCount {_PAGE_INFO} nodes {{ ... on PullRequest {{ {_LANDING} }} }} }} }}"
)


def points(kind: Kind, count: int) -> int:
    """Return what a batch of so many numbers costs."""
    lists = {
        Kind.PULL: len(CONNECTIONS["PullRequest"]) + 1,
        Kind.LANDING: 1,
        Kind.ISSUE: len(CONNECTIONS["Issue"]),
    }
    return max(1, round(lists[kind] * count / 100))
