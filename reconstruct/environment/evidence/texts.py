"""YAML of foreign origin, as plain texts.

Every scalar stays the text that was written: a YAML reader that converts makes `3.10` the number 3.1.
Tags are ignored and merge keys aren't followed (nested merges can grow without bound); the walk over the
result is bounded, because aliases can make a small file a large tree.
"""

from collections.abc import Iterator
from typing import Any, Final

import yaml

from reconstruct.environment.evidence.tree import Notebook, SourceTree

MAX_YAML_BYTES: Final = 200_000
MAX_NODES: Final = 20_000
MAX_DEPTH: Final = 40


def parse_yaml(path: str, tree: SourceTree, notes: Notebook) -> Any:
    """Return mappings, lists and texts; None (with a note) where the file is absent or broken."""
    text = tree.read(path, notes, MAX_YAML_BYTES)
    if text is None:
        return None
    try:
        return yaml.BaseLoader(text).get_single_data()
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        notes.broken(path, f"not YAML: {' '.join(str(error).split())}")
        return None


def scalars(data: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every text below `data` with the keys that lead to it, in the order of the file."""
    budget = MAX_NODES
    waiting: list[tuple[tuple[str, ...], Any]] = [((), data)]
    while waiting and budget > 0:
        budget -= 1
        path, value = waiting.pop()
        if isinstance(value, str):
            yield path, value
        elif len(path) >= MAX_DEPTH:
            continue
        elif isinstance(value, dict):
            waiting.extend(
                ((*path, str(key)), inner) for key, inner in reversed(list(value.items())[:budget])
            )
        elif isinstance(value, list):
            waiting.extend(((*path, ""), inner) for inner in reversed(value[:budget]))
