import pytest
from hypothesis import given
from hypothesis import strategies as st

from swequarry.errors import AccountingError
from swequarry.ledger.keys import StoredOutcome, StoredValue
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.runs import balance
from swequarry.outcome import Accepted, Boundary, Failed, RejectCode, Rejected

OUTCOMES: tuple[StoredValue, ...] = (
    Accepted(value={"n": 1}),
    Rejected(code=RejectCode.LEAK, message="m"),
    Failed(boundary=Boundary.GIT, message="m"),
)
names = st.lists(st.text(max_size=3), unique=True, max_size=12)


def ended(item: str, number: int = 0) -> StoredOutcome:
    return StoredOutcome(item=item, outcome=OUTCOMES[number % 3])


@given(expected=names, data=st.data())
def test_books_add_up_whatever_the_order(expected: list[str], data: st.DataObject) -> None:
    endings = [ended(item, len(item)) for item in data.draw(st.permutations(expected))]
    account = balance(expected, endings)
    assert account.total == len(expected)
    assert sorted((*account.accepted, *account.rejected, *account.failed)) == sorted(expected)
    assert list(account.accepted) == [item for item in expected if len(item) % 3 == 0]


@given(expected=names.filter(bool), data=st.data())
def test_lost_item_never_passes(expected: list[str], data: st.DataObject) -> None:
    lost = data.draw(st.sampled_from(expected))
    with pytest.raises(AccountingError, match="1 without an ending"):
        balance(expected, [ended(item) for item in expected if item != lost])


def test_item_counted_twice_never_passes() -> None:
    with pytest.raises(AccountingError, match="1 selected twice: a"):
        balance(["a", "a"], [ended("a")])
    with pytest.raises(AccountingError, match="1 ended twice: a"):
        balance(["a"], [ended("a"), ended("a", 1)])


def test_item_from_nowhere_never_passes() -> None:
    with pytest.raises(AccountingError, match="1 ended but never selected: b"):
        balance(["a"], [ended("a"), ended("b")])


def test_long_lists_of_lost_items_are_named_in_part() -> None:
    with pytest.raises(AccountingError, match="7 without an ending: 0, 1, 2, 3, 4 and 2 more"):
        balance([str(number) for number in range(7)], [])


def test_run_keeps_its_settings_its_selection_and_its_endings(ledger_place: str) -> None:
    ledger = Ledger.open(ledger_place, clock=lambda: 7.0)
    first = ledger.save_run({"workers": 2}, ["b", "a"])
    second = ledger.save_run({"workers": 4})
    ledger.save_selection(first, ["m1", "m0"], "units")
    ledger.save_selection(second, ["old"])
    ledger.save_selection(second, ["c"])
    assert (ledger.selection(first), ledger.selection(first, "units")) == (("b", "a"), ("m1", "m0"))
    assert ledger.selection(second) == ("c",)
    ledger.settle(first, "verify", ended("a", 2))
    ledger.settle(first, "verify", ended("a", 0))
    ledger.settle(first, "mine", ended("b", 1))
    ledger.end_run(first)
    assert [(e.item, e.stage, e.outcome) for e in ledger.endings(first)] == [
        ("a", "verify", OUTCOMES[0]),
        ("b", "mine", OUTCOMES[1]),
    ]
    assert ledger.endings(second) == ()
    assert [(run.number, run.settings, run.ended_at) for run in ledger.runs()] == [
        (first, {"workers": 2}, 7.0),
        (second, {"workers": 4}, None),
    ]
    assert balance(ledger.selection(first), ledger.endings(first)).accepted == ("a",)
