"""YAML of foreign origin, as plain texts.

Every scalar stays the text that was written: a YAML reader that converts makes `3.10` the number 3.1.
Tags are ignored and merge keys aren't followed (nested merges can grow without bound); the walk over the
result is bounded, because aliases can make a small file a large tree.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import yaml

from reconstruct.environment.evidence.tree import Notebook, SourceTree

MAX_YAML_BYTES: Final = 100_000
MAX_TOTAL_BYTES: Final = 400_000
MAX_NODES: Final = 20_000
MAX_DEPTH: Final = 40
MAX_FLOW_DEPTH: Final = 100
"""Open brackets beyond this are refused: the YAML reader takes quadratic time over them."""


class Scalar(NamedTuple):
    """A text and the keys that lead to it."""

    keys: tuple[str, ...]
    text: str


class YamlReader:
    """Reads YAML files of a tree, together up to a number of bytes: the reader is slow."""

    def __init__(self, tree: SourceTree, notes: Notebook, budget_bytes: int = MAX_TOTAL_BYTES) -> None:
        self._tree = tree
        self._notes = notes
        self._left = budget_bytes

    def parse(self, path: str) -> Any:
        """Return mappings, lists and texts; None (with a note) where a file is absent or broken."""
        text = self._tree.read(path, self._notes, MAX_YAML_BYTES)
        if text is None:
            return None
        self._left -= len(text)
        if self._left < 0:
            self._notes.broken(path, "not read: more YAML in this tree than is looked at")
            return None
        if _flow_depth(text) > MAX_FLOW_DEPTH:
            self._notes.broken(path, f"brackets nested more than {MAX_FLOW_DEPTH} deep")
            return None
        try:
            return yaml.BaseLoader(text).get_single_data()
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            self._notes.broken(path, f"not YAML: {' '.join(str(error).split())}")
            return None


def _flow_depth(text: str) -> int:
    deepest = depth = 0
    for match in re.finditer(r"[\[{]|[\]}]", text):
        depth = depth + 1 if match[0] in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def scalars(data: Any, leave_out: Callable[[str, Any], bool] = lambda *_: False) -> Iterator[Scalar]:
    """Yield every text below `data` in the order of the file, with the keys that lead to it.

    Parts for which `leave_out(key, value)` holds are skipped whole; entries of lists have the key "".
    """
    budget = MAX_NODES
    waiting: list[tuple[tuple[str, ...], Any]] = [((), data)]
    while waiting and budget > 0:
        budget -= 1
        path, value = waiting.pop()
        if isinstance(value, str):
            yield Scalar(path, value)
            continue
        inner = _entries(value, budget) if len(path) < MAX_DEPTH else []
        kept = [(key, part) for key, part in inner if not leave_out(key, part)]
        waiting.extend(((*path, key), part) for key, part in reversed(kept))


def _entries(value: Any, limit: int) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(str(key), part) for key, part in itertools.islice(value.items(), limit)]
    return [("", part) for part in value[:limit]] if isinstance(value, list) else []
