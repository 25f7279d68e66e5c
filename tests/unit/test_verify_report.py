"""The reader of the report channel: whatever the bytes, nothing passes that wasn't properly reported."""

import json
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swequarry.records import TestId, TestOutcome
from swequarry.verify.report import ChannelReport, read_channel

NONCE = "0123456789abcdef"
A, B = TestId("t.py::a"), TestId("t.py::b")
NUMBERS: dict[str, int] = defaultdict(lambda: 7, {A: 3, B: 5})


def start() -> dict[str, Any]:
    return {"kind": "start", "nonce": NONCE, "python": "3.8.18", "absent": []}


def collected(*ids: str) -> dict[str, Any]:
    return {"kind": "collected", "ids": list(ids)}


def phase(
    test: str, when: str, outcome: str = "passed", *, xfail: bool = False, detail: str = ""
) -> dict[str, Any]:
    return {"kind": "phase", "id": test, "when": when, "outcome": outcome, "xfail": xfail, "detail": detail}


def whole(test: str, call: str = "passed") -> list[dict[str, Any]]:
    phases = [phase(test, "setup"), phase(test, "call", call), phase(test, "teardown")]
    return [{"kind": "begin", "id": test, "number": NUMBERS[test]}, *phases]


def end(status: int = 0, nonce: str = NONCE) -> dict[str, Any]:
    return {"kind": "end", "nonce": nonce, "status": status}


def lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def read(*records: dict[str, Any]) -> ChannelReport:
    return read_channel(lines(*records), NONCE)


def outcome(report: ChannelReport, test: TestId = A) -> TestOutcome | None:
    return report.results[test].outcome if test in report.results else None


def test_a_proper_report_agrees_with_its_process_only() -> None:
    report = read(start(), collected(A, B), *whole(A), *whole(B, "failed"), end(1))
    assert (outcome(report, A), outcome(report, B)) == (TestOutcome.PASSED, TestOutcome.FAILED)
    assert report.agrees_with(1)
    assert not report.agrees_with(0)
    assert not report.agrees_with(None)


@pytest.mark.parametrize("left_out", ["setup", "call"])
def test_test_without_all_three_phases_did_not_pass(left_out: str) -> None:
    records = [record for record in whole(A) if record.get("when") != left_out]
    assert outcome(read(start(), collected(A), *records, end())) is not TestOutcome.PASSED


def test_test_without_a_teardown_is_running_not_passed() -> None:
    report = read(start(), collected(A), *whole(A)[:-1])
    assert report.results == {}
    assert report.running == A


@pytest.mark.parametrize(
    "phases, expected",
    [
        ([("setup", "passed"), ("call", "passed"), ("teardown", "failed")], TestOutcome.ERROR),
        ([("setup", "passed"), ("call", "failed"), ("teardown", "failed")], TestOutcome.FAILED),
        ([("setup", "failed"), ("teardown", "passed")], TestOutcome.ERROR),
        ([("setup", "skipped"), ("teardown", "passed")], TestOutcome.SKIPPED),
        ([("setup", "skipped"), ("teardown", "failed")], TestOutcome.ERROR),
        ([("setup", "passed"), ("call", "skipped"), ("teardown", "passed")], TestOutcome.SKIPPED),
    ],
)
def test_worst_phase_wins(phases: list[tuple[str, str]], expected: TestOutcome) -> None:
    records = [phase(A, when, how) for when, how in phases]
    report = read(start(), collected(A), {"kind": "begin", "id": A, "number": 3}, *records, end(1))
    assert outcome(report) is expected
    assert not report.odd


@pytest.mark.parametrize(
    "records",
    [
        [start(), collected(A), *whole(A), *whole(A), end()],  # the same test twice
        [start(), collected(A), *whole(B), end()],  # a test that nobody collected
        [start(), collected(A), *whole(A)[1:], end()],  # a report without a beginning
        [start(), collected(A), *whole(A), phase(A, "call"), end()],  # a phase after the teardown
        [start(), collected(A), {"kind": "begin", "id": A, "number": 3}, phase(A, "call"), phase(A, "setup"), end()],
        [start(), collected(A, B), {"kind": "begin", "id": A, "number": 3}, *whole(B), end()],  # one inside the other
        [start(), collected(A), *whole(A), end(nonce="guess")],
        [start(), collected(A), *whole(A), end(), end()],
        [start(), end(), collected(A), *whole(A)],
        [start(), start(), end()],
        [{**start(), "nonce": "guess"}, collected(A), *whole(A), end()],
        [collected(A), *whole(A), end()],
        [start(), collected(A), *whole(A), collected(B), end()],
        [start(), collected(A), *whole(A, "excellent"), end()],
        [start(), collected(A), {"kind": "begin", "id": A, "number": 3}, phase(A, "afterwards"), end()],
        [start(), {"kind": "report"}, end()],
        [start(), {"kind": "take"}, end()],
        [start(), {"kind": ["start"]}, end()],
        [start(), {"kind": "collected", "ids": [1]}, end()],
        [start(), {"kind": "origins", "modules": [["a"]]}, end()],
        [start(), {**end(), "status": True}],
        [start(), {**end(), "status": "0"}],
        [start(), {"kind": "timeout", "number": 3}],
    ],
)  # fmt: skip
def test_odd_records_make_the_report_incomplete(records: list[dict[str, Any]]) -> None:
    report = read(*records)
    assert report.odd
    assert not report.agrees_with(0)


@pytest.mark.parametrize(
    "junk", [b"PASSED", b"{", b"\xff\xfe", b"null", b"[1]", b"[" * 5000, b"1" * 5000, b""]
)
def test_lines_that_are_no_records_make_the_report_incomplete(junk: bytes) -> None:
    raw = lines(start(), collected(A)) + junk + b"\n" + lines(*whole(A), end())
    report = read_channel(raw, NONCE)
    assert report.odd
    assert not report.agrees_with(0)


def test_record_cut_by_the_end_of_the_process_is_no_oddity() -> None:
    report = read_channel(lines(start(), collected(A, B), *whole(A)) + b'{"kind":"beg', NONCE)
    assert (report.odd, report.status, outcome(report)) == ((), None, TestOutcome.PASSED)


def test_record_cut_by_the_watchdog_is_no_oddity_and_the_test_timed_out() -> None:
    timeout = b"\n" + lines({"kind": "timeout", "number": 3})
    for cut in (b"", b'{"kind":"pha'):
        raw = lines(start(), collected(A, B), {"kind": "begin", "id": A, "number": 3}) + cut + timeout
        report = read_channel(raw, NONCE)
        assert (report.odd, report.timed_out, dict(report.results)) == ((), A, {})


def test_test_that_ended_just_before_the_watchdog_struck_still_timed_out() -> None:
    raw = lines(start(), collected(A), *whole(A)) + b"\n" + lines({"kind": "timeout", "number": 3})
    report = read_channel(raw, NONCE)
    assert A not in report.results
    assert report.timed_out == A


def test_failed_part_fails_a_test_that_reports_itself_passed() -> None:
    part = {"kind": "subtest", "id": A, "outcome": "failed", "detail": "part 1"}
    records = whole(A)
    report = read(start(), collected(A), *records[:2], part, *records[2:], end(1))
    assert outcome(report) is TestOutcome.FAILED
    assert report.results[A].detail == "part 1"


def test_file_names_that_are_no_utf8_can_be_stored() -> None:
    name = "t\udcff.py::a"
    report = read(start(), collected(name), *whole(name), end())
    (test,) = report.results
    assert test == "t\\udcff.py::a"
    test.encode()


RECORDS = st.sampled_from(
    [
        start(), collected(A, B), collected(B), *whole(A), *whole(B), phase(A, "call", "failed"),
        phase(A, "setup", "skipped", xfail=True), end(), end(1), {"kind": "timeout", "number": 3},
        {"kind": "rerun", "id": A, "detail": ""}, {"kind": "subtest", "id": A, "outcome": "failed", "detail": ""},
        {"kind": "collecting", "path": "t.py"}, {"kind": "collect_error", "path": "t.py", "detail": ""},
        {"kind": "origins", "modules": []}, {"kind": "broken", "detail": "x"}, {"kind": 1}, {},
    ]
)  # fmt: skip


@given(st.binary(max_size=400))
def test_arbitrary_bytes_raise_nothing_and_pass_nothing(raw: bytes) -> None:
    report = read_channel(raw, NONCE)
    assert dict(report.results) == {}
    assert not report.agrees_with(0)


@settings(max_examples=300)
@given(st.lists(RECORDS, max_size=25), st.integers(0, 3))
def test_records_in_any_order_pass_only_what_was_run_properly(
    records: list[dict[str, Any]], cut: int
) -> None:
    raw = lines(*records)
    report = read_channel(raw[: len(raw) - cut], NONCE)
    for test, result in report.results.items():
        if result.outcome is TestOutcome.PASSED:
            own = [r.get("when") for r in records if r.get("id") == test and r.get("kind") == "phase"]
            assert records[0] == start()
            assert {"setup", "call", "teardown"} <= set(own)
            assert {"kind": "begin", "id": test, "number": NUMBERS[test]} in records
            assert test in (report.collected or ())
    if report.agrees_with(0):
        assert records[-1] == end()
        assert cut <= 1


@given(st.lists(st.integers(0, 255), min_size=1, max_size=3), st.data())
def test_a_flipped_byte_never_turns_a_failure_into_a_pass(noise: list[int], data: st.DataObject) -> None:
    raw = bytearray(lines(start(), collected(A), *whole(A, "failed"), end(1)))
    for value in noise:
        raw[data.draw(st.integers(0, len(raw) - 1))] = value
    report = read_channel(bytes(raw), NONCE)
    assert outcome(report) is not TestOutcome.PASSED
