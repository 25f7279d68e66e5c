from datetime import UTC, datetime

import pytest
from verify_worlds import LIMITS, WORLD

from swequarry.records import Perturbation
from swequarry.sandbox.contract import EndedBy, ExecResult
from swequarry.verify.perturbations import Clock, conditions, find_clock

P = Perturbation
NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "leap_day"),
    [(NOW, "2028-02-29 12:00"), (datetime(2028, 3, 1, tzinfo=UTC), "2032-02-29 12:00"), (datetime(2096, 3, 1, tzinfo=UTC), "2104-02-29 12:00")],
)  # fmt: skip
def test_leap_day_is_the_next_one(now, leap_day):
    offset_s = Clock(now=now).offset_s(P.LEAP_DAY)
    assert datetime.fromtimestamp(now.timestamp() + offset_s, UTC).strftime("%Y-%m-%d %H:%M") == leap_day


def answer(output: bytes):
    class Backend:
        def run_once(self, *_args):
            return ExecResult(exit_code=0, ended_by=EndedBy.EXITED, output=output, report=b"")

    return Backend()


def test_library_that_fakes_nothing_isnt_used():
    assert find_clock(answer(b"2026-11\n"), WORLD, LIMITS, NOW).library is None
    clock = find_clock(answer(b"2027-12\n"), WORLD, LIMITS, NOW)
    how = conditions([P.YEAR_AHEAD], clock, 1)
    assert [tap.wrap for tap in how.taps] == ["sleeping"]
    assert how.variables["LD_PRELOAD"] == clock.library
    assert how.variables["FAKETIME"] == "+31622400"
