"""What the hidden tests demand and nobody wrote down: names and messages that only the fix brings.

A name counts where the tests use it, the fix is the first to write it, and neither the statement nor the
old side of any file that is seen (nor the base tree, where it's at hand) has it.
"""

import re
from collections.abc import Iterator

from patchreview.diff import Diff
from patchreview.literals import literals
from patchreview.pieces import Piece
from patchreview.task.subject import Subject
from swequarry.syntax.grammars import text

_WORD = re.compile(rb"[A-Za-z_]\w{2,}")
_FEW_WORDS = 2
_PRIVATE = re.compile(rb"_[a-z]\w+")


def hidden_names(subject: Subject) -> list[str]:
    """Return names that the tests use and that only the fix has, sorted."""
    known = _known(subject)
    used = set(_used(subject.tests))
    made = {word for file in subject.gold.python for line in file.added for word in _WORD.findall(line.bare)}
    return sorted(
        name.decode("utf-8", "replace") for name in used & made if not _is_known(name, known, subject)
    )


def hidden_messages(subject: Subject) -> list[str]:
    """Return texts of several words that tests compare with and that only the fix has, sorted."""
    statement = _plain(subject.statement.encode())
    old = b" ".join(_old_text(subject.gold))
    made = _plain(b" ".join(line.raw for file in subject.gold.files for line in file.added))
    found = set()
    for file in subject.tests.python:
        for piece in file.new:
            for _, literal in literals(piece):
                inner = _plain(literal.strip(b'"'))
                parts = [
                    part for part in re.split(rb"[{}%\\^$*+|]|\bs\b", inner) if part.count(b" ") >= _FEW_WORDS
                ]
                asked = [part.strip() for part in parts if part.strip() not in statement]
                if any(part in made and part not in _plain(old) for part in asked):
                    found.add(literal.strip(b'"').decode("utf-8", "replace"))
    return sorted(found)


def private_names(subject: Subject) -> list[str]:
    """Return names with a leading underscore that the tests reach through an attribute or import, sorted."""
    statement = subject.statement.encode()
    return sorted({n.decode() for n in _used(subject.tests) if _PRIVATE.fullmatch(n) and n not in statement})


def said_share(subject: Subject) -> float | None:
    """Return the share of the words of code that the fix touches and the statement has; None without any."""
    touched = {
        word
        for file in subject.gold.python
        for line in (*file.added, *file.removed)
        for word in _WORD.findall(line.bare)
    }
    statement = subject.statement.encode("utf-8", "surrogatepass")
    return sum(word in statement for word in touched) / len(touched) if touched else None


def _used(tests: Diff) -> Iterator[bytes]:
    """Yield the names that added lines of tests import, reach as attributes, call or pass as keywords."""
    own = {word for file in tests.python for piece in file.new for word in _defined(piece)}
    for file in tests.python:
        for piece in file.new:
            for name in _reached(piece):
                if name not in own:
                    yield name


def _reached(piece: Piece) -> Iterator[bytes]:
    for node in piece.of_type("attribute", "keyword_argument", "call", "import_from_statement"):
        if not piece.touches(node):
            continue
        if node.type == "attribute":
            fields = [node.child_by_field_name("attribute")]
        elif node.type == "keyword_argument":
            fields = [node.child_by_field_name("name")]
        elif node.type == "call":
            fields = [node.child_by_field_name("function")]
        else:
            fields = list(node.children_by_field_name("name"))
        for field in fields:
            if (
                field is not None
                and field.type in {"identifier", "dotted_name"}
                and piece.begins_changed(field)
            ):
                yield text(field)


def _defined(piece: Piece) -> Iterator[bytes]:
    for node in piece.of_type("function_definition", "class_definition", "assignment"):
        name = node.child_by_field_name("left" if node.type == "assignment" else "name")
        if name is not None:
            yield text(name)


def _known(subject: Subject) -> frozenset[bytes]:
    words = set(_WORD.findall(subject.statement.encode()))
    for diff in (subject.gold, subject.tests):
        for line in _old_text(diff):
            words.update(_WORD.findall(line))
    return frozenset(words)


def _old_text(diff: Diff) -> Iterator[bytes]:
    return (line for file in diff.files for piece in file.old for line in piece.lines)


def _is_known(name: bytes, known: frozenset[bytes], subject: Subject) -> bool:
    return name in known or (subject.in_base is not None and subject.in_base(name))


def _plain(data: bytes) -> bytes:
    return b" ".join(data.lower().replace(b"`", b" ").replace(b"'", b" ").replace(b'"', b" ").split())
