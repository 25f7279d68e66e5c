"""What an answer of GitHub means: to be used, to be waited for, to be asked again, or final.

A 403 isn't one thing. GitHub's pages "Rate limits for the REST API" and "Rate limits and query limits for the
GraphQL API" say which: `retry-after` names the wait; else nothing remaining names it by `x-ratelimit-reset`;
else a secondary limit asks for a minute at least, and longer each time; everything else is a refusal.
Pages of HTML come from what stands in front of GitHub, whatever their status.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from http import HTTPStatus
from typing import Any

_LIMIT = re.compile(r"rate limit|abuse detection|too many requests|wait a few minutes", re.IGNORECASE)
_TOO_MUCH = re.compile(
    r"something went wrong while executing your query|timed? ?out|possible nodes which exceeds"
    r"|resource limits?|query has complexity",
    re.IGNORECASE,
)
_TOO_MUCH_TYPES = frozenset({"MAX_NODE_LIMIT_EXCEEDED", "RESOURCE_LIMITS_EXCEEDED", "TIMEOUT"})
_GATEWAYS = frozenset({502, 504})
_MINUTE = timedelta(seconds=60)


class Verdict(StrEnum):
    """What is to be done with an answer."""

    USE = "use"
    UNCHANGED = "unchanged"
    PRIMARY = "primary limit"
    SECONDARY = "secondary limit"
    AGAIN = "broken answer"
    SMALLER = "asked for too much"
    GONE = "gone"
    BAD_TOKEN = "token refused"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict, the JSON where it is to be used, and until when to wait where GitHub said so."""

    verdict: Verdict
    message: str = ""
    data: Any = None
    until: datetime | None = None
    status: int = 200


def judge(status: int, headers: Mapping[str, str], body: str, *, now: datetime, graphql: bool) -> Judgement:
    """Say what an answer means. `headers` have lower-case names."""
    data, message = _read(body)
    if status == HTTPStatus.NOT_MODIFIED:
        return Judgement(verdict=Verdict.UNCHANGED, status=status)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        too_much = graphql and (status in _GATEWAYS or _TOO_MUCH.search(message))
        verdict = Verdict.SMALLER if too_much else Verdict.AGAIN
        return Judgement(verdict=verdict, message=message or f"status {status}", status=status)
    if status >= HTTPStatus.MULTIPLE_CHOICES:
        return _refused(status, headers, message, now, is_page=data is None)
    if data is None:
        kind = "a page" if body.lstrip()[:1] == "<" else "broken JSON" if body.strip() else "nothing"
        return Judgement(verdict=Verdict.AGAIN, message=f"{kind} instead of data", status=status)
    return _graphql(data, headers, now) if graphql else Judgement(verdict=Verdict.USE, data=data)


def _refused(
    status: int, headers: Mapping[str, str], message: str, now: datetime, *, is_page: bool
) -> Judgement:
    match status:
        case HTTPStatus.UNAUTHORIZED:
            return Judgement(verdict=Verdict.BAD_TOKEN, message=message, status=status)
        case HTTPStatus.FORBIDDEN | HTTPStatus.TOO_MANY_REQUESTS:
            return _forbidden(status, headers, message, now, is_page=is_page)
        case HTTPStatus.NOT_FOUND if _nothing_left(headers):  # a limit sometimes looks like an absence
            return _primary(status, headers, message, now)
        case HTTPStatus.NOT_FOUND | HTTPStatus.GONE | HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS:
            return Judgement(verdict=Verdict.GONE, message=message, status=status)
    return Judgement(verdict=Verdict.REFUSED, message=message or f"status {status}", status=status)


def _read(body: str) -> tuple[Any, str]:
    """Return the JSON of a body (None where it is none) and the message that it gives."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        text = re.sub(r"<[^>]*>", " ", body)
        return None, " ".join(text.split())[:200]
    if isinstance(data, dict):
        told = [data.get("message"), *(e.get("message") for e in _errors(data))]
        return data, "; ".join(str(one) for one in told if one)[:500]
    return data, ""


def _errors(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = data.get("errors")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _nothing_left(headers: Mapping[str, str]) -> bool:
    return headers.get("x-ratelimit-remaining") == "0" and "x-ratelimit-reset" in headers


def reset_time(headers: Mapping[str, str]) -> datetime | None:
    """Return when the primary limit is full again, by the headers of any answer."""
    try:
        return datetime.fromtimestamp(float(headers["x-ratelimit-reset"]), UTC)
    except (KeyError, ValueError, OverflowError, OSError):
        return None


def _retry_after(headers: Mapping[str, str], now: datetime) -> datetime | None:
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,6}", text):
        return now + timedelta(seconds=int(text))
    try:
        return parsedate_to_datetime(text).astimezone(UTC) if text else None
    except (ValueError, TypeError):
        return None


def _primary(status: int, headers: Mapping[str, str], message: str, now: datetime) -> Judgement:
    until = reset_time(headers) or now + _MINUTE
    return Judgement(verdict=Verdict.PRIMARY, message=message, until=until, status=status)


def _forbidden(
    status: int, headers: Mapping[str, str], message: str, now: datetime, *, is_page: bool
) -> Judgement:
    if after := _retry_after(headers, now):
        return Judgement(verdict=Verdict.SECONDARY, message=message, until=after, status=status)
    if _nothing_left(headers):
        return _primary(status, headers, message, now)
    if status == HTTPStatus.TOO_MANY_REQUESTS or is_page or _LIMIT.search(message):
        return Judgement(verdict=Verdict.SECONDARY, message=message, status=status)
    return Judgement(verdict=Verdict.REFUSED, message=message or "forbidden", status=status)


def _graphql(data: Any, headers: Mapping[str, str], now: datetime) -> Judgement:
    if not isinstance(data, dict):
        return Judgement(verdict=Verdict.AGAIN, message="the answer is no object")
    errors = _errors(data)
    message = "; ".join(str(e.get("message", "")) for e in errors)[:500]
    kinds = {str(e.get("type", "")) for e in errors}
    if "RATE_LIMITED" in kinds:
        return _primary(200, headers, message, now)
    answered = isinstance(data.get("data"), dict)
    if not answered and _LIMIT.search(message):
        return Judgement(verdict=Verdict.SECONDARY, message=message, until=_retry_after(headers, now))
    if not answered and (kinds & _TOO_MUCH_TYPES or _TOO_MUCH.search(message)):
        return Judgement(verdict=Verdict.SMALLER, message=message)
    if not answered:
        verdict = Verdict.REFUSED if errors else Verdict.AGAIN
        return Judgement(verdict=verdict, message=message or "an answer without data")
    return Judgement(verdict=Verdict.USE, data=data, message=message)
