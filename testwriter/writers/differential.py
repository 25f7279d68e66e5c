"""Inputs on which base and gold differ: from the issue's code, from tests that are there, from type hints."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, product

from swequarry.git.testpaths import is_test_module
from testwriter.interface import Proposal, Prove, Subject
from testwriter.proof.runs import Stand
from testwriter.writers.changed import Changed, changed_functions
from testwriter.writers.harvest import Question, boundaries_for, questions
from testwriter.writers.issue import shown_values
from testwriter.writers.measure import Probe, measured, written_down
from testwriter.writers.neighbours import asked_by, expression, resolved
from testwriter.writers.resolve import names_of

_MOST, _MOST_QUESTIONS, _MOST_CALLS = 180, 40, 24
_LARGEST = 300_000


@dataclass(frozen=True, slots=True)
class DifferentialWriter:
    """Proposes tests that want what the fix gives, wherever base gives something else."""

    stand: Stand

    def propose(self, subject: Subject, prove: Prove) -> Iterable[Proposal]:
        """Yield test files: those of the issue's own code first.

        Raises:
            SandboxError: the machinery broke while inputs were measured.
        """
        del prove
        shown = list(islice(shown_values(subject), _MOST))
        if shown:
            found = measured(self.stand, subject, shown)
            yield from written_down(subject, found, "issue_differential")
        changed = changed_functions(self.stand.files)
        harvested = list(islice(_harvested(subject, changed), _MOST_QUESTIONS))
        probes = asked_by(subject, harvested, changed)
        names = names_of(subject)
        hinted = (resolved(question, names) for one in changed for question in _hinted(one))
        probes += [probe for probe in hinted if probe is not None]
        if probes:
            found = measured(self.stand, subject, _unique(probes)[:_MOST])
            yield from written_down(subject, found, "differential")


def _unique(probes: Iterable[Probe]) -> list[Probe]:
    return list(dict.fromkeys(probes))


def _harvested(subject: Subject, changed: list[Changed]) -> Iterator[Question]:
    """Yield what tests of the base ask of a function that the fix changes, or of its class."""
    wanted = {one.name for one in changed if not one.name.startswith("__")}
    wanted |= {one.owner for one in changed if one.owner}
    for path in subject.paths:
        if not wanted or not is_test_module(path.encode()):
            continue
        data = subject.read(path) or b""
        if len(data) > _LARGEST or not any(name.encode() in data for name in wanted):
            continue
        for question in questions(path, data.decode("utf-8", "replace")):
            if wanted.intersection(question.names()):
                yield question


def _hinted(one: Changed) -> Iterator[Question]:
    """Yield calls of a plain function whose parameters say what kind of plain value they take."""
    arguments = one.function.args
    if one.owner or arguments.kwonlyargs or isinstance(one.function, ast.AsyncFunctionDef):
        return
    needed = arguments.args[: len(arguments.args) - len(arguments.defaults)]
    kinds = [boundaries_for(ast.unparse(a.annotation)) if a.annotation else () for a in needed]
    if not needed or not all(kinds):
        return
    for values in islice(product(*kinds), _MOST_CALLS):
        given = ", ".join(ascii(value) for value in values)
        value = expression(f"{one.name}({given})")
        yield Question(setup=(), value=value, quote=f"type hints of {one.path}::{one.name}")
