from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swequarry.ledger.keys import StageKey, StoredValue, outcome_from_json, outcome_to_json
from swequarry.outcome import Accepted, Boundary, Failed, RejectCode, Rejected
from swequarry.records import ContentHash, canonical_json

hashes = st.text("0123456789abcdef", min_size=64, max_size=64).map(ContentHash)
keys = st.builds(
    StageKey, stage=st.text(max_size=8), version=st.integers(0, 99), input_hash=hashes, settings_hash=hashes
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
evidence = st.lists(st.text(max_size=5), max_size=3).map(tuple)
outcomes: st.SearchStrategy[StoredValue] = st.one_of(
    st.builds(Accepted, value=st.dictionaries(st.text(max_size=3), json_values, max_size=3)),
    st.builds(Rejected, code=st.sampled_from(RejectCode), message=st.text(max_size=9), evidence=evidence),
    st.builds(
        Failed,
        boundary=st.sampled_from(Boundary),
        message=st.text(max_size=9),
        retryable=st.booleans(),
        evidence=evidence,
    ),
)


@given(one=keys, two=keys)
def test_two_keys_share_a_result_only_if_they_are_equal(one: StageKey, two: StageKey) -> None:
    assert (one.digest() == two.digest()) == (one == two)


@given(key=keys, other=hashes, text=st.text(max_size=8), number=st.integers(0, 99))
def test_each_part_of_the_key_counts(key: StageKey, other: ContentHash, text: str, number: int) -> None:
    changes = {"stage": text, "version": number, "input_hash": other, "settings_hash": other}
    for name, value in changes.items():
        changed = replace(key, **{name: value})
        assert (changed.digest() == key.digest()) == (getattr(key, name) == value)


def test_moving_text_between_parts_changes_the_key() -> None:
    a, b = ContentHash("a" * 64), ContentHash("b" * 64)
    one = StageKey(stage="verify", version=1, input_hash=a, settings_hash=b)
    assert one.digest() != replace(one, input_hash=b, settings_hash=a).digest()
    assert one.digest() != replace(one, stage="verify1").digest()
    assert replace(one, stage='v",1,"', version=1).digest() != replace(one, stage="v", version=11).digest()


def test_the_digest_never_changes_between_versions_of_the_program() -> None:
    key = StageKey(
        stage="verify", version=3, input_hash=ContentHash("a" * 64), settings_hash=ContentHash("b" * 64)
    )
    assert key.digest() == "677b7f62b2129f8c751c3ea80a982482221fc0dbe370febde69416fcb6bd5ecf"


@given(outcome=outcomes)
def test_outcomes_come_back_as_they_were(outcome: StoredValue) -> None:
    data = outcome_to_json(outcome)
    assert outcome_from_json(data) == outcome
    assert canonical_json(outcome_to_json(outcome_from_json(data))) == canonical_json(data)


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "skipped"},
        {"kind": "rejected", "code": "from_the_future", "message": "", "evidence": []},
        {"kind": "failed", "boundary": "moon", "message": "", "retryable": True, "evidence": []},
    ],
)
def test_unknown_outcomes_are_refused_not_guessed(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"skipped|from_the_future|moon"):
        outcome_from_json(data)
