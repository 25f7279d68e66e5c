"""Put the processes of one test run together: after a crash the remaining tests are run apart."""

import re
import signal
from collections.abc import Iterable
from enum import StrEnum

from swequarry.errors import SandboxError
from swequarry.records import TestId, TestOutcome, TestReport, TestResult
from swequarry.sandbox.contract import TESTBED, EndedBy, ExecResult
from swequarry.verify.report import ChannelReport, ModuleOrigin

FAILING = frozenset({TestOutcome.FAILED, TestOutcome.ERROR, TestOutcome.CRASHED, TestOutcome.TIMEOUT})
"""Outcomes of a test that ran and didn't do what it should."""
_KILLED = 128 + signal.SIGKILL
_CONFTEST = re.compile(r"ImportError while loading conftest '(.+?)'")


class RunProblem(StrEnum):
    """What went wrong with a run as a whole, apart from what its tests say."""

    MEMORY_LIMIT = "memory_limit"
    PROCESS_LIMIT = "process_limit"
    WALL_LIMIT = "wall_limit"
    OUTPUT_LIMIT = "output_limit"
    DISK_LIMIT = "disk_limit"
    UNSOUND_REPORT = "unsound_report"
    USAGE_ERROR = "usage_error"
    INTERNAL_ERROR = "internal_error"
    NO_TESTS = "no_tests"


LIMIT_PROBLEMS = {
    EndedBy.MEMORY_LIMIT: RunProblem.MEMORY_LIMIT,
    EndedBy.PROCESS_LIMIT: RunProblem.PROCESS_LIMIT,
    EndedBy.OUTPUT_LIMIT: RunProblem.OUTPUT_LIMIT,
    EndedBy.DISK_LIMIT: RunProblem.DISK_LIMIT,
    EndedBy.WALL_LIMIT: RunProblem.WALL_LIMIT,
}
CUT_OFF = "ended by the wall limit"
"""What is said of a file whose import met the time limit of the whole run: it is slow, which isn't broken."""
_STATUS_PROBLEM = {3: RunProblem.INTERNAL_ERROR, 4: RunProblem.USAGE_ERROR, 5: RunProblem.NO_TESTS}
"""Exit statuses of pytest that tell about the run, not about tests, if nothing was collected."""


class Progress:
    """What is known after some processes of a run.

    A test is settled once it finished, crashed or timed out. A process that was killed by SIGKILL while no
    limit and no watchdog did it may have been killed by its own test or from outside; so its test is
    run once more, and only a second death there is the test's.
    """

    def __init__(self, targets: Iterable[str], framework: str = "pytest") -> None:
        self.framework = framework
        self.targets = list(targets)
        self.settled: dict[TestId, TestResult] = {}
        self.collected: dict[TestId, None] = {}
        self.errors: dict[str, str] = {}
        self.skips: dict[str, str] = {}
        self.origins: dict[str, ModuleOrigin] = {}
        self.addopts: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        self.problems: dict[RunProblem, None] = {}
        self.suspects: set[TestId] = set()
        self.evidence: list[str] = []
        self.first: ExecResult | None = None
        self.memory_events = 0
        self.process_events = 0
        self.again = False
        self._doubt: str | None = None

    def add(self, channel: ChannelReport, result: ExecResult) -> None:
        """Take in one process; `again` then tells whether another one has something left to run.

        Raises:
            SandboxError: the process was killed from outside, or never began to report.
        """
        self.first = self.first or result
        known = len(self.settled) + len(self.errors)
        doubt = self._doubt
        self._take_facts(channel, result)
        self._judge_end(channel, result)
        if doubt is not None and self._doubt == doubt and doubt in self.settled:
            raise SandboxError(f"the run was killed from outside at {doubt}, which ended well when run again")
        moved = len(self.settled) + len(self.errors) > known or self._doubt not in (None, doubt)
        stopped = self.problems.keys() & {
            RunProblem.WALL_LIMIT,
            RunProblem.OUTPUT_LIMIT,
            RunProblem.DISK_LIMIT,
            RunProblem.UNSOUND_REPORT,
        }
        # ids that this process didn't make (they change in each) can't be run by the next one either
        left = any(test not in self.settled for test in channel.collected or ())
        left = left or bool(channel.collected is None and channel.collecting and self.targets)
        self.again = bool(moved and left and not stopped)

    def unsettled(self) -> list[TestId]:
        """Return the collected tests of which nothing is known."""
        return [test for test in self.collected if test not in self.settled]

    def report(self) -> TestReport:
        """Return the run's report, tests in the order of their collection."""
        results = [
            self.settled.get(test) or TestResult(id=test, outcome=TestOutcome.NOT_RUN)
            for test in self.collected
        ]
        unfinished = self.problems.keys() & {*LIMIT_PROBLEMS.values(), RunProblem.UNSOUND_REPORT}
        return TestReport(
            framework=self.framework,
            results=tuple(results),
            collected=tuple(self.collected),
            collection_errors=tuple(self.errors.items()),
            collection_skips=tuple(self.skips.items()),
            complete=not unfinished and not self.unsettled(),
            exit_status=self.first.exit_code if self.first else None,
            ended_by=self.first.ended_by.value if self.first else EndedBy.EXITED.value,
        )

    # --- one process ------------------------------------------------------------------------------------

    def _take_facts(self, channel: ChannelReport, result: ExecResult) -> None:
        self.memory_events += result.memory_events
        self.process_events += result.process_events
        self.collected.update(dict.fromkeys(channel.collected or ()))
        self.errors.update(channel.collection_errors)
        self.skips.update(channel.collection_skips)
        self.origins.update({origin.name: origin for origin in channel.origins})
        self.addopts = (channel.addopts_found, channel.addopts_kept)
        self.settled.update(channel.results)
        if channel.timed_out is not None:
            self._settle(channel.timed_out, TestOutcome.TIMEOUT, "the time limit of one test")
        events = {
            RunProblem.MEMORY_LIMIT: result.memory_events,
            RunProblem.PROCESS_LIMIT: result.process_events,
        }
        for problem in (problem for problem, count in events.items() if count):
            self.problems[problem] = None
            self.suspects.update(t for t, r in channel.results.items() if r.outcome in FAILING)

    def _judge_end(self, channel: ChannelReport, result: ExecResult) -> None:
        if result.ended_by in LIMIT_PROBLEMS:
            self._ended_by_limit(channel, result)
        elif not channel.started:
            raise SandboxError(
                f"the test run ended with status {result.exit_code} before it began to report: "
                f"{_last_lines(result.output)}"
            )
        elif channel.odd:
            self._distrust(channel.odd)
        elif channel.timed_out is not None:
            return
        elif channel.status is None:
            self._died(channel, result)
        elif not channel.agrees_with(result.exit_code):
            self._distrust((f"status {channel.status} was reported, {result.exit_code} was seen",))
        else:
            self._ended(channel, channel.status, result)

    def _ended_by_limit(self, channel: ChannelReport, result: ExecResult) -> None:
        problem = LIMIT_PROBLEMS[result.ended_by]
        self.problems[problem] = None
        where = channel.running or channel.collecting or "the start"
        self.evidence.append(f"{problem.value} while at {where}")
        if channel.running is None:
            if channel.collecting is not None:
                ended = f"ended by the {problem.value.replace('_', ' ')}"
                self._blame_module(channel.collecting, CUT_OFF if problem is RunProblem.WALL_LIMIT else ended)
        elif problem is RunProblem.WALL_LIMIT:
            self._settle(channel.running, TestOutcome.TIMEOUT, "the time limit of the whole run")
        else:
            self._settle(channel.running, TestOutcome.CRASHED, f"ended by the {problem.value}")
        if channel.running is not None:
            self.suspects.add(channel.running)

    def _ended(self, channel: ChannelReport, status: int, result: ExecResult) -> None:
        if channel.running is not None:
            self._settle(channel.running, TestOutcome.CRASHED, f"ended the run (status {status})")
        if channel.collected is None and channel.collecting is not None:
            self._blame_module(channel.collecting, f"it ended the run while being imported (status {status})")
            return
        problem = _STATUS_PROBLEM.get(status)
        if problem is None or self.collected or (self.errors and problem is RunProblem.NO_TESTS):
            return
        self.problems[problem] = None
        if problem is not RunProblem.NO_TESTS:
            path, reason = _start_failure(channel, result.output)
            self.errors[path] = reason
            self.evidence.append(f"{self.framework} ended with status {status}: {reason}")

    def _died(self, channel: ChannelReport, result: ExecResult) -> None:
        culprit = channel.running or (channel.collecting if channel.collected is None else None)
        unexplained = result.exit_code in (None, _KILLED) and not result.memory_events
        if unexplained and (culprit is None or culprit != self._doubt):
            if culprit is None or self._doubt is not None:
                raise SandboxError(f"the run was killed from outside at {culprit or 'no test'}")
            self._doubt = culprit
            return
        self._doubt = None
        how = _how(result.exit_code)
        if channel.running is not None:
            self._settle(channel.running, TestOutcome.CRASHED, how)
            if result.memory_events:
                self.suspects.add(channel.running)
        elif culprit is not None:
            self._blame_module(culprit, f"the interpreter ended while importing it ({how})")
        elif channel.collected is None:
            self.errors[""] = f"the interpreter ended before any test was collected ({how})"
        elif not self.unsettled():
            self._distrust((f"no end was reported ({how})",))

    def _blame_module(self, path: str, reason: str) -> None:
        self.errors[path] = reason
        self.targets = [target for target in self.targets if target != path]

    def _settle(self, test: TestId, outcome: TestOutcome, detail: str) -> None:
        self.settled[test] = TestResult(id=test, outcome=outcome, detail=detail)

    def _distrust(self, reasons: Iterable[str]) -> None:
        self.problems[RunProblem.UNSOUND_REPORT] = None
        self.evidence.extend(reasons)


def _how(exit_code: int | None) -> str:
    if exit_code is not None and exit_code > 128:  # noqa: PLR2004 (128 + signal, as shells do)
        try:
            return f"signal {signal.Signals(exit_code - 128).name}"
        except ValueError:
            pass
    return f"exit status {exit_code}"


def _start_failure(channel: ChannelReport, output: bytes) -> tuple[str, str]:
    """Return (path, reason) for a pytest that couldn't start; the path is empty where none is to blame."""
    if channel.broken:
        return "", channel.broken
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    conftest = next((found for line in lines if (found := _CONFTEST.search(line))), None)
    path = conftest.group(1).removeprefix(f"{TESTBED}/") if conftest else ""
    errors = [line for line in lines if line.startswith("E ")]
    errors = errors or [line for line in lines if ": error: " in line]
    errors = errors or [line for line in lines if line.startswith(("ERROR:", "INTERNALERROR>"))]
    reason = (errors or lines or ["the test runner said nothing"])[-1]
    return path, reason.removeprefix("E ").strip()[:400]


def _last_lines(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return " | ".join(lines[-3:]) or "no output"
