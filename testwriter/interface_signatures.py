"""The signatures of a Python source's functions and classes, as its text has them."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from swequarry.syntax.grammars import parse, text

_MOST_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A function, class or assigned name. `name` is dotted within its file, `shown` one line for people.

    `takes_any`: it also takes names that it doesn't list, by two stars.
    """

    path: str
    name: str
    shown: str
    parameters: tuple[str, ...] = ()
    takes_any: bool = False

    @property
    def last(self) -> str:
        """The name without what it's in."""
        return self.name.rpartition(".")[2]

    @property
    def called_as(self) -> str:
        """The name that a call has: of `C.__init__` it is the class's."""
        within, _, last = self.name.rpartition(".")
        return within.rpartition(".")[2] if last == "__init__" else last


def signatures(path: str, data: bytes) -> dict[str, Signature]:
    """Return the signatures of a source by `path:dotted name`: of functions, classes and assigned names."""
    return {f"{path}:{one.name}": one for one in _found(path, data)}


def _found(path: str, data: bytes) -> Iterator[Signature]:
    waiting: list[tuple[Node, str]] = [(parse(data).root_node, "")]
    while waiting:
        node, within = waiting.pop()
        inner = within
        name = node.child_by_field_name("name")
        if node.type in {"function_definition", "class_definition"} and name is not None:
            dotted = f"{within}{_said(name)}"
            inner = f"{dotted}."
            yield _function(path, dotted, node) if node.type[0] == "f" else _class(path, dotted, node)
        elif node.type == "assignment":
            yield from _assigned(path, within, node)
        waiting.extend((child, inner) for child in node.children)


def _function(path: str, dotted: str, node: Node) -> Signature:
    parameters, returns = node.child_by_field_name("parameters"), node.child_by_field_name("return_type")
    names = tuple(_names(parameters)) if parameters is not None else ()
    shown = f"{dotted}{_said(parameters) if parameters is not None else '()'}"
    return Signature(
        path=path,
        name=dotted,
        shown=_line(shown + (f" -> {_said(returns)}" if returns is not None else "")),
        parameters=names,
        takes_any=parameters is not None
        and any(child.type == "dictionary_splat_pattern" for child in parameters.named_children),
    )


def _class(path: str, dotted: str, node: Node) -> Signature:
    bases = node.child_by_field_name("superclasses")
    return Signature(
        path=path, name=dotted, shown=_line(f"class {dotted}{_said(bases) if bases is not None else ''}")
    )


def _assigned(path: str, within: str, node: Node) -> Iterator[Signature]:
    """Yield a plain name, or an attribute of self, that something is assigned to."""
    left = node.child_by_field_name("left")
    if left is None:
        return
    if left.type == "identifier":
        yield Signature(path=path, name=f"{within}{_said(left)}", shown=f"{within}{_said(left)}")
    elif left.type == "attribute" and _said(left).startswith("self."):
        owner = within.rstrip(".").rpartition(".")[0]
        dotted = f"{owner}.{_said(left).removeprefix('self.')}".lstrip(".")
        yield Signature(path=path, name=dotted, shown=f"{dotted} (attribute)")


def _names(parameters: Node) -> Iterator[str]:
    for child in parameters.named_children:
        name = child if child.type == "identifier" else child.child_by_field_name("name")
        if name is None and child.type == "typed_parameter" and child.named_children:
            name = child.named_children[0]
        if name is not None and name.type == "identifier":
            yield _said(name)


def _said(node: Node) -> str:
    return text(node).decode("utf-8", "replace")


def _line(shown: str) -> str:
    """Return a signature on one line; one that is very long is cut."""
    joined = " ".join(shown.split())
    return joined if len(joined) <= _MOST_CHARS else joined[:_MOST_CHARS] + "…"
