"""Lines of requirement files and argument lists of installers, as pip reads them."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

MAX_LINE_CHARS: Final = 3_000
MAX_LINES: Final = 3_000
_COMMENT: Final = re.compile(r"(^|\s)#.*$")
_OPTION: Final = re.compile(
    r"(?:(?P<long>--[A-Za-z][\w-]*)(?:\s*[=\s]\s*|$)|(?P<short>-[A-Za-z])\s*)(?P<value>.*)$"
)
_TRAILING_OPTIONS: Final = re.compile(r"\s--?(?:hash|global-option|install-option|config-settings)\b.*$")
_EXTRAS: Final = re.compile(r"^(?P<place>[^\[\]]*)\[(?P<extras>[\w.,\s-]*)\]$")
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_SCHEME: Final = re.compile(r"(?:git|hg|svn|bzr)\+|[a-z][a-z0-9+.-]*://|git@", re.IGNORECASE)
_NAMED_URL: Final = re.compile(r"[\w.-]+\s*(?:\[[^\]]*\])?\s*@\s*\S")
_STAR_BOUND: Final = re.compile(r"(>=|<=|>|<|~=)\s*(\d+(?:\.\d+)*)\.\*")


class Kind(StrEnum):
    """What a line asks for."""

    NAMED = "named"
    FILE = "file"
    CONSTRAINTS = "constraints"
    PATH = "path"
    URL = "url"
    OPTION = "option"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementLine:
    """One line: NAMED has a PEP 508 text and a canonical name, FILE, CONSTRAINTS and PATH a path.

    A PATH may carry extras (`.[test]`). `note` says what was lost where a requirement was mended.
    """

    kind: Kind
    text: str
    number: int = 0
    name: str = ""
    extras: tuple[str, ...] = ()
    note: str = ""


def parse_requirement_text(text: str) -> Iterator[RequirementLine]:
    """Yield the lines of a requirement file, comments and continuations resolved; at most `MAX_LINES`."""
    yield from itertools.islice(_lines(text), MAX_LINES)


def _lines(text: str) -> Iterator[RequirementLine]:
    number, pending = 0, ""
    for index, raw in enumerate(text.split("\n"), start=1):
        number = number if pending else index
        bare = _COMMENT.sub("", raw)
        if bare.endswith("\\"):
            pending += bare[:-1]
            continue
        line, pending = (pending + bare).strip(), ""
        if line:
            yield parse_line(line, number)
    if pending.strip():
        yield parse_line(pending.strip(), number)


def parse_line(text: str, number: int = 0) -> RequirementLine:
    """Read one line without comment or continuation."""
    line = text.strip()
    if len(line) > MAX_LINE_CHARS:
        return RequirementLine(kind=Kind.BROKEN, text=line[:80], number=number)
    if len(line) > 1 and line[0] == line[-1] and line[0] in "\"'":
        line = line[1:-1].strip()
    if line.startswith("-"):
        return _option(line, number)
    if _SCHEME.match(line) or _NAMED_URL.match(line):
        return RequirementLine(kind=Kind.URL, text=line, number=number, name=_url_name(line))
    if line.startswith((".", "/", "~", "{toxinidir}", "{tox_root}")) or line.endswith(
        (".whl", ".zip", ".gz")
    ):
        return _path(line, number)
    return _named(_TRAILING_OPTIONS.sub("", line), number)


def _option(line: str, number: int) -> RequirementLine:
    match = _OPTION.match(line)
    flag = (match["long"] or match["short"]) if match else line
    value = match["value"].strip().strip("\"'") if match else ""
    if value and flag in {"-r", "--requirement", "--requirements"}:
        return RequirementLine(kind=Kind.FILE, text=value, number=number)
    if value and flag in {"-c", "--constraint", "--constraints"}:
        return RequirementLine(kind=Kind.CONSTRAINTS, text=value, number=number)
    if value and flag in {"-e", "--editable"}:
        url = _SCHEME.match(value)
        return (
            RequirementLine(kind=Kind.URL, text=value, number=number, name=_url_name(value))
            if url
            else _path(value, number)
        )
    return RequirementLine(kind=Kind.OPTION, text=line, number=number)


def _path(line: str, number: int) -> RequirementLine:
    place = re.sub(r"^\{(?:toxinidir|tox_root)\}/?", "./", line).split(";")[0].strip()
    match = _EXTRAS.match(place)
    if not match:
        return RequirementLine(kind=Kind.PATH, text=place, number=number)
    extras = tuple(extra.strip() for extra in match["extras"].split(",") if extra.strip())
    return RequirementLine(kind=Kind.PATH, text=match["place"], number=number, extras=extras)


def _url_name(line: str) -> str:
    match = re.search(r"[#&]egg=([\w.-]+)", line) or re.match(r"([\w.-]+)\s*(?:\[[^\]]*\])?\s*@", line)
    if match and "git@" not in match[0]:
        return canonicalize_name(match[1])
    tail = re.sub(r"(?:\.git)?(?:@[^/]*)?(?:#.*)?$", "", line).rstrip("/").rsplit("/", 1)[-1]
    return canonicalize_name(tail) if _NAME.fullmatch(tail) else ""


def _named(line: str, number: int) -> RequirementLine:
    """Read a PEP 508 requirement; what only old tools could read is mended or cut down to its name."""
    mended = _STAR_BOUND.sub(r"\1\2", line)
    for text, note in ((line, ""), (mended, f"`.*` dropped from {line}")):
        try:
            requirement = Requirement(text)
        except (InvalidRequirement, RecursionError):
            continue
        name = canonicalize_name(requirement.name)
        return RequirementLine(kind=Kind.NAMED, text=str(requirement), number=number, name=name, note=note)
    match = re.match(rf"({_NAME.pattern})\s*(?:\[[^\]]*\])?\s*(?=[=<>!~;(]|$)", line)
    if not match:
        return RequirementLine(kind=Kind.BROKEN, text=line, number=number)
    return RequirementLine(
        kind=Kind.NAMED,
        text=match[1],
        number=number,
        name=canonicalize_name(match[1]),
        note=f"unreadable version dropped from {line}",
    )


def named(texts: Iterator[str] | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Return the readable named requirements among some texts, each once, in their order."""
    lines = (parse_line(text) for text in texts if text.strip())
    return tuple(dict.fromkeys(line.text for line in lines if line.kind is Kind.NAMED))


@lru_cache(maxsize=20_000)
def name_of(requirement: str) -> str:
    """Return the canonical name of a named requirement; empty for anything else."""
    return parse_line(requirement).name
