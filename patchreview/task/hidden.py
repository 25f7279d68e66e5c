"""What the hidden tests demand and nobody wrote down: names and messages that only the fix brings.

A name counts where the tests use it, the fix is the first to write it, and neither the statement nor the
old side of any file that is seen (nor the base tree, where it's at hand) has it.
"""

import re
from collections.abc import Iterator

from patchreview.diff import Diff
from patchreview.literals import literals
from patchreview.task.subject import Subject
from swequarry.syntax.grammars import text
from swequarry.syntax.names import DEFINING, REACHING, defined, plain, reached, sentences

_WORD = re.compile(rb"[A-Za-z_]\w{2,}")
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
    statement = plain(subject.statement.encode())
    old = plain(b" ".join(_old_text(subject.gold)))
    made = plain(b" ".join(line.raw for file in subject.gold.files for line in file.added))
    found = set()
    for file in subject.tests.python:
        for piece in file.new:
            for _, literal in literals(piece):
                asked = [part for part in sentences(literal.strip(b'"')) if part not in statement]
                if any(part in made and part not in old for part in asked):
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
    own = {word for file in tests.python for piece in file.new for word in defined(piece.of_type(*DEFINING))}
    for file in tests.python:
        for piece in file.new:
            for node in reached(piece.of_type(*REACHING)):
                if piece.begins_changed(node) and text(node) not in own:
                    yield text(node)


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
