"""Ids that a log parser would cut aren't in the lists it is used with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swequarry.export.parsers import DropReason, drop_reason, split_ids
from swequarry.export.paths import path_bytes


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
    ("path", "raw"),
    [
        ("tests/test_a.py", b"tests/test_a.py"),
        ("tests/tést.py", "tests/tést.py".encode()),
        (r'"tests/t\303\251\377.py"', b"tests/t\xc3\xa9\xff.py"),
        (r'"a\tb\n\"\\\001"', b'a\tb\n"\\\x01'),
    ],
)
def test_quoted_path_gives_its_bytes(path, raw):
    assert path_bytes(path) == raw
