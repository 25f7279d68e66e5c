"""Ids that a log parser would cut aren't in the lists it is used with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swequarry.export.parsers import (
    UNITTEST_PARSER,
    DropReason,
    drop_reason,
    log_parser,
    prints_instances,
    split_ids,
)


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("tests/test_a.py::test_x[a - b]", DropReason.CUT_AT_DASH),
        ("tests/test_a.py::test_x[a  b]", DropReason.BLANKS),
        ("tests/test_a.py::test_x[a\tb]", DropReason.CONTROL_CHARACTER),
        ("tests/test_a.py::test_x[a\nb]", DropReason.LINE_BREAK),
        ("tests/test_a.py::test_x[\x1b[0m]", DropReason.CONTROL_CHARACTER),
        ("tests/test_a.py::test_timeout[10m]", DropReason.LOOKS_LIKE_COLOUR),
        ("tests/test_a.py::test_x[\u2028]", DropReason.BLANKS),
        ("tests/test_a.py::test_x[\xa0]", DropReason.BLANKS),
        ("tests/test_a.py::test_x ", DropReason.BLANKS),
        ("[3] tests", DropReason.LOOKS_LIKE_SKIP_COUNT),
        ("tests/test_a.py::test_x[\ud800]", DropReason.NOT_UNICODE),
        ("", DropReason.EMPTY),
        ("tests/test_a.py::test_x[a b]", None),
        ("tests/test_a.py::test_x[a-b]", None),
        ("tests/test_a.py::test_x[PASSED]", None),
        ('tests/test_a.py::test_x[\\u2028-it\'s,"é"]', None),
        ("tests with blanks/test_a.py::test_x", None),
    ],
)
def test_id_that_would_be_cut_is_dropped_with_its_reason(test, reason):
    assert drop_reason(test) is reason


@given(st.lists(st.text(max_size=20), max_size=8))
def test_no_id_is_lost_or_doubled_by_splitting(ids):
    kept, dropped = split_ids(ids, "PASS_TO_PASS")
    assert sorted([*kept, *(d.id for d in dropped)]) == sorted(ids)
    assert {d.list_name for d in dropped} <= {"PASS_TO_PASS"}


@pytest.mark.parametrize(
    ("lock", "expected"),
    [
        (b"attrs==19.1.0\npytest==3.10.1 --hash=sha256:00\n", True),
        (b"pytest==4.0.0\n", False),
        (b"pytest==8.3.4\n", False),
        (b"pytest-cov==2.6.0\npytest-xdist==1.2.3\n", False),
        (b"", False),
    ],
)
def test_class_ids_that_old_pytest_prints_otherwise_are_known_by_the_lock(lock, expected):
    assert prints_instances(lock) is expected


def test_class_ids_are_dropped_only_where_they_are_printed_otherwise():
    assert drop_reason("t.py::T::test_x", instances=True) is DropReason.PRINTED_OTHERWISE
    assert drop_reason("t.py::test_x[a::b]", instances=True) is None
    assert drop_reason("t.py::T::test_x") is None


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("test_x (a.b.T)", None),
        ("test_x - y (a.b.T)", None),
        ("test_x ... y (a.T)", DropReason.CUT_AT_DOTS),
        ("ok_computer (a.T)", DropReason.LOOKS_LIKE_A_RESULT),
        ("FAIL: x (a.T)", DropReason.LOOKS_LIKE_A_RESULT),
        (" test_x (a.T)", DropReason.BLANKS),
        ("test_x (a.T)\r", DropReason.CONTROL_CHARACTER),
    ],
)
def test_id_that_the_unittest_parser_would_cut_is_dropped_with_its_reason(test, reason):
    assert drop_reason(test, parser=UNITTEST_PARSER) is reason


def test_parser_is_the_one_for_what_the_script_prints():
    assert [log_parser(f) for f in ("pytest", "unittest", "django")] == [
        "parse_log_pytest_v2", "parse_log_django", "parse_log_django",
    ]  # fmt: skip
