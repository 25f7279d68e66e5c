"""Predictions of solvers, in the file formats of SWE-bench and SWE-agent."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from swequarry.errors import InputError

_NO_MODEL = "unnamed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One patch of a solver; None where it made none."""

    instance_id: str
    model: str
    patch: bytes | None


def read_predictions(path: Path) -> tuple[Prediction, ...]:
    """Read a JSON list, a JSON object by instance id (as SWE-agent writes it), or JSON lines.

    Raises:
        InputError: it can't be read, or lines are bad; names each.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read: {error}; name a .json or .jsonl file") from error
    entries = _entries(path, text)
    found, bad = [], []
    for number, entry in enumerate(entries, start=1):
        try:
            found.append(_prediction(entry))
        except ValueError as error:
            bad.append(f"{path}: prediction {number}: {error}")
    if bad:
        raise InputError("\n".join(bad))
    if not found:
        raise InputError(f"{path} holds no prediction; each is an object with instance_id and model_patch")
    return tuple(found)


def _entries(path: Path, text: str) -> Sequence[object]:
    try:
        data = json.loads(text)
    except ValueError:
        return _lines(path, text)
    if isinstance(data, dict) and "instance_id" not in data:
        return list(data.values())
    return data if isinstance(data, list) else [data]


def _lines(path: Path, text: str) -> list[object]:
    entries = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                entries.append(json.loads(line))
            except ValueError as error:
                raise InputError(
                    f"{path}:{number} is no JSON: {error}; write one JSON document, or one object a line"
                ) from error
    return entries


def _prediction(entry: object) -> Prediction:
    if not isinstance(entry, dict):
        raise ValueError("it isn't an object")  # noqa: TRY004 - one kind of error for all of the input
    name, patch = entry.get("instance_id"), entry.get("model_patch")
    model = entry.get("model_name_or_path") or _NO_MODEL
    texts = (name, patch or "", model)
    if not name or not all(isinstance(text, str) for text in texts):
        raise ValueError(
            f"{name!r}: instance_id, model_patch and model_name_or_path must be texts, and the first there"
        )
    data = patch.encode("utf-8", "surrogateescape") if patch and patch.strip() else None
    return Prediction(instance_id=name, model=model, patch=data)
