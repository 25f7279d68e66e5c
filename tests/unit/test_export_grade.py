"""The reader of reports that is shipped in Harbor tasks: never more lenient than the verifier's own."""

import importlib.util
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import swequarry.export
from swequarry.records import TestId, TestOutcome
from swequarry.verify.report import read_channel

PLACE = Path(swequarry.export.__file__).parent / "inside" / "grade_report.py"
spec = importlib.util.spec_from_file_location("grade_report", PLACE)
grade_report = importlib.util.module_from_spec(spec)
spec.loader.exec_module(grade_report)
NONCE = "n" * 32


def raw(*records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


START = {"kind": "start", "nonce": NONCE, "python": "3.11", "absent": []}


def end(status=0, nonce=NONCE):
    return {"kind": "end", "nonce": nonce, "status": status}


def collected(*ids):
    return {"kind": "collected", "ids": list(ids)}, {"kind": "origins", "modules": []}


def phase(test, when, outcome="passed", xfail=False):
    return {
        "kind": "phase",
        "id": test,
        "when": when,
        "outcome": outcome,
        "xfail": xfail,
        "detail": "",
        "error": "",
    }


def ran(test, number=3, call="passed", teardown="passed", xfail=False):
    begin = {"kind": "begin", "id": test, "number": number}
    phases = (
        phase(test, "setup"),
        phase(test, "call", call, xfail),
        phase(test, "teardown", teardown),
    )
    return begin, *phases


def passed(*records, code=0):
    return grade_report.read_report(raw(*records), NONCE, code).passed


def test_test_that_passes_in_every_phase_passes():
    assert passed(START, *collected("t"), *ran("t"), end()) == {"t"}


def test_b037_error_in_teardown_is_no_pass_whatever_came_before():
    assert passed(START, *collected("t"), *ran("t", teardown="failed"), end(1), code=1) == set()


def test_expected_failure_and_unexpected_success_are_no_pass():
    assert passed(START, *collected("t"), *ran("t", call="skipped", xfail=True), end()) == set()
    assert passed(START, *collected("t"), *ran("t", xfail=True), end()) == set()


def test_id_that_fails_once_does_not_pass_though_its_second_run_does():
    twice = (*ran("t", 3, call="failed"), *ran("t", 5))
    assert passed(START, *collected("t", "t"), *twice, end(1), code=1) == set()
    begin, *phases = ran("t")
    rerun = {"kind": "rerun", "id": "t", "detail": ""}
    assert passed(START, *collected("t"), begin, phase("t", "setup"), rerun, *phases, end()) == set()


def test_failed_subtest_fails_its_test():
    begin, setup, call, teardown = ran("t")
    sub = {"kind": "subtest", "id": "t", "outcome": "failed", "detail": ""}
    assert passed(START, *collected("t"), begin, setup, sub, call, teardown, end()) == set()


@pytest.mark.parametrize("name", ["é", "😀", "l1\nl2", "\x1b[0m", "1::2", "\\u2603", "a - b"])
def test_b041_odd_ids_come_back_whole(name):
    test = f"tests/test_a.py::test_p[{name}]"
    assert passed(START, *collected(test), *ran(test), end()) == {test}


@pytest.mark.parametrize(
    "records",
    [
        (*collected("t"), *ran("t"), end()),
        (START, *collected("t"), *ran("u"), end()),
        (START, *collected("t"), *ran("t"), *ran("t", 5), end()),
        (START, *collected("t"), *ran("t"), end(), end()),
        (START, *collected("t"), *ran("t"), end(nonce="x")),
        (START, *collected("t"), *ran("t"), end(1)),
        (START, START, *collected("t"), *ran("t"), end()),
        (START, *collected("t"), *ran("t"), *collected("u"), *ran("u", 5), end()),
        (START, *collected("t"), {"kind": "verdict"}, end()),
    ],
)
def test_report_that_no_recorder_writes_is_refused_whole(records):
    with pytest.raises(grade_report.UnsoundError):
        passed(*records)


def test_test_that_was_running_when_the_process_died_is_named_and_not_passed():
    begin, setup, *_ = ran("u", 5)
    report = grade_report.read_report(raw(START, *collected("t", "u"), *ran("t"), begin, setup), NONCE, -9)
    assert (report.passed, report.running, report.ended) == ({"t"}, "u", False)


words = st.sampled_from(["passed", "failed", "skipped", "odd"])
tests = st.sampled_from(["t", "u"])
records = st.one_of(
    st.just(START),
    st.builds(end, st.integers(0, 1)),
    st.builds(lambda ids: collected(*ids)[0], st.lists(tests, max_size=3)),
    st.builds(lambda test, n: {"kind": "begin", "id": test, "number": n}, tests, st.integers(1, 9)),
    st.builds(phase, tests, st.sampled_from(["setup", "call", "teardown"]), words, st.booleans()),
    st.builds(lambda test: {"kind": "rerun", "id": test, "detail": ""}, tests),
    st.builds(lambda n: {"kind": "timeout", "number": n}, st.integers(1, 9)),
)
likely = st.builds(
    lambda runs, more, at: [START, *collected("t", "u"), *(r for run in runs for r in run)][:at] + more,
    st.lists(st.builds(ran, tests, st.integers(1, 9), words, words, st.booleans()), max_size=3),
    st.lists(records, max_size=4),
    st.integers(0, 16),
)


@given(st.one_of(likely, st.lists(records, max_size=10)), st.booleans(), st.integers(0, 1))
def test_shipped_reader_never_passes_what_the_verifier_s_reader_does_not(sequence, ends, code):
    data = raw(*sequence, *([end(code)] if ends else []))
    try:
        shipped = grade_report.read_report(data, NONCE, code).passed
    except grade_report.UnsoundError:
        return
    ours = read_channel(data, NONCE)
    assert ours.odd == ()
    for test in shipped:
        assert ours.results[TestId(test)].outcome is TestOutcome.PASSED
