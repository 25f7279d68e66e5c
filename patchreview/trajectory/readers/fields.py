"""Fields of foreign JSON: what has another type than expected counts as absent."""

import json
from collections.abc import Iterator
from typing import Any


def text(data: Any, *names: str) -> str:
    """Return the text at a path of keys; lists of parts (`{"type": "text", "text": ...}`) are joined."""
    return joined(_at(data, names))


def joined(found: Any) -> str:
    """Return a text, or the texts of a list of parts; empty for anything else."""
    if isinstance(found, str):
        return found
    if isinstance(found, list):
        return "\n".join(part for part in (_part(one) for one in found) if part)
    return ""


def number(data: Any, *names: str) -> float | None:
    """Return the number at a path of keys."""
    found = _at(data, names)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def whole(data: Any, *names: str) -> int | None:
    """Return the whole number at a path of keys."""
    found = _at(data, names)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def truth(data: Any, *names: str) -> bool | None:
    """Return the truth value at a path of keys."""
    found = _at(data, names)
    return found if isinstance(found, bool) else None


def objects(data: Any, *names: str) -> list[dict[str, Any]]:
    """Return the objects of the list at a path of keys."""
    found = _at(data, names)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def mapping(data: Any, *names: str) -> dict[str, Any]:
    """Return the object at a path of keys; JSON text of an object is read."""
    found = _at(data, names)
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            return {}
    return found if isinstance(found, dict) else {}


def _at(data: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        if not isinstance(data, dict):
            return None
        data = data.get(name)
    return data


def _part(one: Any) -> str:
    if isinstance(one, str):
        return one
    return next((value for value in _texts(one) if value), "")


def _texts(one: Any) -> Iterator[str]:
    for name in ("text", "content"):
        found = one.get(name) if isinstance(one, dict) else None
        if isinstance(found, str):
            yield found
