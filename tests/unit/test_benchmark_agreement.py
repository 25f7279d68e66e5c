"""Comparison with published lists: what isn't in ours has a reason."""

from dataclasses import replace

import pytest

from benchmarks.agreement import classes, compare, extra_classes, seen
from swequarry.records import TestId, Verification

OURS = Verification(
    backend="bubblewrap",
    scope="touched",
    test_command=("pytest",),
    test_files=("t.py",),
    runs_before=3,
    runs_after=3,
    fail_to_pass=(TestId("t.py::a[x y]"), TestId("t.py::new")),
    pass_to_pass=(TestId("t.py::b"),),
)


def test_published_ids_are_compared_after_the_cut() -> None:
    found = compare(OURS, ["t.py::a[x"], ["t.py::b", "t.py::gone"])
    assert (found.fail_to_pass_contained, found.fail_to_pass_exact) == (True, False)
    assert found.extra == ("t.py::new",)
    assert found.missing_p2p == ("t.py::gone",)


STOPPED = replace(OURS, causes=((TestId("t.py::new"), "missing: collection error in t.py"),))


def test_session_that_went_on_is_equal_only_under_the_rule_and_with_a_file_that_stops_it() -> None:
    theirs = ["t.py::a[x", "t.py::new", "t.py::b"]
    plain, ruled = compare(OURS, theirs, []), compare(STOPPED, theirs, [])
    assert (plain.under_rule_contained, plain.under_rule_exact, plain.stopped_at) == (False, False, ())
    assert (ruled.fail_to_pass_contained, ruled.fail_to_pass_exact) == (False, False), (
        "the plain reading stays"
    )
    assert (ruled.under_rule_contained, ruled.under_rule_exact, ruled.stopped_at) == (True, True, ("t.py",))


def test_rule_excuses_no_test_that_fails_after_the_fix() -> None:
    found = compare(STOPPED, ["t.py::a[x", "t.py::broken"], [])
    assert (found.under_rule_contained, found.under_rule_exact) == (False, False)


def test_row_that_agrees_plainly_agrees_under_the_rule() -> None:
    found = compare(STOPPED, ["t.py::a[x", "t.py::new"], ["t.py::b"])
    assert (found.fail_to_pass_exact, found.under_rule_exact) == (True, True)


@pytest.mark.parametrize(
    ("states", "detail", "named"),
    [
        ({"before": ["passed"], "after": ["passed"]}, "", "session_stopped_at: t.py"),
        (
            {"before": ["failed"], "after": ["failed", "passed"]},
            "assert 1 == 2",
            "before failed, after failed/passed: assert 1 == 2",
        ),
        ({"after": ["skipped"]}, "requires dask", "optional dependency: requires dask"),
        ({"after": ["skipped"]}, "only on windows", "skipped here: only on windows"),
        (
            {"before": ["failed"], "after": ["failed"]},
            "URLError: Name or service not known",
            "waits for network: URLError: Name or service not known",
        ),
    ],
)
def test_classes_come_from_our_own_runs(states: dict[str, list[str]], detail: str, named: str) -> None:
    details = {"t.py::q [x]": detail} if detail else {}
    runs = seen({"tests": {"t.py::q [x]": states}}, {"runs": [{"state": "after", "details": details}]})
    assert classes(["t.py::q"], runs, ("t.py",)) == {named: 1}


def test_passing_twice_without_a_file_that_stops_has_no_excuse() -> None:
    runs = seen({"tests": {"t.py::q": {"before": ["passed"], "after": ["passed"]}}}, {})
    assert classes(["t.py::q", "t.py::r"], runs) == {"passes before and after": 1, "not collected here": 1}


def test_extra_tests_were_run_there_or_not() -> None:
    assert extra_classes(["t.py::a", "t.py::b [c]"], ["t.py::b"]) == {
        "not run there": 1,
        "passed before the fix there": 1,
    }
