"""Parse source of any language by the name of its grammar.

A grammar is a distribution `tree-sitter-NAME` with a module `tree_sitter_NAME`, as the tree-sitter project
publishes them; Python's is always there, another one is a matter of installing it. tree-sitter reads every
version of a language, half-written files included, where Python's own `ast` reads that of the running one.
"""

import importlib
from collections.abc import Iterator
from functools import cache

from tree_sitter import Language, Node, Parser, Tree

from swequarry.errors import UsageError


@cache
def language(name: str) -> Language:
    """Return the grammar of a language, `python` for instance.

    Raises:
        UsageError: it isn't installed, or is made for another tree-sitter.
    """
    module = f"tree_sitter_{name.replace('-', '_')}"
    try:
        return Language(importlib.import_module(module).language())
    except ImportError as error:
        raise UsageError(
            f"no grammar for {name}: install the distribution {module.replace('_', '-')}"
        ) from error
    except (AttributeError, ValueError, TypeError) as error:
        raise UsageError(f"the grammar {module} doesn't fit this tree-sitter: {error}") from error


def parse(data: bytes, name: str = "python") -> Tree:
    """Return the tree of a source; what isn't of the language is in it as error nodes.

    Raises:
        UsageError: as `language`.
    """
    return Parser(language(name)).parse(data)


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all below it, parents first, in the order of the source."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(reversed(found.children))


def text(node: Node) -> bytes:
    """Return the source of a node."""
    return node.text or b""


def first_line(node: Node) -> int:
    """Return the line on which a node begins, counted from 1."""
    return node.start_point.row + 1


def last_line(node: Node) -> int:
    """Return the line on which a node's last byte stands, counted from 1."""
    return node.end_point.row + 1 if node.end_point.column else max(first_line(node), node.end_point.row)
