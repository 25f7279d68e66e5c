"""How the processes of a run are put together: limits and kills never turn into verdicts silently."""

from dataclasses import replace

import pytest

from swequarry.errors import SandboxError
from swequarry.records import TestId, TestOutcome, TestResult
from swequarry.sandbox.contract import EndedBy, ExecResult
from swequarry.verify.passes import Progress, RunProblem
from swequarry.verify.report import ChannelReport

A, B, C = (TestId(f"t.py::{name}") for name in "abc")
PASSED = TestOutcome.PASSED
END = ExecResult(exit_code=0, ended_by=EndedBy.EXITED, output=b"", report=b"")
KILLED = ExecResult(exit_code=137, ended_by=EndedBy.SIGNALLED, output=b"", report=b"")


def channel(running: TestId | None = None, status: int | None = None, **ended: TestOutcome) -> ChannelReport:
    ids = {"a": A, "b": B, "c": C}
    results = {ids[n]: TestResult(id=ids[n], outcome=outcome) for n, outcome in ended.items()}
    return ChannelReport(started=True, collected=(A, B, C), results=results, running=running, status=status)


def outcomes(progress: Progress) -> list[str]:
    return [result.outcome.value for result in progress.report().results]


def test_child_killed_for_memory_puts_only_failing_tests_of_that_process_in_doubt() -> None:
    progress = Progress(["t.py"])
    progress.add(channel(None, 0, a=PASSED, b=TestOutcome.FAILED, c=PASSED), replace(END, memory_events=1))
    assert progress.suspects == {B}
    assert list(progress.problems) == [RunProblem.MEMORY_LIMIT]
    assert not progress.report().complete


@pytest.mark.parametrize("ended_by", [EndedBy.MEMORY_LIMIT, EndedBy.PROCESS_LIMIT])
def test_process_ended_by_a_limit_puts_its_test_in_doubt_and_the_rest_is_run(ended_by: EndedBy) -> None:
    progress = Progress(["t.py"])
    progress.add(channel(B, None, a=PASSED), replace(KILLED, exit_code=None, ended_by=ended_by))
    assert progress.again
    assert progress.suspects == {B}
    progress.add(replace(channel(None, 0, c=PASSED), collected=(C,)), END)
    assert outcomes(progress) == ["passed", "crashed", "passed"]
    assert not progress.again


def test_kill_with_a_memory_event_is_doubtful_at_once() -> None:
    progress = Progress(["t.py"])
    progress.add(channel(B, None, a=PASSED), replace(KILLED, memory_events=1))
    assert progress.suspects == {B}
    assert outcomes(progress) == ["passed", "crashed", "not_run"]


def test_unexplained_kill_without_a_test_is_the_machinery() -> None:
    with pytest.raises(SandboxError, match="killed from outside"):
        Progress(["t.py"]).add(channel(None, None, a=PASSED), KILLED)


def test_kills_at_two_different_tests_are_the_machinery() -> None:
    progress = Progress(["t.py"])
    progress.add(channel(A), KILLED)
    assert progress.again
    with pytest.raises(SandboxError, match="killed from outside"):
        progress.add(channel(B, None, a=PASSED), KILLED)


def test_second_kill_at_the_same_test_is_its_own() -> None:
    progress = Progress(["t.py"])
    progress.add(channel(A), KILLED)
    progress.add(channel(A), KILLED)
    assert outcomes(progress) == ["crashed", "not_run", "not_run"]
    assert progress.again


def test_status_that_differs_from_the_reported_one_is_not_trusted() -> None:
    progress = Progress(["t.py"])
    progress.add(channel(None, 0, a=PASSED, b=PASSED, c=PASSED), replace(END, exit_code=1))
    assert list(progress.problems) == [RunProblem.UNSOUND_REPORT]
    assert not progress.again


def test_process_that_ends_well_without_saying_so_is_not_trusted() -> None:
    progress = Progress(["t.py"])
    progress.add(channel(None, None, a=PASSED, b=PASSED, c=PASSED), END)
    assert list(progress.problems) == [RunProblem.UNSOUND_REPORT]


@pytest.mark.parametrize("limit", [EndedBy.OUTPUT_LIMIT, EndedBy.DISK_LIMIT])
def test_limit_of_output_or_disk_stops_the_run(limit: EndedBy) -> None:
    progress = Progress(["t.py"])
    progress.add(channel(A), replace(KILLED, exit_code=None, ended_by=limit))
    assert not progress.again
    assert progress.suspects == {A}


def test_run_that_gets_nowhere_is_not_repeated_for_ever() -> None:
    progress = Progress(["t.py"])
    progress.add(channel(None, 2, a=PASSED), replace(END, exit_code=2))
    assert progress.again
    progress.add(channel(None, 2), replace(END, exit_code=2))
    assert not progress.again
    assert outcomes(progress) == ["passed", "not_run", "not_run"]


def test_process_that_never_reported_is_the_machinery() -> None:
    with pytest.raises(SandboxError, match="status 127"):
        Progress(["t.py"]).add(ChannelReport(), replace(END, exit_code=127, output=b"no such file"))
