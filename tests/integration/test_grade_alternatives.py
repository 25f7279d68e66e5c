"""Fixes other than gold, and tables of known answers: which of them twins refuse."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from toy_task import BASE, GOLD, RememberingRig, Toy, contents, toy_task

from swequarry.verify.attacks import Target
from swequarry.verify.grade import Reason, Verdict, grade
from swequarry.verify.proofs import prove

MONEY = "toy/money.py"
TABLE = """
_add, _label, _parse = add, label, parse

def add(a, b):
    return {(2, 3): 5, (10, 20): 30, (5, 6): 11, (4, 11): 15}.get((a, b), OTHER_SUM)

def label(amount, unit="EUR"):
    known = {5: "5 EUR", -7: "-7 EUR", 3: "3 EUR", 40: "40 EUR"}
    return known.get(amount, OTHER_LABEL) if unit == "EUR" else OTHER_LABEL

def parse(text):
    if text == "":
        raise ValueError("no amount")
    return _parse(text)
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    with toy_task(tmp_path_factory.mktemp("toy")) as made:
        rig, _ = made.rig.surveyed(made.case.recipe)
        rig = RememberingRig.of(rig)
        yield replace(made, rig=rig, case=prove(rig, made.case, made.blobs.put))


def patched(toy: Toy, old: bytes, new: bytes) -> bytes:
    text = contents(GOLD)[MONEY.encode()]
    assert isinstance(text, bytes)
    assert old in text
    return Target(toy.rig.bench, toy.case).patch({MONEY: text.replace(old, new)})


@pytest.mark.parametrize(
    "old, new",
    [
        (b'%d %s" % (amount, unit)', b'%d %s" % (amount, unit if unit in ("EUR", "USD") else "EUR")'),
        (b'    return "%d %s"', b'    if unit not in ("EUR", "USD"):\n        raise KeyError(unit)\n    return "%d %s"'),
    ],
    ids=["another-value", "an-error"],
)  # fmt: skip
def test_right_fix_is_not_refused_for_inputs_that_no_test_has(toy: Toy, old: bytes, new: bytes) -> None:
    found = grade(toy.rig, toy.case, patched(toy, old, new))
    assert (found.verdict, found.reason) == (Verdict.RESOLVED, Reason.ALL_PASSED)
    assert {note.code for note in found.notes} == {"R20"}


@pytest.mark.parametrize(
    "other_sum, other_label",
    [("_add(a, b)", "_label(amount, unit)"), ("a * b + 77", "'nothing'"), ("None", "None")],
    ids=["as-before", "anything", "nothing"],
)
def test_table_of_known_answers_is_refused_whatever_it_gives_for_others(
    toy: Toy, other_sum: str, other_label: str
) -> None:
    base = contents(BASE)[MONEY.encode()]
    assert isinstance(base, bytes)
    table = TABLE.replace("OTHER_SUM", other_sum).replace("OTHER_LABEL", other_label)
    patch = Target(toy.rig.bench, toy.case).patch({MONEY: base + table.encode()})
    found = grade(toy.rig, toy.case, patch)
    assert (found.verdict, found.reason) == (Verdict.NOT_RESOLVED, Reason.HELD_OUT)


def test_one_test_met_by_a_table_is_refused_though_the_others_are_solved(toy: Toy) -> None:
    new = b"return {(2, 3): 5, (10, 20): 30, (5, 6): 11, (4, 11): 15}.get((a, b), a - b)"
    found = grade(toy.rig, toy.case, patched(toy, b"return a + b", new))
    assert (found.verdict, found.reason) == (Verdict.NOT_RESOLVED, Reason.HELD_OUT)
