"""All merged pull requests of a repository, or those of a span of time: numbers, and how each landed.

Search never shows more than 1,000 results, so a span with more is halved until each part has fewer. Without a
span the repository's own list is read, which has no such limit and is cheaper.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from miner.sources.githubapi.batches import Asker, Node
from miner.sources.githubapi.queries import SEARCH_QUERY, listing_query

SEARCH_LIMIT = 1000
_BEGINNING = datetime(2008, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Span:
    """From `since` to `until`, both included, in whole seconds."""

    since: datetime
    until: datetime

    def halves(self) -> "tuple[Span, Span] | None":
        """Return the span in two that share no second; None where it is but one."""
        if self.until <= self.since:
            return None
        middle = self.since + timedelta(seconds=(self.until - self.since) // _SECOND // 2)
        return Span(self.since, middle), Span(middle + _SECOND, self.until)


def split(span: Span, count: Callable[[Span], int], limit: int = SEARCH_LIMIT) -> Iterator[tuple[Span, bool]]:
    """Yield parts of a span, in order, that together are the span, and whether each has `limit` at most.

    Only a part of one second may have more.
    """
    halves = span.halves()
    fits = count(span) <= limit
    if fits or halves is None:
        yield span, fits
        return
    for half in halves:
        yield from split(half, count, limit)


def merged_pulls(asker: Asker, since: datetime | None, until: datetime | None) -> Iterator[Node]:
    """Yield how every merged pull request of a span landed; without bounds, of the repository.

    Raises:
        SourceGoneError, SourceError, AuthenticationError: as `Asker.nodes`.
    """
    if since is None and until is None:
        yield from _listed(asker)
        return
    span = Span(
        (since or _BEGINNING).astimezone(UTC).replace(microsecond=0),
        (until or asker.client.clock.now()).astimezone(UTC).replace(microsecond=0),
    )
    first: dict[Span, Any] = {}

    def count(part: Span) -> int:
        first[part] = _search(asker, part, None)
        return int(first[part]["issueCount"])

    for part, fits in split(span, count):
        if not fits:  # more than 1,000 within one second: a mass migration
            inside = (
                node for node in _listed(asker) if part.since <= _moment(node["mergedAt"]) <= part.until
            )
            yield from inside
            continue
        page = first.pop(part)
        yield from _nodes(page)
        while page["pageInfo"]["hasNextPage"]:
            page = _search(asker, part, page["pageInfo"]["endCursor"])
            yield from _nodes(page)


def _listed(asker: Asker) -> Iterator[Node]:
    after: str | None = None
    while True:
        answer = asker.client.graphql_kept(asker.scope, listing_query(after), asker.variables)
        page = asker.repository(answer)["pullRequests"]
        yield from _nodes(page)
        if not page["pageInfo"]["hasNextPage"]:
            return
        after = page["pageInfo"]["endCursor"]


def _search(asker: Asker, span: Span, after: str | None) -> Any:
    stamps = f"{span.since:%Y-%m-%dT%H:%M:%SZ}..{span.until:%Y-%m-%dT%H:%M:%SZ}"
    text = f"repo:{asker.repo.full_name} is:pr is:merged merged:{stamps} sort:created-asc"
    answer = asker.client.graphql_kept(asker.scope, SEARCH_QUERY, {"text": text, "after": after})
    return answer["data"]["search"]


def _nodes(page: Any) -> Iterator[Node]:
    yield from (node for node in page["nodes"] if node)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
