"""What hidden tests demand that base lacks and the statement doesn't mention, by static analysis.

A name counts where tests reach it, the fix writes it, and neither a Python file of the base tree nor the
statement has the word. A parameter counts where base has the function without it, even if the word is common.
A message counts where three or more words of it in a row are new with the fix.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from swequarry.git.patches import parse_patch
from swequarry.git.paths import path_text
from swequarry.records.interface import Demand, DemandKind
from swequarry.syntax.grammars import parse, text, walk
from swequarry.syntax.names import defined, plain, reached, sentences
from testwriter.interface import Subject
from testwriter.interface_signatures import Signature, signatures

_WORD = re.compile(rb"[^\W\d]\w*")
_CONTAINERS = frozenset({"module", "class_definition", "block", "decorated_definition", "if_statement"})


@dataclass(frozen=True, slots=True)
class _Changed:
    """The files that the fix changes: all text of each side, and the signatures of each side's functions."""

    old: bytes
    new: bytes
    before: Mapping[str, Signature]
    after: Mapping[str, Signature]


@dataclass(frozen=True, slots=True)
class _Unit:
    """A test function, or (`name` empty) what a test file does outside of them."""

    path: str
    name: str
    nodes: tuple[Node, ...]

    @property
    def label(self) -> str:
        return f"{self.path}::{self.name}"


@dataclass(slots=True)
class _Found:
    demands: dict[tuple[DemandKind, str], Demand] = field(default_factory=dict)

    def add(self, demand: Demand, tests: Iterable[str]) -> None:
        key = (demand.kind, demand.text)
        known = self.demands.setdefault(key, demand)
        self.demands[key] = replace(known, tests=tuple(sorted({*known.tests, *tests})))


def demands_of(subject: Subject, tests: Sequence[tuple[str, str]] | None = None) -> tuple[Demand, ...]:
    """Return what some test files (by default the pull request's own) demand, sorted.

    The subject must show the fix; without it nothing can be told.

    Raises:
        PatchError: the gold patch isn't one.
    """
    if subject.gold_patch is None or subject.after is None:
        return ()
    changed = _changed(subject)
    found = _Found()
    for path, source in tests if tests is not None else subject.upstream_tests or ():
        if path.endswith(".py"):
            _look(subject, changed, path, source, found)
    return tuple(found.demands[key] for key in sorted(found.demands))


def test_functions(path: str, source: str) -> tuple[str, ...]:
    """Return the test functions of a file as demands name them."""
    units = _units(path, parse(source.encode("utf-8", "replace")).root_node)
    return tuple(unit.label for unit in units if unit.name)


test_functions.__test__ = False  # type: ignore[attr-defined]


def _changed(subject: Subject) -> _Changed:
    olds, news = [], []
    before: dict[str, Signature] = {}
    after: dict[str, Signature] = {}
    for file in parse_patch((subject.gold_patch or "").encode("utf-8", "replace")):
        path = path_text(file.paths[-1])
        was = subject.read(path_text(file.paths[0])) or b""
        now = (subject.after(path) if subject.after is not None else None) or b""
        olds.append(was)
        news.append(now)
        if path.endswith(".py"):
            before |= signatures(path, was)
            after |= signatures(path, now)
    return _Changed(b"\n".join(olds), b"\n".join(news), before, after)


def _look(subject: Subject, changed: _Changed, path: str, source: str, found: _Found) -> None:
    data = source.encode("utf-8", "replace")
    root = parse(data).root_node
    units = _units(path, root)
    every = [unit.label for unit in units if unit.name]
    own = frozenset(defined(walk(root)))
    was = subject.read(path) or b""
    said = f"{subject.title}\n{subject.statement}".encode("utf-8", "replace")
    for unit in units:
        nodes = [node for top in unit.nodes for node in walk(top)]
        tests = [unit.label] if unit.name else every
        for name in _names(nodes, own, subject, changed, said):
            found.add(_named(name, changed), tests)
        for function, parameter in _parameters(nodes, changed, said):
            demand = Demand(
                kind=DemandKind.PARAMETER,
                text=f"{function.name}({parameter})",
                signature=function.shown,
                path=function.path,
            )
            found.add(demand, tests)
        for message in _messages(nodes, changed, said, was):
            found.add(Demand(kind=DemandKind.MESSAGE, text=message), tests)


def _units(path: str, root: Node) -> list[_Unit]:
    """Return the test functions of a file, and all that isn't within one as a unit of its own."""
    units: list[_Unit] = []
    outside: list[Node] = []
    waiting: list[tuple[Node, str]] = [(root, "")]
    while waiting:
        node, within = waiting.pop()
        name = node.child_by_field_name("name")
        own = text(name).decode("utf-8", "replace") if name is not None else ""
        if node.type == "function_definition" and own.startswith("test"):
            units.append(_Unit(path, f"{within}{own}", (node,)))
        elif node.type in _CONTAINERS:
            inner = f"{within}{own}::" if node.type == "class_definition" else within
            waiting.extend((child, inner) for child in node.children)
        else:
            outside.append(node)
    units.append(_Unit(path, "", tuple(outside)))
    return units


def _names(
    nodes: Sequence[Node], own: frozenset[bytes], subject: Subject, changed: _Changed, said: bytes
) -> Iterator[str]:
    made, told = frozenset(_WORD.findall(changed.new)), frozenset(_WORD.findall(said))
    for node in reached(nodes):
        for part in text(node).split(b"."):
            name = part.decode("utf-8", "replace")
            if part in made and part not in own | told and name not in subject.base_names:
                yield name


def _named(name: str, changed: _Changed) -> Demand:
    """Return a demand with the signature that the fix gives its name: the outermost definition."""
    fitting = [one for one in changed.after.values() if one.last == name]
    holding = [one for one in changed.after.values() if name in one.parameters]
    best = min(fitting, key=lambda one: (one.name.count("."), one.path, one.name), default=None)
    if best is None:
        best = min(holding, key=lambda one: (one.path, one.name), default=None)
    return Demand(
        kind=DemandKind.NAME,
        text=name,
        signature=best.shown if best is not None else "",
        path=best.path if best is not None else "",
    )


def _parameters(nodes: Sequence[Node], changed: _Changed, said: bytes) -> Iterator[tuple[Signature, str]]:
    """Yield functions that base has without a parameter that a call passes by its name."""
    told = frozenset(_WORD.findall(said))
    for node in nodes:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if node.type != "call" or function is None or arguments is None:
            continue
        called = text(function).rpartition(b".")[2].decode("utf-8", "replace")
        passed = [
            text(name)
            for argument in arguments.children
            if argument.type == "keyword_argument"
            and (name := argument.child_by_field_name("name")) is not None
        ]
        for key, now in changed.after.items():
            was = changed.before.get(key)
            if now.called_as == called and was is not None and not was.takes_any:
                fresh = set(now.parameters) - set(was.parameters)
                yield from ((now, p.decode()) for p in passed if p.decode() in fresh and p not in told)


def _messages(nodes: Sequence[Node], changed: _Changed, said: bytes, was: bytes) -> Iterator[str]:
    """Yield literals whose sentences the fix was the first to write; those of old tests don't count."""
    told, old, made = plain(said), plain(changed.old), plain(changed.new)
    for node in nodes:
        if node.type != "string" or any(child.type == "interpolation" for child in node.named_children):
            continue
        inner = b"".join(text(child) for child in node.named_children if child.type == "string_content")
        parts = [part.strip(b" .") for part in sentences(inner)]  # of `.*` in a pattern a dot is left
        fresh = [part for part in parts if part in made and part not in old and part not in told]
        if fresh and inner not in was:
            yield inner.decode("utf-8", "replace")
