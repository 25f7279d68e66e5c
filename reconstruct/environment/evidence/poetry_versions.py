"""Poetry's version constraints (`^1.2`, `~1.2`, `1.*`) as PEP 440 specifiers."""

import re
from typing import Final

_SIMPLE: Final = re.compile(r"(\^|~|)\s*v?(\d+(?:\.\d+)*)((?:[a-z]+\d*)?)", re.IGNORECASE)
_WILDCARD: Final = re.compile(r"(?:==\s*)?(\d+(?:\.\d+)*)\.\*")


def to_pep440(constraint: str) -> str:
    """Return one constraint set (commas or blanks between its parts) in PEP 440's notation.

    `*` gives the empty set. A part that isn't poetry's own is passed on as it is; whether it can be read
    is for the caller to see.
    """
    text = re.sub(r"(===|==|!=|<=|>=|~=|[<>^~])\s+", r"\1", constraint.strip())
    parts = [part for part in re.split(r"[,\s]+", text) if part]
    return ",".join(spec for part in parts if (spec := _one(part)))


def _one(part: str) -> str:
    if part == "*":
        return ""
    if match := _WILDCARD.fullmatch(part):
        return f"=={match[1]}.*"
    match = _SIMPLE.fullmatch(part)
    if not match:
        return part
    operator, numbers, suffix = match[1], [int(n) for n in match[2].split(".")], match[3]
    lower = match[2] + suffix
    if operator == "^":
        return f">={lower},<{_caret_bound(numbers)}"
    if operator == "~":
        return f">={lower},<{_tilde_bound(numbers)}"
    return f"=={lower}"


def _caret_bound(numbers: list[int]) -> str:
    """The first version that changes the left-most part that isn't zero."""
    for index, number in enumerate(numbers):
        if number or index == len(numbers) - 1:
            return ".".join(str(n) for n in [*numbers[:index], number + 1])
    return "0"


def _tilde_bound(numbers: list[int]) -> str:
    kept = numbers[:2]
    return ".".join(str(n) for n in [*kept[:-1], kept[-1] + 1])
