"""What a Python source imports, under any version of the language."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from swequarry.syntax.grammars import parse, text, walk

STAR = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One import: `import a.b as c` has a module and what it binds, `from .a import b` a level and names.

    `names` are pairs (name in the module, name here); `*` stands for all. `level` counts the dots.
    """

    module: str
    level: int = 0
    names: tuple[tuple[str, str], ...] = ()
    bound: str = ""


def imports_of(data: bytes) -> list[Import]:
    """Return the imports of a source at any depth, in its order."""
    found = []
    for node in walk(parse(data).root_node):
        if node.type == "import_statement":
            found += list(_plain(node))
        elif node.type == "import_from_statement":
            found.append(_from(node))
    return found


def attributes_of(data: bytes, name: str) -> frozenset[str]:
    """Return the attributes that a source asks of a name: `b` for `a.b.c` and the name `a`."""
    wanted = name.encode()
    found = set()
    for node in walk(parse(data).root_node):
        if node.type == "attribute":
            owner, attribute = node.child_by_field_name("object"), node.child_by_field_name("attribute")
            if owner is not None and attribute is not None and text(owner) == wanted:
                found.add(_text(attribute))
    return frozenset(found)


def _text(node: Node) -> str:
    return text(node).decode("utf-8", "replace").replace(" ", "")


def _plain(node: Node) -> Iterator[Import]:
    for child in node.children_by_field_name("name"):
        module, bound = _named(child)
        yield Import(module=module, bound=bound if bound != module else module.partition(".")[0])


def _named(node: Node) -> tuple[str, str]:
    """Return what is imported, and the name under which it is known here."""
    if node.type == "aliased_import":
        name, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
        if name is not None and alias is not None:
            return _text(name), _text(alias)
    return _text(node), _text(node)


def _from(node: Node) -> Import:
    place = node.child_by_field_name("module_name")
    said = _text(place) if place is not None else ""
    level = len(said) - len(said.lstrip("."))
    names = tuple(_named(child) for child in node.children_by_field_name("name"))
    if any(child.type == "wildcard_import" for child in node.children):
        names = ((STAR, STAR),)
    return Import(module=said[level:], level=level, names=names)
