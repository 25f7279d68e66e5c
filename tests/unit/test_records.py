import dataclasses
import json
from datetime import UTC, datetime

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swequarry.outcome import REJECT_MEANING, RejectCode
from swequarry.records import Recipe, RepoRef, TestOutcome, TestReport, TestResult, canonical_json

RECIPE = Recipe(python="3.9", cutoff=datetime(2024, 3, 5, tzinfo=UTC))


def test_default_written_out_doesnt_change_the_hash():
    assert dataclasses.replace(RECIPE, extras=()).content_hash() == RECIPE.content_hash()
    assert dataclasses.replace(RECIPE, extras=("test",)).content_hash() != RECIPE.content_hash()


def test_kind_is_part_of_the_hash():
    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class Other(RepoRef):
        pass

    assert RepoRef(owner="a", name="b").content_hash() != Other(owner="a", name="b").content_hash()


def test_hash_of_a_record_never_changes_unnoticed():
    expected = "cb016fbd0b6749fd51ccbf5cde5c474dd247473dd962bb89e0be8d09c8265d05"
    assert RepoRef(owner="a", name="b").content_hash() == expected


@given(st.text(max_size=30), st.sampled_from(TestOutcome), st.text(max_size=30))
def test_record_survives_json(test, outcome, detail):
    report = TestReport(
        framework="pytest", results=(TestResult(id=test, outcome=outcome, detail=detail),), exit_status=1
    )
    again = TestReport.from_json(json.loads(json.dumps(report.to_json())))
    assert again == report
    assert again.content_hash() == report.content_hash()


def test_unknown_field_isnt_dropped():
    with pytest.raises(pydantic.ValidationError):
        RepoRef.from_json({"owner": "a", "name": "b", "branch": "main"})


def test_absent_test_is_missing_and_never_passed():
    assert TestReport(framework="pytest").outcome_of("t") is TestOutcome.MISSING


def test_canonical_json_has_one_form():
    assert canonical_json({"b": 1, "a": "é\ud800"}) == b'{"a":"\\u00e9\\ud800","b":1}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(float("nan"))


def test_every_reject_code_has_a_meaning():
    assert set(REJECT_MEANING) == set(RejectCode)
