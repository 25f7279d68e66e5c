"""How lists are made of runs: each case is a way to a wrong FAIL_TO_PASS or PASS_TO_PASS."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swequarry.records import QuarantinedTest, TestId, TestOutcome, TestReport, TestResult
from swequarry.verify.classify import Classification, classify
from swequarry.verify.passes import FAILING, RunProblem
from swequarry.verify.runner import RunResult

T = TestId("tests/test_a.py::test_t")
P, F = TestOutcome.PASSED, TestOutcome.FAILED
E, S, C = TestOutcome.ERROR, TestOutcome.SKIPPED, TestOutcome.CRASHED
M, N = TestOutcome.MISSING, TestOutcome.NOT_RUN
XF, XP, TO = TestOutcome.XFAILED, TestOutcome.XPASSED, TestOutcome.TIMEOUT


def run(
    tests: dict[str, TestOutcome] | None = None,
    *,
    details: dict[str, str] | None = None,
    errors: Sequence[tuple[str, str]] = (),
    skips: Sequence[tuple[str, str]] = (),
    problems: Sequence[RunProblem] = (),
    suspects: Sequence[str] = (),
) -> RunResult:
    results = tuple(
        TestResult(id=TestId(name), outcome=outcome, detail=(details or {}).get(name, ""))
        for name, outcome in (tests or {}).items()
        if outcome is not M
    )
    report = TestReport(
        framework="pytest", results=results, collection_errors=tuple(errors), collection_skips=tuple(skips)
    )
    return RunResult(report=report, problems=tuple(problems), suspects=frozenset(map(TestId, suspects)))


def runs(*outcomes: TestOutcome) -> list[RunResult]:
    return [run({T: outcome}) for outcome in outcomes]


def reasons(found: Classification) -> dict[TestId, str]:
    return {entry.id: entry.reason for entry in found.quarantined}


@pytest.mark.parametrize("failing", [F, E, C, TO, M])
def test_any_way_of_failing_before_and_passing_after_is_fail_to_pass(failing: TestOutcome) -> None:
    found = classify(runs(failing, failing, failing), runs(P, P, P))
    assert (found.fail_to_pass, found.pass_to_pass, found.quarantined) == ((T,), (), ())


def test_different_ways_of_failing_are_one_kind() -> None:
    assert classify(runs(F, C, E), runs(P, P, P)).fail_to_pass == (T,)


@pytest.mark.parametrize("before", [P, F])
@pytest.mark.parametrize("after", [S, XF, XP, F, M])
def test_nothing_but_passed_counts_as_passed_after(before: TestOutcome, after: TestOutcome) -> None:
    found = classify(runs(before, before), runs(after, after))
    assert (found.fail_to_pass, found.pass_to_pass) == ((), ())


@pytest.mark.parametrize("before", [S, XF, XP])
def test_skipped_or_expected_before_does_not_turn(before: TestOutcome) -> None:
    found = classify(runs(before, before), runs(P, P))
    assert (found.fail_to_pass, found.pass_to_pass) == ((), ())


def test_passed_before_and_skipped_after_is_recorded() -> None:  # B035
    found = classify(runs(P, P), runs(S, S))
    assert found.causes == ((T, "skipped after the fix"),)


@pytest.mark.parametrize(
    "before, after",
    [
        ((F, P, F), (P, P, P)),
        ((F, F, F), (P, F, P)),
        ((P, P, P), (P, P, S)),
        ((M, F, F), (P, P, P)),
        ((S, P), (P, P)),
    ],
)
def test_one_run_that_differs_takes_a_test_off_the_lists(
    before: tuple[TestOutcome, ...], after: tuple[TestOutcome, ...]
) -> None:  # B049
    found = classify(runs(*before), runs(*after))
    assert (found.fail_to_pass, found.pass_to_pass) == ((), ())
    assert found.quarantined == (QuarantinedTest(id=T, reason="flaky", before=before, after=after),)


def test_flaky_test_that_may_turn_is_told_from_one_that_cannot() -> None:
    assert classify(runs(F, P), runs(P, P)).turning
    assert not classify(runs(P, P), runs(F, P)).turning


def test_collection_error_before_is_the_recorded_cause() -> None:
    broken = run({}, errors=[("tests/test_a.py", "ModuleNotFoundError: No module named 'x'")])
    found = classify([broken, broken], runs(P, P))
    assert found.fail_to_pass == (T,)
    assert found.causes == ((T, "missing: collection error in tests/test_a.py"),)


@pytest.mark.parametrize("path", ["tests/conftest.py", "tests/__init__.py", "tests", ""])
def test_broken_conftest_or_package_covers_its_folder(path: str) -> None:
    broken = run({}, errors=[("tests_other/test_b.py", "other"), (path, "ImportError: x")])
    ((_, cause),) = classify([broken], runs(P)).causes
    assert cause == (
        f"missing: collection error in {path}"
        if path
        else "missing: the test runner can't start before the fix"
    )


def test_test_that_is_not_there_yet_is_told_from_one_hidden_by_an_error() -> None:
    other = run({"tests/test_a.py::test_u": P}, errors=[("tests/test_b.py", "x")])
    found = classify([other], [run({T: P, "tests/test_a.py::test_u": P})])
    assert found.causes == ((T, "missing: not collected before the fix"),)


def test_module_that_skips_itself_before_the_fix_is_skipped_not_missing() -> None:
    skipped = run({}, skips=[("tests/test_a.py", "no numpy")])
    found = classify([skipped, skipped], runs(P, P))
    assert found.fail_to_pass == ()


def test_failing_that_may_come_from_a_limit_is_no_verdict() -> None:
    before = [run({T: F}, suspects=[T], problems=[RunProblem.MEMORY_LIMIT]), *runs(F, F)]
    found = classify(before, runs(P, P, P))
    assert found.fail_to_pass == ()
    assert reasons(found) == {T: "resource_limit"}
    assert found.turning


@pytest.mark.parametrize(
    "detail", ["OSError: [Errno 28] No space left on device", "RuntimeError: can't start new thread"]
)
def test_full_disk_or_thread_limit_in_an_error_is_no_verdict(detail: str) -> None:
    found = classify([run({T: F}, details={T: detail})], runs(P))
    assert reasons(found) == {T: "resource_limit"}


def test_tests_that_a_time_limit_cut_off_are_no_verdict_but_those_before_it_are() -> None:
    other = TestId("tests/test_a.py::test_before")
    cut = run({other: P, T: N}, problems=[RunProblem.WALL_LIMIT])
    full = run({other: P, T: P})
    found = classify([cut, full], [full, full])
    assert found.pass_to_pass == (other,)
    assert reasons(found) == {T: "time_limit"}


def test_untrusted_report_says_nothing_of_any_test() -> None:
    found = classify(runs(F, F), [*runs(P), run({T: P}, problems=[RunProblem.UNSOUND_REPORT])])
    assert (found.fail_to_pass, reasons(found)) == ((), {T: "unsound_report"})


def test_test_left_over_after_too_many_crashes_is_no_verdict() -> None:
    assert reasons(classify(runs(N, N), runs(P, P))) == {T: "not_run"}


def odd_ids(*parameters: str, outcome: TestOutcome = P) -> RunResult:
    return run({f"tests/test_a.py::test_o[{parameter}]": outcome for parameter in parameters})


def test_ids_that_change_between_runs_are_never_fail_to_pass_nor_named() -> None:  # B045
    before = [odd_ids("1.1", "1.2", "x"), odd_ids("2.1", "2.2", "x"), odd_ids("3.1", "3.2", "x")]
    after = [odd_ids("4.1", "4.2", "x"), odd_ids("5.1", "5.2", "x"), odd_ids("6.1", "6.2", "x")]
    found = classify(before, after)
    assert found.fail_to_pass == ()
    assert found.pass_to_pass == ("tests/test_a.py::test_o[x]",)
    assert found.quarantined == (QuarantinedTest(id=TestId("tests/test_a.py::test_o"), reason="unstable_id"),)
    assert list(found.matrix) == ["tests/test_a.py::test_o[x]"]


def test_address_in_an_id_is_unstable_even_in_a_single_run() -> None:  # B045
    found = classify([odd_ids("<a.O object at 0x7f42c178c5d0>")], [odd_ids("<a.O object at 0x7f42c178c5d1>")])
    assert (found.fail_to_pass, found.pass_to_pass) == ((), ())
    assert reasons(found) == {TestId("tests/test_a.py::test_o"): "unstable_id"}


def test_parameters_that_the_fix_adds_are_stable() -> None:
    found = classify([odd_ids("a"), odd_ids("a")], [odd_ids("a", "0xdeadbeef"), odd_ids("a", "0xdeadbeef")])
    assert found.fail_to_pass == ("tests/test_a.py::test_o[0xdeadbeef]",)


def test_only_tests_that_need_the_network_are_told() -> None:
    detail = "socket.gaierror: [Errno -2] Name or service not known"
    other = TestId("tests/test_a.py::test_other")
    before = [run({T: F, other: F})] * 2
    after = [run({T: F, other: F}, details={T: detail, other: "assert 0"})] * 2
    found = classify(before, after)
    assert (found.need_network, found.fail_after) == ((T,), (other, T))


OUTCOMES = st.sampled_from(list(TestOutcome))


@given(st.lists(OUTCOMES, min_size=1, max_size=4), st.lists(OUTCOMES, min_size=1, max_size=4))
def test_lists_hold_only_what_every_run_said(before: list[TestOutcome], after: list[TestOutcome]) -> None:
    found = classify(runs(*before), runs(*after))
    if found.fail_to_pass:
        assert set(after) == {P}
        assert set(before) <= FAILING or set(before) == {M}
    if found.pass_to_pass:
        assert set(before) == set(after) == {P}
    assert len(found.fail_to_pass + found.pass_to_pass) + len(found.quarantined) <= 1
