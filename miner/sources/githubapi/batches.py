"""Many pull requests or issues at once, each remembered by itself.

How many are asked for at once follows what GitHub can bear: half as many after it gave up on a query, twice
as many after ten that it answered.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from miner.sources.githubapi.client import GithubClient, TooMuchError
from miner.sources.githubapi.queries import (
    CONNECTIONS,
    MAX_BATCH,
    VERSION,
    Kind,
    Rest,
    batch_query,
    rest_query,
)
from swequarry.errors import SourceError, SourceGoneError
from swequarry.records import RepoRef

_RESTS_AT_ONCE = 20
_TRIES = 4
_CALM = 10
Node = Mapping[str, Any]


@dataclass(slots=True)
class Asker:
    """Asks about the numbers of one repository. `size` is how many it asks for at once, 100 at most."""

    client: GithubClient
    repo: RepoRef
    size: int = MAX_BATCH
    largest: int = MAX_BATCH
    _gave_up: bool = False
    _calm: int = 0

    @property
    def variables(self) -> dict[str, str]:
        """The variables of every query."""
        return {"owner": self.repo.owner, "name": self.repo.name}

    @property
    def scope(self) -> str:
        """The repository as the memory knows it."""
        return f"{self.client.api} {self.repo.full_name.lower()} v{VERSION}"

    def nodes(self, kind: Kind, numbers: Sequence[int]) -> dict[int, Node | None]:
        """Return what is known of some numbers; None means that GitHub has none. Asks only for what is new.

        A number is left out where GitHub could give no answer about it alone.

        Raises:
            SourceGoneError: the repository isn't there.
            SourceError, AuthenticationError: as `GithubClient.graphql`.
        """
        wanted = list(dict.fromkeys(numbers))
        known: dict[int, Node | None] = self.client.memory.nodes(self.scope, kind, wanted)
        self.client.spent.remembered += len(known)
        missing = [number for number in wanted if number not in known]
        tries: dict[int, int] = {}
        while missing:
            batch = missing[: self.size]
            found = self._batch(kind, batch)
            self.client.memory.keep_nodes(self.scope, kind, found, self.client.clock.now())
            known |= found
            if self._gave_up and len(batch) > 1:
                continue
            for number in batch:
                tries[number] = tries.get(number, 0) + 1
            missing = [n for n in missing if n not in known and tries.get(n, 0) < _TRIES]
        return {number: known[number] for number in wanted if number in known}

    def _batch(self, kind: Kind, numbers: Sequence[int]) -> dict[int, Node | None]:
        """Ask once; what GitHub had no time for is left out."""
        try:
            answer = self.client.graphql(batch_query(kind, numbers), self.variables)
        except TooMuchError:
            self._gave_up, self._calm = True, 0
            self.size = max(1, len(numbers) // 2)
            return {}
        self._gave_up, self._calm = False, self._calm + 1
        if self._calm >= _CALM:
            self.size, self._calm = min(self.largest, self.size * 2), 0
        there = self.repository(answer)
        absent = {error["path"][-1] for error in answer.get("errors") or () if _says_absent(error)}
        found: dict[int, Node | None] = {}
        for number in numbers:
            alias = f"n{number}"
            if there.get(alias) is not None:
                found[number] = there[alias]
            elif alias in absent:
                found[number] = None
        return self._completed(found)

    def repository(self, answer: Node) -> dict[str, Any]:
        """Return the repository of an answer.

        Raises:
            SourceGoneError, SourceError: it isn't there.
        """
        there = (answer.get("data") or {}).get("repository")
        if there is not None:
            return dict(there)
        errors = answer.get("errors") or ()
        said = "; ".join(str(error.get("message")) for error in errors)
        if any(error.get("type") == "NOT_FOUND" for error in errors):
            raise SourceGoneError(f"{self.repo.full_name}: {said}", status=404)
        raise SourceError(f"GitHub says nothing of {self.repo.full_name}: {said or 'no reason given'}")

    # --- lists that are longer than what came with the node ------------------------------------------

    def _completed(self, found: dict[int, Node | None]) -> dict[int, Node | None]:
        """Append the later pages of long lists, so that what is remembered is whole."""
        nodes = {number: _copied(node) for number, node in found.items() if node is not None}
        waiting = [rest for number, node in nodes.items() for rest in _rests(number, node)]
        failed: set[int] = set()
        tries = 0
        size = _RESTS_AT_ONCE
        while waiting:
            batch, later = waiting[:size], waiting[size:]
            try:
                pages = self.repository(self.client.graphql(rest_query(batch), self.variables))
            except TooMuchError:
                size, tries, pages = max(1, size // 2), tries + 1, {}
            more: list[Rest] = []
            for at, rest in enumerate(batch):
                page = (pages.get(f"r{at}") or {}).get(rest.name)
                if page is None:
                    tries += 1
                    if tries > _TRIES * _RESTS_AT_ONCE:
                        failed.add(rest.number)
                    else:
                        more.append(rest)
                    continue
                nodes[rest.number][rest.name]["nodes"] += page["nodes"]
                if page["pageInfo"]["hasNextPage"]:
                    cursor = page["pageInfo"]["endCursor"]
                    more.append(Rest(rest.number, rest.type, rest.name, cursor))
            waiting = more + later
        return {number: nodes.get(number) for number in found if number not in failed}


def _says_absent(error: Node) -> bool:
    return error.get("type") == "NOT_FOUND" and bool(error.get("path"))


def _copied(node: Node) -> dict[str, Any]:
    lists = CONNECTIONS.get(str(node.get("__typename")), {})
    return {
        name: {**value, "nodes": [one for one in value.get("nodes") or () if one is not None]}
        if name in lists and value is not None
        else value
        for name, value in node.items()
    }


def _rests(number: int, node: Node) -> Iterator[Rest]:
    kind = str(node.get("__typename"))
    for name in CONNECTIONS.get(kind, {}):
        page = node.get(name)
        if page and page["pageInfo"]["hasNextPage"]:
            yield Rest(number, kind, name, page["pageInfo"]["endCursor"])
