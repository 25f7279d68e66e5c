"""Rows of published datasets: every form that exists, every broken one named (edge case B068)."""

import dataclasses
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.sources.rows import KNOWN, Row, RowProblem, cut_ids, parse_row, read_rows
from swequarry.errors import InputError
from swequarry.export import rows as export
from swequarry.outcome import RejectCode

BASE = "0123456789" * 4


def fields(**changed):
    row = {
        "instance_id": "acme__widgets-7",
        "repo": "acme/widgets",
        "base_commit": BASE,
        "patch": "diff --git a/a b/a\n",
        "test_patch": "diff --git a/t b/t\n",
        "problem_statement": "It breaks",
        "created_at": "2024-03-01T10:00:00Z",
        "FAIL_TO_PASS": '["t::a"]',
        "PASS_TO_PASS": "[]",
    }
    return {name: value for name, value in {**row, **changed}.items() if value is not ...}


def parsed(**changed):
    return parse_row(fields(**changed), "rows.jsonl", 3)


def write(tmp_path: Path, name: str, data: bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


# --- test lists --------------------------------------------------------------------------------------

IDS = st.lists(st.text(alphabet=st.characters(codec="utf-8"), max_size=30), max_size=5)


@given(IDS)
def test_list_json_text_and_repr_of_the_same_ids_read_the_same(ids):
    forms = [ids, json.dumps(ids), json.dumps(ids, ensure_ascii=False), repr(ids), repr(tuple(ids))]
    for form in forms:
        row = parsed(FAIL_TO_PASS=form)
        assert isinstance(row, Row)
        assert row.fail_to_pass == tuple(ids)


@pytest.mark.parametrize(
    "given_list, expected",
    [
        (["t[a]", 't["b"]'], ("t[a]", 't["b"]')),
        ('["t[a]", "t[\\"b\\"]"]', ("t[a]", 't["b"]')),
        ("[\"t[it's]\", 't[b]']", ("t[it's]", "t[b]")),
        (["a\u2028b,c"], ("a\u2028b,c",)),
        ([], ()),
        ("", ()),
        (" ", ()),
        (None, None),
        (..., None),
    ],
)
def test_published_forms_of_lists(given_list, expected):
    assert parsed(FAIL_TO_PASS=given_list).fail_to_pass == expected


def test_converted_repr_is_said():
    assert parsed(FAIL_TO_PASS="['a']").flags == ("lists_converted_from_repr",)
    assert parsed(FAIL_TO_PASS='["a"]').flags == ()


@pytest.mark.parametrize("broken", ["[1, 40]", [1], [["t"]], '["t", null]', "[['t']]", "['t', 3]", [True]])
def test_member_that_is_no_string_is_refused_with_row_and_field(broken):
    problem = parsed(PASS_TO_PASS=broken)
    assert isinstance(problem, RowProblem)
    assert (problem.code, problem.line) == (RejectCode.BAD_TEST_ID, 3)
    assert "`PASS_TO_PASS`, member" in problem.message


def test_strings_that_python_would_join_are_refused_not_joined():
    problem = parsed(FAIL_TO_PASS="['a::t' 'b::t']")
    assert problem.code is RejectCode.BAD_TEST_ID
    assert "comma" in problem.message


@pytest.mark.parametrize(
    "broken", ["t::a", '{"a": 1}', 7, "['a'", "__import__('os')", "(" * 5000, "[" * 5000]
)
def test_anything_else_is_no_list(broken):
    assert isinstance(parsed(FAIL_TO_PASS=broken), RowProblem)


def test_ids_cut_inside_a_bracket_are_kept_and_flagged():
    row = parsed(FAIL_TO_PASS=["t[a b]", "t[a", "t[[z]", "t"])
    assert row.fail_to_pass == ("t[a b]", "t[a", "t[[z]", "t")
    assert row.flags == ("published_ids_cut",)
    assert cut_ids(row.fail_to_pass) == ("t[a",)


# --- other fields ------------------------------------------------------------------------------------


def test_unknown_field_is_told_and_nothing_is_lost():
    row = parsed(colour="red")
    assert isinstance(row, Row)
    assert row.flags == ("unknown_field:colour",)
    assert row.notes == ("rows.jsonl:3: field `colour` isn't known and was ignored",)


def test_columns_of_our_own_datasets_are_no_unknown_fields():
    written = {f.name for f in dataclasses.fields(export.Row)} - {"fail_to_pass", "pass_to_pass"}
    assert written <= KNOWN


def test_misspelled_field_is_named_with_the_likely_one():
    problem = parsed(test_patch=..., tests_patch="x")
    assert problem.message == "lacks the field `test_patch`; it has `tests_patch`: is that the one?"
    assert problem.instance_id == "acme__widgets-7"


@pytest.mark.parametrize(
    "changed",
    [
        {"repo": "acme"},
        {"repo": "../.."},
        {"repo": "acme/widgets/x"},
        {"repo": None},
        {"base_commit": "abc"},
        {"base_commit": 7},
        {"patch": None},
        {"patch": ["x"]},
        {"patch": "\ud900"},
        {"instance_id": ""},
        {"instance_id": 3},
        {"instance_id": "../../etc/passwd"},
        {"instance_id": "a\nb"},
        {"created_at": "yesterday"},
        {"created_at": True},
    ],
)
def test_wrong_field_is_a_named_problem_not_a_crash(changed):
    problem = parsed(**changed)
    assert isinstance(problem, RowProblem)
    assert problem.code is RejectCode.MALFORMED_ROW
    assert f"`{next(iter(changed))}`" in problem.message


@pytest.mark.parametrize("data", [None, [], "row", 3, True])
def test_row_that_is_no_object_is_told(data):
    assert isinstance(parse_row(data, "f", 1), RowProblem)


def test_bytes_that_are_no_utf8_survive_as_bytes():
    text = b"caf\xe9".decode("utf-8", "surrogateescape")
    assert parsed(patch=text).patch == b"caf\xe9"


def test_numbers_and_times_are_read():
    row = parsed(created_at="2024-03-01T12:00:00+02:00")
    assert row.created_at.isoformat() == "2024-03-01T10:00:00+00:00"
    assert row.pull_number == 7
    assert parsed(instance_id="acme__widgets").pull_number is None
    assert parsed(pull_number=9).pull_number == 9
    assert parsed(issue_numbers=[3, 1]).issue_numbers == (3, 1)


@given(
    st.dictionaries(
        st.sampled_from(sorted(fields())) | st.text(max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
            ),
            max_leaves=5,
        ),
    )
)
def test_any_json_object_is_a_row_or_a_problem(changed):
    assert isinstance(parse_row({**fields(), **changed}, "f", 1), Row | RowProblem)


# --- files -------------------------------------------------------------------------------------------


def test_broken_line_is_named_and_the_others_go_on(tmp_path):
    good = json.dumps(fields()).encode()
    path = write(
        tmp_path, "rows.jsonl", good + b"\n\n{broken\n\xff\xfe\n" + good + b"\n[]\n" + b"[" * 100_000
    )
    found = list(read_rows(path))
    assert [(type(row).__name__, row.line) for row in found] == [
        ("Row", 1),
        ("RowProblem", 3),
        ("RowProblem", 4),
        ("Row", 5),
        ("RowProblem", 6),
        ("RowProblem", 7),
    ]
    assert found[1].file == "rows.jsonl"


def test_lines_end_at_line_feed_only(tmp_path):
    row = fields(problem_statement="a\u2028b\x0cc\x85d")
    path = write(tmp_path, "r.jsonl", json.dumps(row, ensure_ascii=False).encode() + b"\r\n")
    (found,) = read_rows(path)
    assert found.problem_statement == "a\u2028b\x0cc\x85d"


def test_byte_order_mark_is_no_broken_row(tmp_path):
    path = write(tmp_path, "r.jsonl", b"\xef\xbb\xbf" + json.dumps(fields()).encode())
    assert isinstance(next(read_rows(path)), Row)


def test_json_and_parquet_give_the_rows_of_jsonl(tmp_path):
    rows = [fields(), fields(instance_id="acme__widgets-8", FAIL_TO_PASS='["a", "b[1]"]')]
    lines = write(tmp_path, "r.jsonl", b"\n".join(json.dumps(row).encode() for row in rows))
    whole = write(tmp_path, "r.json", json.dumps(rows).encode())
    table = [{**row, "FAIL_TO_PASS": json.loads(row["FAIL_TO_PASS"])} for row in rows]
    pq.write_table(pa.Table.from_pylist(table), tmp_path / "r.parquet")
    expected = list(read_rows(lines))
    assert list(read_rows(whole)) == expected
    assert list(read_rows(tmp_path / "r.parquet")) == expected


@pytest.mark.parametrize(
    "name, data, word",
    [
        ("r.jsonl", b"", "empty"),
        ("r.jsonl", b"\n \n", "empty"),
        ("r.json", b"[]", "empty"),
        ("r.json", b"{oops", "isn't JSON"),
        ("r.parquet", b"no parquet", "parquet"),
        ("r.csv", b"a,b", "csv"),
        ("absent.jsonl", None, "no file"),
    ],
)
def test_file_that_cannot_be_read_is_an_input_error(tmp_path, name, data, word):
    path = tmp_path / name if data is None else write(tmp_path, name, data)
    with pytest.raises(InputError, match=word):
        list(read_rows(path))
