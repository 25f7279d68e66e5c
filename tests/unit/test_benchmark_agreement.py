"""Comparison with published lists: what isn't in ours has a reason."""

import pytest

from benchmarks.agreement import compare, reasons
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


@pytest.mark.parametrize(
    ("states", "reason"),
    [
        ({"before": ["passed"], "after": ["passed"]}, "passes before and after"),
        ({"before": ["failed"], "after": ["failed", "passed"]}, "before failed, after failed/passed"),
        ({"after": ["skipped"]}, "before absent, after skipped"),
    ],
)
def test_reasons_come_from_our_own_runs(states: dict[str, list[str]], reason: str) -> None:
    assert reasons(["t.py::q"], {"tests": {"t.py::q": states}}) == {reason: 1}


def test_a_test_that_never_ran_here_is_said() -> None:
    assert reasons(["t.py::q", "t.py::r"], {"tests": {}}) == {"no such test in our runs": 2}
