"""Requests to GitHub: through PyGithub, with several tokens, remembered pauses and bounded patience.

PyGithub's own retries are off: they sleep inside one process and forget at its end. Here every wait is a row
of the memory, so that other processes and later runs keep it too.
"""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

import requests
from github import Auth, Github, GithubException

from miner.sources.githubapi.answers import Judgement, Verdict, judge, reset_time
from miner.sources.githubapi.memory import Memory, Page, Pause
from miner.sources.githubapi.tokens import token_id
from swequarry.errors import AuthenticationError, SourceError, SourceGoneError, SourceRefusedError

_LOG = logging.getLogger("swequarry.github")
_USER_AGENT = "swequarry"
_ALL = "all"
_FIRST_SECONDARY_S, _LONGEST_SECONDARY_S = 60.0, 900.0
_LONGEST_BACKOFF_S = 60.0
_MARGIN = timedelta(seconds=1)


class Clock(Protocol):
    """Time, so that tests needn't wait."""

    def now(self) -> datetime:
        """Return the time in UTC."""

    def sleep(self, seconds: float) -> None:
        """Let so much time pass."""


class RealClock:
    """The machine's own."""

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Sleep; a signal ends it."""
        time.sleep(seconds)


class TooMuchError(SourceError):
    """GitHub couldn't answer so large a query: ask for less at once."""


@dataclass(slots=True)
class Spent:
    """What was asked for: requests by resource, points of GraphQL, answers `304` (free), waits in seconds."""

    core: int = 0
    graphql: int = 0
    points: int = 0
    unchanged: int = 0
    remembered: int = 0
    repeated: int = 0
    waited_s: float = 0.0

    @property
    def requests(self) -> int:
        """All requests that reached out."""
        return self.core + self.graphql + self.unchanged

    def __str__(self) -> str:
        return (
            f"{self.requests} requests, {self.points} points of GraphQL, {self.unchanged} unchanged,"
            f" {self.remembered} answers remembered, {self.repeated} asked again, {self.waited_s:.0f} s"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Bounds: of one request, of a wait that GitHub asks for, and of tries at one thing."""

    timeout_s: int = 60
    longest_wait_s: float = 3700.0
    tries: int = 10


@dataclass(frozen=True, slots=True)
class _Raw:
    status: int
    headers: Mapping[str, str]
    body: str


@dataclass(slots=True)
class GithubClient:
    """Asks one API. `tell` hears, in a sentence, of every wait.

    One object serves one thread; several processes may share the memory.
    """

    api: str
    tokens: Sequence[str]
    memory: Memory
    ca_bundle: Path | None = None
    patience: Patience = Patience()
    clock: Clock = field(default_factory=RealClock)
    tell: Callable[[str], None] = _LOG.info
    spent: Spent = field(default_factory=Spent)
    _doors: dict[str, Github] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)
    _strikes: dict[str, int] = field(default_factory=dict)

    # --- what callers ask ----------------------------------------------------------------------------

    def get(
        self, path: str, parameters: Mapping[str, str] | None = None, *, as_kept: bool = False
    ) -> tuple[Any, str | None]:
        """Return the JSON of an address and its `Link` header; unchanged answers come from the memory.

        `as_kept` takes what is remembered, however old, without asking whether it changed.

        Raises:
            SourceGoneError: 404, 410 or 451.
            SourceRefusedError: GitHub won't, whatever token asks.
            AuthenticationError: no token is accepted.
            SourceError: GitHub can't be reached or only gives broken answers.
        """
        address = f"{path}?{urlencode(sorted(parameters.items()))}" if parameters else path
        kept = self.memory.page(f"{self.api}{address}")
        if kept and as_kept:
            self.spent.remembered += 1
            return json.loads(kept.body), kept.link
        headers = {"If-None-Match": kept.etag} if kept and kept.etag else {}
        raw, judged = self._ask("core", "GET", address, headers, None)
        if judged.verdict is Verdict.UNCHANGED and kept is not None:
            self.spent.unchanged += 1
            self.spent.core -= 1
            return json.loads(kept.body), kept.link
        page = Page(
            body=raw.body,
            etag=raw.headers.get("etag"),
            link=raw.headers.get("link"),
            asked_at=self.clock.now(),
        )
        self.memory.keep_page(f"{self.api}{address}", page)
        return judged.data, page.link

    def graphql(self, query: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the whole answer to a query, `data` and `errors`: part of it may be missing.

        Raises:
            TooMuchError: GitHub gave up on it, for what it asks at once.
            SourceRefusedError: the query is wrong, or not allowed.
            AuthenticationError, SourceError: as `get`.
        """
        _, judged = self._ask(
            "graphql", "POST", self._graphql_url, {}, {"query": query, "variables": dict(variables)}
        )
        data: Mapping[str, Any] = judged.data
        paid = (data.get("data") or {}).get("rateLimit")
        self.spent.points += int(paid["cost"]) if isinstance(paid, dict) and "cost" in paid else 1
        return data

    def graphql_kept(self, scope: str, query: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answer to a query from the memory, else ask, and keep it below a scope.

        Raises:
            TooMuchError, SourceRefusedError, AuthenticationError, SourceError: as `graphql`.
        """
        meant = json.dumps([query, dict(variables)], sort_keys=True).encode("utf-8")
        address = f"{scope} {hashlib.sha256(meant).hexdigest()}"
        kept = self.memory.page(address)
        if kept is not None:
            self.spent.remembered += 1
            found: Mapping[str, Any] = json.loads(kept.body)
            return found
        answer = self.graphql(query, variables)
        page = Page(body=json.dumps(answer), etag=None, link=None, asked_at=self.clock.now())
        self.memory.keep_page(address, page)
        return answer

    def check_tokens(self) -> None:
        """See that a token is accepted, by a request that costs nothing.

        A server that can't be reached isn't an error here: what is remembered may be enough.

        Raises:
            AuthenticationError: no token is accepted.
            SourceError: the address is none of an API, or its certificate isn't trusted.
        """
        for token in self.tokens:
            try:
                raw = self._send(token, "GET", "/rate_limit", {}, None)
            except requests.RequestException:
                return
            if raw.status != 401:  # noqa: PLR2004 - the status of a refused token
                return
            self._refused.add(token)
        raise self._no_token()

    # --- one request, until it is answered -----------------------------------------------------------

    def _ask(
        self, resource: str, verb: str, url: str, headers: Mapping[str, str], sent: Any
    ) -> tuple[_Raw, Judgement]:
        failures, last = 0, "nothing"
        while failures < self.patience.tries:
            token = self._free_token(resource)
            self._count(resource)
            try:
                raw = self._send(token, verb, url, headers, sent)
            except (requests.RequestException, RuntimeError, ValueError) as error:
                failures, last = failures + 1, f"{type(error).__name__}: {error}"
                self._back_off(failures, last)
                continue
            judged = judge(
                raw.status, raw.headers, raw.body, now=self.clock.now(), graphql=resource == "graphql"
            )
            last = judged.message
            match judged.verdict:
                case Verdict.USE | Verdict.UNCHANGED:
                    self._strikes.pop(token, None)
                    self._rest_when_empty(token, resource, raw)
                    return raw, judged
                case Verdict.PRIMARY | Verdict.SECONDARY:
                    self._pause(token, resource, judged)
                case Verdict.AGAIN:
                    failures += 1
                    self._back_off(failures, judged.message)
                case Verdict.BAD_TOKEN:
                    self._refused.add(token)
                case Verdict.SMALLER:
                    raise TooMuchError(f"GitHub can't answer so much at once: {judged.message}")
                case Verdict.GONE:
                    raise SourceGoneError(
                        f"GitHub answers {judged.status} to {url}: {judged.message}", status=judged.status
                    )
                case Verdict.REFUSED:
                    raise SourceRefusedError(
                        f"GitHub refuses {url}: {judged.message} (status {judged.status})"
                    )
        raise SourceError(
            f"GitHub gave no usable answer to {url} in {failures} tries, "
            f"the last time {last}; run it again later"
        )

    def _count(self, resource: str) -> None:
        if resource == "graphql":
            self.spent.graphql += 1
        else:
            self.spent.core += 1

    def _send(self, token: str, verb: str, url: str, headers: Mapping[str, str], sent: Any) -> _Raw:
        try:
            status, found, body = self._door(token).requester.requestJson(
                verb, url, headers=dict(headers), input=sent
            )
        except requests.exceptions.SSLError as error:
            if "CERTIFICATE_VERIFY_FAILED" not in str(error):
                raise  # a connection that was cut may do better
            raise SourceError(
                f"the certificate of {self.api} isn't trusted: {error}; name a PEM file that vouches for it "
                "as source.github.ca_bundle"
            ) from error
        return _Raw(status, {str(k).lower(): str(v) for k, v in found.items()}, body)

    def _door(self, token: str) -> Github:
        if token not in self._doors:
            try:
                self._doors[token] = Github(
                    auth=Auth.Token(token),
                    base_url=self.api,
                    timeout=self.patience.timeout_s,
                    user_agent=_USER_AGENT,
                    per_page=100,
                    verify=str(self.ca_bundle) if self.ca_bundle else True,
                    retry=0,
                    seconds_between_requests=0,
                    seconds_between_writes=0,
                )
            except (AssertionError, GithubException) as error:
                raise SourceError(f"{self.api} is no address of an API: {error}") from error
        return self._doors[token]

    @property
    def _graphql_url(self) -> str:
        return self._door(self.tokens[0]).requester.graphql_url

    # --- waiting -------------------------------------------------------------------------------------

    def _free_token(self, resource: str) -> str:
        """Return a token that may ask now; waits until there is one."""
        while True:
            usable = [token for token in self.tokens if token not in self._refused]
            if not usable:
                raise self._no_token()
            now = self.clock.now()
            until = {
                (pause.token): pause
                for pause in reversed(self.memory.pauses(now))
                if pause.resource in {resource, _ALL}
            }
            free = [token for token in usable if token_id(token) not in until]
            if free:
                return free[0]
            first = min((until[token_id(token)] for token in usable), key=lambda pause: pause.until)
            self._wait(first, now)

    def _wait(self, pause: Pause, now: datetime) -> None:
        seconds = min((pause.until - now).total_seconds(), self.patience.longest_wait_s)
        self.tell(f"waiting for GitHub until {pause.until:%H:%M:%S} UTC ({pause.why})")
        self.spent.waited_s += seconds
        self.clock.sleep(max(0.01, seconds))

    def _pause(self, token: str, resource: str, judged: Judgement) -> None:
        """Write down until when a token rests: as GitHub says, else a minute and longer each time."""
        self.spent.repeated += 1
        now = self.clock.now()
        strikes = self._strikes[token] = self._strikes.get(token, 0) + 1
        seconds = min(_FIRST_SECONDARY_S * 2 ** (strikes - 1), _LONGEST_SECONDARY_S)
        until = judged.until or now + timedelta(seconds=seconds)
        margin = _MARGIN if judged.verdict is Verdict.PRIMARY else timedelta()
        until = min(max(until + margin, now), now + timedelta(seconds=self.patience.longest_wait_s))
        where = resource if judged.verdict is Verdict.PRIMARY else _ALL
        why = f"{judged.verdict.value} of {where} for token {token_id(token)}"
        _LOG.warning("%s: resting until %s; %s", why, until, judged.message)
        self.memory.pause(Pause(token=token_id(token), resource=where, until=until, why=why))

    def _rest_when_empty(self, token: str, resource: str, raw: _Raw) -> None:
        """Let a token rest that has just used up its limit, rather than be refused once more."""
        reset = reset_time(raw.headers)
        if raw.headers.get("x-ratelimit-remaining") == "0" and reset and reset > self.clock.now():
            why = f"{Verdict.PRIMARY.value} of {resource} for token {token_id(token)}"
            longest = self.clock.now() + timedelta(seconds=self.patience.longest_wait_s)
            until = min(reset + _MARGIN, longest)
            self.memory.pause(Pause(token=token_id(token), resource=resource, until=until, why=why))

    def _back_off(self, failures: int, message: str) -> None:
        self.spent.repeated += 1
        seconds = min(2.0 ** (failures - 1), _LONGEST_BACKOFF_S)
        _LOG.warning("GitHub: %s; again in %g s", message, seconds)
        self.spent.waited_s += seconds
        self.clock.sleep(seconds)

    def _no_token(self) -> AuthenticationError:
        names = ", ".join(token_id(token) for token in self.tokens)
        return AuthenticationError(
            f"GitHub at {self.api} accepts no token (401; tried {names}); renew GITHUB_TOKEN"
        )
