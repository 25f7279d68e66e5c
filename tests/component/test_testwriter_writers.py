"""Neighbours and differences: what is asked, what is measured, what is written down."""

import ast

import pytest
from proof_worlds import changed, proposal, prover, subject

from testwriter.engine import Engine
from testwriter.proof.worth import Wanting
from testwriter.writers.changed import changed_functions
from testwriter.writers.differential import DifferentialWriter
from testwriter.writers.harvest import boundaries_for, probe_of, questions, varied, with_siblings
from testwriter.writers.measure import Answer, Measured, Probe, measured, written_down
from testwriter.writers.neighbours import NeighbourWriter

UPSTREAM = """
import pytest
from tally.amounts import share

@pytest.mark.parametrize("total, people", [(100, 3), pytest.param(7, 2)])
def test_share(total, people):
    parts = share(total, people)
    assert sum(parts) == total

def test_label(unit):
    assert share(1, 1) == [1]

class TestMore:
    def test_more(self):
        self.assertEqual(share(9, 2), [5, 4])
        assert self.helper(1)
"""


def asked() -> list:
    return list(questions("tests/test_a.py", UPSTREAM))


def shown(question) -> tuple[str, str]:
    probe = probe_of(question, ())
    return probe.setup, probe.value


def test_assertions_are_taken_apart_with_the_values_of_their_parameters():
    assert [shown(question) for question in asked()] == [
        ("total = 100\npeople = 3\nparts = share(total, people)", "sum(parts)"),
        ("total = 7\npeople = 2\nparts = share(total, people)", "sum(parts)"),
        ("", "share(9, 2)"),
    ]


def test_a_variation_changes_one_input_alone():
    (question,) = [each for each in asked() if not each.setup]
    found = [shown(other)[1] for other in varied(question)]
    assert found == [
        "share(10, 2)",
        "share(9, 3)",
        "share(0, 2)",
        "share(9, 0)",
        "share(1, 2)",
        "share(9, 1)",
    ]


def test_the_same_question_goes_to_functions_beside_the_changed_one():
    (question,) = [each for each in asked() if not each.setup]
    assert [shown(other)[1] for other in with_siblings(question, "share", {"split"})] == ["split(9, 2)"]


@pytest.mark.parametrize(
    "text", ["def test_x(:", "", "def test_x():\n    with a:\n        assert f(1) == 2\n"]
)
def test_what_cant_be_taken_apart_asks_nothing(text):
    assert list(questions("tests/test_a.py", text)) == []


def test_functions_around_the_changed_lines_are_found_with_their_siblings():
    assert [(one.name, one.siblings) for one in changed_functions(changed())] == [
        ("share", frozenset()),
        ("label", frozenset()),
        ("once", frozenset()),
    ]


def test_hints_of_plain_types_give_values():
    assert 0 in boundaries_for("Optional[int]")
    assert "" in boundaries_for("str")
    assert boundaries_for("Schema") == ()


def probe(value: str) -> Probe:
    return Probe(imports=("from tally.amounts import label, share",), setup="", value=value, quote="q")


def test_answers_are_measured_before_and_after(tmp_path):
    stand = prover(tmp_path).stand
    values = ("share(100, 3)", "share(4, 2)", "label(5)", "share", "share(1, 0)", "not a python")
    found = measured(stand, subject(), [probe(value) for value in values])
    assert [(one.probe.value, one.before, one.after) for one in found] == [
        ("share(100, 3)", Answer(value=[33, 33, 33]), Answer(value=[34, 33, 33])),
        ("share(4, 2)", Answer(value=[2, 2]), Answer(value=[2, 2])),
        ("label(5)", Answer(raised="TypeError"), Answer(value="5 cents")),
        ("share(1, 0)", Answer(raised="ZeroDivisionError"), Answer(raised="ZeroDivisionError")),
    ]


def both(value: str, before: Answer, after: Answer) -> Measured:
    return Measured(probe=probe(value), before=before, after=after)


def test_an_error_is_wanted_only_where_the_issue_names_it():
    found = [both("label(5)", Answer(value="x"), Answer(raised="KeyError"))]
    assert list(written_down(subject(), found, "differential")) == []
    (made,) = written_down(subject(statement="should raise KeyError"), found, "differential")
    assert "with pytest.raises(KeyError):\n        label(5)" in made.text


def test_true_and_one_differ():
    assert both("a", Answer(value=1), Answer(value=True)).differs
    assert not both("a", Answer(value=1), Answer(value=1)).differs


def test_what_both_agree_on_stands_beside_what_turns():
    found = [
        both("share(100, 3)", Answer(value=[33]), Answer(value=[34])),
        both("share(4, 2)", Answer(value=[2, 2]), Answer(value=[2, 2])),
    ]
    first, second = written_down(subject(), found, "neighbour")
    assert "share(4, 2) == [2, 2]" in first.text
    assert "share(4, 2)" not in second.text
    for made in (first, second):
        ast.parse(made.text)


def test_a_neighbour_kills_what_upstream_lets_pass(tmp_path):
    from proof_worlds import delta

    wrong = delta({"tally/amounts.py": "def share(total, people):\n    return [34, 33, 33]\n"})
    upstream = (
        (
            "tests/test_amounts.py",
            "from tally.amounts import share\ndef test_share():\n    assert share(100, 3) == [34, 33, 33]\n",
        ),
    )
    own = prover(tmp_path, Wanting(tests=True, survivors={"a" * 64: wrong}), upstream_tests=upstream)
    kept: dict[str, bytes] = {}
    engine = Engine(
        prover=own,
        put_blob=lambda data: kept.setdefault(str(len(kept)), data) and "b" * 64,
        budget_runs=99,
        made=[],
    )
    engine.hear("neighbours", NeighbourWriter(own.stand))
    ((made, proof),) = engine.added
    assert (made.method, proof.kills) == ("neighbour", ("a" * 64,))
    assert not engine.wants_more


def test_the_issues_own_code_is_measured_first(tmp_path):
    own = prover(tmp_path, statement="`share(100, 3)` loses a cent.")
    first = next(iter(DifferentialWriter(own.stand).propose(own.subject, own)))
    assert first.method == "issue_differential"
    assert "assert share(100, 3) == [34, 33, 33]" in first.text


class Writer:
    def __init__(self, *texts: str) -> None:
        self.texts = texts

    def propose(self, *_given):
        for number, text in enumerate(self.texts):
            yield proposal("from tally.amounts import share\n" + text, path=f"tests/test_new_{number}.py")


def test_all_proposals_are_screened_in_two_runs_and_only_what_turns_is_proven(tmp_path):
    own = prover(tmp_path)
    texts = [
        f"def test_x():\n    assert share(100, 3) == [{first}, 33, 33]\n" for first in (1, 2, 33, 34, 35)
    ]
    engine = Engine(prover=own, put_blob=lambda _: "b" * 64, budget_runs=99, made=[])
    engine.hear("some", Writer(*texts, "import time\ndef test_x():\n    assert time.time()\n"))
    assert [made.path for made, _ in engine.added] == ["tests/test_new_3.py"]
    assert sorted(reasons for _, reasons in engine.refused) == [
        ("clock",), ("fails_after",), ("fails_after",), ("fails_after",), ("passes_before",)
    ]  # fmt: skip
    assert len(own.stand.rig.backend.runs) == 2 + 5


def test_no_proof_is_begun_when_the_runs_are_spent(tmp_path):
    own = prover(tmp_path)
    engine = Engine(prover=own, put_blob=lambda _: "b" * 64, budget_runs=0, made=[])
    engine.hear("some", Writer("def test_x():\n    assert share(100, 3) == [34, 33, 33]\n"))
    assert (engine.added, engine.left_out) == ([], ["some: the budget is spent"])
    assert own.stand.rig.backend.runs == []
