"""Neighbours of the pull request's own tests: near inputs, the ends of their kinds, functions beside them.

Upstream's tests stay as they are. What a neighbour wants is measured on the fix, and only where base gives
something else.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from testwriter.interface import Proposal, Prove, Subject
from testwriter.proof.runs import Stand
from testwriter.writers.changed import Changed, changed_functions
from testwriter.writers.harvest import Question, probe_of, questions, varied, with_siblings
from testwriter.writers.measure import Probe, measured, written_down
from testwriter.writers.resolve import Names, missing_imports, names_of

_MOST = 120


@dataclass(frozen=True, slots=True)
class NeighbourWriter:
    """Proposes neighbours of what the pull request's tests ask."""

    stand: Stand

    def propose(self, subject: Subject, prove: Prove) -> Iterable[Proposal]:
        """Yield test files of neighbours that tell base from gold.

        Raises:
            SandboxError: the machinery broke while they were measured.
        """
        del prove
        asked = [
            question for path, text in subject.upstream_tests or () for question in questions(path, text)
        ]
        if not asked:
            return
        changed = changed_functions(self.stand.files)
        probes = asked_by(subject, asked, changed)
        yield from written_down(subject, measured(self.stand, subject, probes[:_MOST]), "neighbour")


def asked_by(subject: Subject, asked: Iterable[Question], changed: Iterable[Changed]) -> list[Probe]:
    """Return variations of some questions as they can be asked with what the base offers, each once."""
    names, own = names_of(subject), list(changed)
    found: dict[Probe, None] = {}
    for question in asked:
        others = [*varied(question)]
        for one in own:
            if one.name in question.names():
                others += with_siblings(question, one.name, one.siblings)
        for other in (question, *others):
            made = resolved(other, names)
            if made is not None:
                found[made] = None
    return list(found)


def resolved(question: Question, names: Names) -> Probe | None:
    """Return a question with the imports that it takes; None where a name comes from nowhere."""
    plain = probe_of(question, ())
    try:
        lines = missing_imports(f"{plain.setup}\n{plain.value}", names)
    except SyntaxError:
        return None
    return None if lines is None else probe_of(question, lines)


def expression(source: str) -> ast.expr:
    """Return the tree of an expression.

    Raises:
        SyntaxError: it's none.
    """
    return ast.parse(source, mode="eval").body
