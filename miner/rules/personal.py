"""Secrets and personal data in a statement: found, told without being repeated, or taken out.

Personal data is what tells of a person by its form: addresses of e-mail, names in paths of home folders,
telephone numbers that are called so, numbers of payment cards. Examples (`example.com`, `/home/user`, card
numbers for tests) are none.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from miner.rules.interface import Subject
from swequarry.config import CurateSettings
from swequarry.outcome import RejectCode, Rejected
from swequarry.records import Statement
from swequarry.text.secrets import LITERALS, SECRETS

SECRET_REMOVED = "secret_removed"
PERSONAL_DATA_REMOVED = "personal_data_removed"
_SHOWN = 4
_NAMES_OF_NOBODY = """
admin app appuser bar build builder circleci coder conda default dev developer docker ec2-user foo gitpod
jenkins jovyan me name public python root runner shared somebody someone test tester travis ubuntu user
username users
vagrant vscode vsts work workspace you
"""
_NOBODY = frozenset(_NAMES_OF_NOBODY.split())
_CARDS_FOR_TESTS = re.compile(r"4111|4242|5555|4000|3782|6011")


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is searched for, where a text (in lower case) has one of `literals`."""

    name: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    is_one: Callable[[re.Match[str]], bool] = lambda _: True


@dataclass(frozen=True, slots=True)
class _Found:
    kind: str
    start: int
    end: int


def _is_address(found: re.Match[str]) -> bool:
    name, _, domain = found[0].lower().partition("@")
    reserved = re.search(
        r"(?:^|\.)(?:example|test|invalid|localhost|local|domain|mail|email)(?:\.\w+)?$", domain
    )
    return not (reserved or name in {"git", "noreply", "no-reply"} or "noreply" in domain)


def _is_name(found: re.Match[str]) -> bool:
    return found[1].lower() not in _NOBODY


def _is_card(found: re.Match[str]) -> bool:
    digits = [int(c) for c in found[0] if c.isdigit()]
    doubled = [d if place % 2 == 0 else d * 2 - 9 * (d > 4) for place, d in enumerate(reversed(digits))]  # noqa: PLR2004 - Luhn's formula
    return sum(doubled) % 10 == 0 and not _CARDS_FOR_TESTS.match(found[0])


_SECRETS = tuple(
    _Kind(name, tuple(map(str.lower, LITERALS[name])), re.compile(pattern))
    for name, pattern in SECRETS.items()
)
_PERSONAL = (
    _Kind(
        "e-mail address",
        ("@",),
        re.compile(
            r"(?<![\w.@:/+-])[A-Za-z0-9][\w.%+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,4}[A-Za-z]{2,}\b(?![:@])"
        ),
        _is_address,
    ),
    _Kind(
        "home folder",
        ("/home/", "/users/"),
        re.compile(r"(?<![\w.])/(?:home|Users)/([A-Za-z][\w.-]{1,31})(?=/)"),
        _is_name,
    ),
    _Kind(
        "home folder",
        ("\\users\\",),
        re.compile(r"\b[A-Za-z]:\\{1,2}Users\\{1,2}([A-Za-z][\w.-]{1,31})(?=\\)"),
        _is_name,
    ),
    _Kind(
        "telephone number",
        ("phone", "tel", "mobile", "whatsapp"),
        re.compile(
            r"\b(?:phone|tel|telephone|mobile|whatsapp)\b[^\w\n]{1,4}(\+?\d(?:[ ()./-]?\d){7,14})",
            re.IGNORECASE,
        ),
    ),
    _Kind(
        "payment card", tuple("0123456789"), re.compile(r"(?<![\d-])(?:\d{4}[ -]){3}\d{4}(?![\d-])"), _is_card
    ),
)


def secret(subject: Subject, settings: CurateSettings) -> Rejected | None:
    """Drop a statement that holds a secret; the evidence says what and where, and doesn't repeat it."""
    if settings.secrets != "drop":
        return None
    return _objection(subject, _SECRETS, RejectCode.SECRET, "a secret")


def personal_data(subject: Subject, settings: CurateSettings) -> Rejected | None:
    """Drop a statement that holds personal data, told in the same way."""
    if settings.personal_data != "drop":
        return None
    return _objection(subject, _PERSONAL, RejectCode.PERSONAL_DATA, "personal data")


def redacted(statement: Statement, settings: CurateSettings) -> tuple[Statement, tuple[str, ...]]:
    """Return a statement with what the policy wants taken out, and flags that say so."""
    flags: list[str] = []
    for wanted, kinds, flag in (
        (settings.secrets, _SECRETS, SECRET_REMOVED),
        (settings.personal_data, _PERSONAL, PERSONAL_DATA_REMOVED),
    ):
        if wanted == "redact":
            text, hints = _without(statement.text, kinds), _without(statement.hints, kinds)
            if (text, hints) != (statement.text, statement.hints):
                statement = replace(statement, text=text, hints=hints)
                flags.append(flag)
    return statement, tuple(flags)


def _found(text: str, kinds: tuple[_Kind, ...]) -> Iterator[_Found]:
    lowered = text.lower()
    for kind in kinds:
        if not any(literal in lowered for literal in kind.literals):
            continue
        for match in kind.pattern.finditer(text):
            if kind.is_one(match):
                start, end = match.span(match.lastindex or 0)
                yield _Found(kind.name, start, end)


def _without(text: str, kinds: tuple[_Kind, ...]) -> str:
    """Take out what is found, and what only stands alone once that is gone."""
    while (left := _once_without(text, kinds)) != text:
        text = left
    return text


def _once_without(text: str, kinds: tuple[_Kind, ...]) -> str:
    kept_from = len(text)
    parts: list[str] = []
    for found in sorted(_found(text, kinds), key=lambda found: (-found.end, found.start)):
        if found.end <= kept_from:
            parts += [text[found.end : kept_from], f"[{found.kind} removed]"]
            kept_from = found.start
    return "".join(reversed([*parts, text[:kept_from]]))


def _objection(subject: Subject, kinds: tuple[_Kind, ...], code: RejectCode, what: str) -> Rejected | None:
    statement = subject.candidate.statement
    told = [*_told("statement", statement.text, kinds), *_told("hints", statement.hints, kinds)]
    if not told:
        return None
    return Rejected(code=code, message=f"the text holds {what}: {told[0]}", evidence=tuple(told))


def _told(name: str, text: str, kinds: tuple[_Kind, ...]) -> Iterator[str]:
    for found in _found(text, kinds):
        line = text.count("\n", 0, found.start) + 1
        seen = f"{text[found.start : found.start + _SHOWN]}… ({found.end - found.start} characters)"
        yield f"{found.kind} in line {line} of the {name}, {seen}"
