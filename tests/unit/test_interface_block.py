"""Demands of hidden tests that nobody wrote down, and what the policy makes of them."""

from dataclasses import replace
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swequarry.config import InterfaceSettings
from swequarry.git.patches import parse_patch
from swequarry.outcome import RejectCode
from swequarry.records import TestId
from swequarry.records.interface import Demand, DemandKind, InterfaceAction, InterfaceRecord
from swequarry.verify.mutation_diff import readable_patch
from testwriter.interface import Subject
from testwriter.interface_block import demands_of, test_functions
from testwriter.interface_policy import block_of, decide, is_dropped
from testwriter.subjects import names_in

BASE = {
    "src/p.py": """
        def parse(text, sep=None):
            return text.split(sep)

        class Reader:
            limit = 5

            def read(self, path):
                timeout = 3
                return path
    """,
    "tests/test_p.py": """
        import p

        def test_old():
            assert p.parse("a b") == ["a", "b"]
    """,
}
AFTER = {
    "src/p.py": """
        class EmptyInputError(ValueError):
            pass

        def parse(text, sep=None, timeout=None):
            if not text:
                raise EmptyInputError(f"E042: nothing to parse in {sep}")
            return text.split(sep)

        class Reader:
            limit = 5

            def __init__(self, depth: int = 3):
                self.max_depth = depth

            def read(self, path, *, follow_links: bool = True) -> str:
                timeout = 3
                return path
    """,
    "tests/test_p.py": """
        import p
        import pytest

        def test_old():
            assert p.parse("a b") == ["a", "b"]

        def test_class():
            with pytest.raises(p.EmptyInputError):
                p.parse("")

        def test_message():
            with pytest.raises(ValueError, match="E042: nothing to parse in .*"):
                p.parse("")

        class TestReader:
            def test_links(self):
                assert p.Reader().read("x", follow_links=False) == "x"

            @pytest.mark.parametrize("n", [1])
            def test_depth(self, n):
                assert p.Reader(n).max_depth == n

        def test_common_word():
            assert p.parse("a", timeout=5) == ["a"]

        def test_plain():
            assert p.parse("") == []
    """,
}


def subject(statement="parse('') gives an empty list.", **more):
    base, after = ({path: dedent(text).encode() for path, text in files.items()} for files in (BASE, AFTER))
    patch = readable_patch(b"src/p.py", base["src/p.py"], after["src/p.py"])
    assert list(parse_patch(patch))
    known = {
        "instance_id": "p-1",
        "statement": statement,
        "paths": tuple(base),
        "read": base.get,
        "base_names": names_in(base.values()),
        "folder": "tests",
        "gold_patch": patch.decode(),
        "after": after.get,
        "upstream_tests": (("tests/test_p.py", after["tests/test_p.py"].decode()),),
        **more,
    }
    return Subject(**known)


def demanded(**more):
    return {(demand.kind.value, demand.text): demand for demand in demands_of(subject(**more))}


def test_each_demand_is_found_with_the_tests_that_make_it():
    found = {key: demand.tests for key, demand in demanded().items()}
    assert found == {
        ("name", "EmptyInputError"): ("tests/test_p.py::test_class",),
        ("message", "E042: nothing to parse in .*"): ("tests/test_p.py::test_message",),
        ("name", "follow_links"): ("tests/test_p.py::TestReader::test_links",),
        ("name", "max_depth"): ("tests/test_p.py::TestReader::test_depth",),
        ("parameter", "parse(timeout)"): ("tests/test_p.py::test_common_word",),
        ("parameter", "Reader.read(follow_links)"): ("tests/test_p.py::TestReader::test_links",),
    }


def test_a_solver_is_told_signatures_not_bodies():
    found = demanded()
    assert found["name", "EmptyInputError"].signature == "class EmptyInputError(ValueError)"
    assert found["name", "follow_links"].signature == (
        "Reader.read(self, path, *, follow_links: bool = True) -> str"
    )
    assert found["name", "max_depth"].signature == "Reader.max_depth (attribute)"
    assert found["parameter", "parse(timeout)"].signature == "parse(text, sep=None, timeout=None)"
    assert found["name", "max_depth"].path == "src/p.py"
    assert "split" not in block_of(list(found.values()))


def test_what_the_statement_tells_is_no_demand():
    told = (
        "parse('') should raise EmptyInputError with 'E042: nothing to parse in', take a timeout; read gets "
        "`follow_links` and a reader has max_depth."
    )
    assert demanded(statement=told) == {}


def test_one_signature_is_told_once():
    block = block_of(demands_of(subject()))
    assert block.count("Reader.read(self, path, *, follow_links: bool = True) -> str") == 1


def test_a_title_tells_too():
    assert ("name", "EmptyInputError") not in demanded(title="Add EmptyInputError")


def test_what_base_has_is_no_demand():
    assert not any(text in {"read", "Reader", "limit", "split"} for _, text in demanded())


def test_what_the_tests_define_themselves_is_no_demand():
    own = "import p\ndef EmptyInputError(): pass\ndef test_x():\n    EmptyInputError()\n"
    assert demands_of(subject(), [("tests/test_p.py", own)]) == ()


def test_an_import_at_the_top_is_the_demand_of_every_test():
    source = "from p import EmptyInputError\ndef test_a(): pass\ndef test_b(): pass\n"
    (demand,) = demands_of(subject(), [("tests/test_x.py", source)])
    assert demand.tests == ("tests/test_x.py::test_a", "tests/test_x.py::test_b")


def test_a_function_that_takes_any_name_takes_this_one():
    before = BASE["src/p.py"].replace("sep=None)", "sep=None, **options)")
    files = {**{p: dedent(t).encode() for p, t in BASE.items()}, "src/p.py": dedent(before).encode()}
    assert ("parameter", "parse(timeout)") not in demanded(read=files.get)


def test_who_may_not_see_the_fix_finds_nothing():
    assert demands_of(subject(gold_patch=None, after=None)) == ()


def test_a_broken_test_file_breaks_nothing():
    assert demands_of(subject(), [("tests/test_x.py", "def test_a(:\n  \x00 EmptyInputError")]) is not None


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_texts_give_demands(source, statement):
    for demand in demands_of(subject(statement=statement), [("tests/test_x.py", source)]):
        assert demand.text


IDS = [
    TestId("tests/test_p.py::test_class"),
    TestId("tests/test_p.py::TestReader::test_depth[1]"),
    TestId("tests/test_p.py::test_plain"),
]


def decision(policy, ids=IDS):
    return decide(demands_of(subject()), ids, policy)


def test_add_writes_what_hidden_tests_demand_under_the_statement():
    found = decision("add")
    assert block_of(found.record.demands) == (
        "## Interface\n\nNames and texts that a solution must have exactly as written here:\n\n"
        "- `class EmptyInputError(ValueError)` in `src/p.py`\n- `Reader.max_depth (attribute)` in `src/p.py`"
    )
    assert found.record.action is InterfaceAction.ADDED
    assert found.rejected is None


def test_keep_notes_what_is_demanded_and_changes_nothing():
    found = decision("keep")
    assert found.record == replace(decision("add").record, policy="keep", action=InterfaceAction.KEPT)
    assert found.rejected is None


def test_a_statement_with_its_block_demands_nothing_more():
    every = [TestId(name) for name in test_functions("tests/test_p.py", AFTER["tests/test_p.py"])]
    told = block_of(decide(demands_of(subject()), every, "add").record.demands)
    assert demands_of(subject(statement=told)) == ()


def test_drop_takes_the_demanding_tests_and_no_other():
    found = decision("drop")
    assert found.record.dropped == (
        "tests/test_p.py::TestReader::test_depth",
        "tests/test_p.py::test_class",
    )
    assert [is_dropped(found.record, test) for test in IDS] == [True, True, False]


def test_drop_that_leaves_no_test_rejects():
    found = decision("drop", IDS[:2])
    assert found.rejected is not None
    assert found.rejected.code is RejectCode.UNDERSPECIFIED
    assert found.record.action is InterfaceAction.REJECTED


def test_reject_says_what_is_missing_and_what_would_help():
    found = decision("reject").rejected
    assert found is not None
    assert "`add`" in found.message
    assert found.evidence == ("name: EmptyInputError", "name: max_depth")


@pytest.mark.parametrize("policy", ["add", "keep", "drop", "reject"])
def test_what_no_fail_to_pass_test_demands_nobody_needs_to_know(policy):
    found = decision(policy, IDS[2:])
    assert found.record == InterfaceRecord(policy=policy, action=InterfaceAction.NONE)
    assert found.rejected is None


def test_the_record_survives_json():
    record = decision("drop").record
    assert InterfaceRecord.from_json(record.to_json()) == record


@pytest.mark.parametrize("text", ["a `quoted` word here", "``` three", "line\nbreak ## Heading"])
def test_a_message_stays_one_item_of_the_list(text):
    block = block_of([Demand(kind=DemandKind.MESSAGE, text=text)])
    assert len(block.splitlines()) == 5


def test_the_policy_is_a_setting():
    assert InterfaceSettings().policy == "add"
