"""Read a report channel, strictly: what wasn't said properly wasn't said.

The bytes come from a process that runs foreign code, so any content is possible. A test passed only if its
setup, call and teardown each were reported once, in order, as passed. A record that is no record, or
isn't due, makes the report odd, and an odd report is never complete. Code in the same process can forge
all of it (no secret can be kept there); forging is met by canaries and held-out tests, not here.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from swequarry.records import TestId, TestOutcome, TestResult

_SEVERITY = (
    TestOutcome.CRASHED,
    TestOutcome.TIMEOUT,
    TestOutcome.FAILED,
    TestOutcome.ERROR,
    TestOutcome.XPASSED,
    TestOutcome.XFAILED,
    TestOutcome.SKIPPED,
    TestOutcome.PASSED,
)
_MAX_ODD = 20
_PHASES = ("setup", "call", "teardown")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleOrigin:
    """Where a module of the project came from; `inside` tells whether that is the checkout."""

    name: str
    file: str
    inside: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelReport:
    """What one process of a test run said.

    `results` holds finished tests in the order of their end; `running` is the test that had begun and not
    ended when the record stopped, `collecting` the module that was being imported then. `timed_out` is the
    test that the watchdog ended. `status` is the exit status of the end record, None without one.
    `odd` names what a proper recorder doesn't write.
    """

    started: bool = False
    results: Mapping[TestId, TestResult] = field(default_factory=dict)
    collected: tuple[TestId, ...] | None = None
    running: TestId | None = None
    collecting: str | None = None
    timed_out: TestId | None = None
    collection_errors: tuple[tuple[str, str], ...] = ()
    collection_skips: tuple[tuple[str, str], ...] = ()
    absent: tuple[str, ...] = ()
    origins: tuple[ModuleOrigin, ...] = ()
    addopts_found: tuple[str, ...] = ()
    addopts_kept: tuple[str, ...] = ()
    broken: str = ""
    status: int | None = None
    odd: tuple[str, ...] = ()

    def agrees_with(self, exit_code: int | None) -> bool:
        """Whether the report is whole: nothing odd, and ended with the status of the process."""
        return not self.odd and self.status is not None and self.status == exit_code


@dataclass(slots=True)
class _Test:
    """One run of one test; several where a project's ids aren't unique."""

    phases: list[tuple[str, TestOutcome, str]] = field(default_factory=list)
    failed_part: str | None = None

    @property
    def finished(self) -> bool:
        return bool(self.phases) and self.phases[-1][0] == "teardown"

    def result(self, test: TestId) -> TestResult:
        found = [(outcome, detail) for _, outcome, detail in self.phases]
        if self.failed_part is not None:
            found.append((TestOutcome.FAILED, self.failed_part))
        ran = [when for when, _, _ in self.phases]
        outcome, detail = min(found, key=lambda pair: _SEVERITY.index(pair[0]))
        if outcome is TestOutcome.PASSED and ran != list(_PHASES):
            outcome, detail = TestOutcome.ERROR, f"phases reported: {', '.join(ran)}"
        return TestResult(id=test, outcome=outcome, detail=detail)


class _OddError(Exception):
    """A record that a proper recorder doesn't write."""


class _Reader:
    """The state that records build up; one method per kind of record."""

    def __init__(self, nonce: str) -> None:
        self.nonce = nonce
        self.started = False
        self.tests: dict[TestId, list[_Test]] = {}
        self.numbers: dict[int, TestId] = {}
        self.finished: dict[TestId, None] = {}
        self.collected: list[TestId] | None = None
        self.known: Counter[TestId] = Counter()
        self.running: TestId | None = None
        self.collecting: str | None = None
        self.timed_out: TestId | None = None
        self.errors: list[tuple[str, str]] = []
        self.skips: list[tuple[str, str]] = []
        self.absent: tuple[str, ...] = ()
        self.origins: list[ModuleOrigin] = []
        self.addopts: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        self.broken = ""
        self.status: int | None = None
        self.odd: list[str] = []

    def take(self, record: dict[str, Any] | None) -> None:
        if record is None:
            raise _OddError("no JSON object")
        kind = _text(record, "kind")
        if not self.started and kind != "start":
            raise _OddError(f"`{kind}` before the start")
        if self.status is not None or (self.timed_out is not None):
            raise _OddError(f"`{kind}` after the end")
        handler = getattr(self, f"on_{kind}", None)
        if handler is None:
            raise _OddError(f"unknown kind `{kind}`")
        handler(record)

    def on_start(self, record: dict[str, Any]) -> None:
        if self.started or record.get("nonce") != self.nonce:
            raise _OddError("a start that isn't of this run")
        self.started = True
        self.absent = _texts(record, "absent")

    def on_addopts(self, record: dict[str, Any]) -> None:
        self.addopts = (_texts(record, "found"), _texts(record, "kept"))

    def on_broken(self, record: dict[str, Any]) -> None:
        self.broken = _text(record, "detail")

    def on_collecting(self, record: dict[str, Any]) -> None:
        self.collecting = _text(record, "path") or None

    def on_collect_error(self, record: dict[str, Any]) -> None:
        self.errors.append((_text(record, "path"), _text(record, "detail")))

    def on_collect_skip(self, record: dict[str, Any]) -> None:
        self.skips.append((_text(record, "path"), _text(record, "detail")))

    def on_collected(self, record: dict[str, Any]) -> None:
        ids = [TestId(test) for test in _texts(record, "ids")]
        if self.tests:
            raise _OddError("tests collected after the first began")
        self.collected = (self.collected or []) + ids
        self.known.update(ids)

    def on_origins(self, record: dict[str, Any]) -> None:
        self.collected = self.collected or []
        self.collecting = None
        for entry in record.get("modules") or ():
            match entry:
                case [str(name), str(file), bool(inside)]:
                    self.origins.append(ModuleOrigin(name=name, file=file, inside=inside))
                case _:
                    raise _OddError("an origin of another form")

    def on_begin(self, record: dict[str, Any]) -> None:
        test = TestId(_text(record, "id"))
        if test not in self.known:
            raise _OddError(f"{test} began without being collected")
        if self.running is not None and not self.tests[self.running][-1].finished:
            raise _OddError(f"{test} began before {self.running} ended")
        if len(self.tests.get(test, ())) == self.known[test]:
            raise _OddError(f"{test} began once too often")
        self.tests.setdefault(test, []).append(_Test())
        self.numbers[_number(record, "number")] = test
        self.running = test

    def on_phase(self, record: dict[str, Any]) -> None:
        test, entry = self._current(record)
        when, outcome = _text(record, "when"), _text(record, "outcome")
        done = [phase for phase, _, _ in entry.phases]
        if when not in _PHASES or (done and _PHASES.index(when) <= _PHASES.index(done[-1])):
            raise _OddError(f"{test}: phase {when} after {done}")
        meant = _phase_outcome(when, outcome, expected=record.get("xfail") is True)
        entry.phases.append((when, meant, _text(record, "detail")))
        if when == "teardown":
            self.finished[test] = None

    def on_rerun(self, record: dict[str, Any]) -> None:
        """A plugin runs a failed test again: it failed, whatever comes of that."""
        _, entry = self._current(record)
        entry.phases.clear()
        entry.failed_part = f"failed once and was run again: {_text(record, 'detail')}"

    def on_subtest(self, record: dict[str, Any]) -> None:
        """A part of a unittest or pytest subtest: a failed one fails its test, others say nothing."""
        _, entry = self._current(record)
        if _text(record, "outcome") == "failed" and entry.failed_part is None:
            entry.failed_part = _text(record, "detail")

    def on_timeout(self, record: dict[str, Any]) -> None:
        test = self.numbers.get(_number(record, "number"))
        if test is None:
            raise _OddError("a test timed out without having begun")
        self.timed_out = test

    def on_end(self, record: dict[str, Any]) -> None:
        if record.get("nonce") != self.nonce:
            raise _OddError("an end that isn't of this run")
        self.status = _number(record, "status")

    def _current(self, record: dict[str, Any]) -> tuple[TestId, _Test]:
        test = TestId(_text(record, "id"))
        if test != self.running or self.tests[test][-1].finished:
            raise _OddError(f"a report of {test}, which isn't running")
        return test, self.tests[test][-1]

    def _worst(self, test: TestId) -> TestResult:
        results = [entry.result(test) for entry in self.tests[test]]
        return min(results, key=lambda result: _SEVERITY.index(result.outcome))

    def report(self) -> ChannelReport:
        late = self.timed_out
        running = self.running
        if running is not None and self.tests[running][-1].finished and running != late:
            running = None
        return ChannelReport(
            started=self.started,
            results={t: self._worst(t) for t in self.finished if t not in (late, running)},
            collected=None if self.collected is None else tuple(self.collected),
            running=running,
            collecting=self.collecting,
            timed_out=late,
            collection_errors=tuple(self.errors),
            collection_skips=tuple(self.skips),
            absent=self.absent,
            origins=tuple(self.origins),
            addopts_found=self.addopts[0],
            addopts_kept=self.addopts[1],
            broken=self.broken,
            status=self.status,
            odd=tuple(self.odd[:_MAX_ODD]),
        )


def read_channel(raw: bytes, nonce: str) -> ChannelReport:
    """Return what a channel says; never raises, whatever the bytes are."""
    reader = _Reader(nonce)
    lines = raw.split(b"\n")
    cut = lines.pop()
    for number, record in _records(lines):
        try:
            reader.take(record)
        except _OddError as odd:
            reader.odd.append(f"line {number}: {odd}")
    if cut and reader.status is not None:
        reader.odd.append("text after the end")
    return reader.report()


def _records(lines: list[bytes]) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield (line number, record), None for a line that is none.

    The watchdog begins with a line end, because the process that it stopped may have been writing: what
    stands right before its record may be empty or cut.
    """
    records = [_record(line) for line in lines]
    for number, record in enumerate(records, start=1):
        following = records[number] if number < len(records) else None
        if record is None and following is not None and following.get("kind") == "timeout":
            continue
        yield number, record


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _phase_outcome(when: str, outcome: str, *, expected: bool) -> TestOutcome:
    match outcome, expected:
        case "passed", False:
            return TestOutcome.PASSED
        case "passed", True:
            return TestOutcome.XPASSED
        case "skipped", True:
            return TestOutcome.XFAILED
        case "skipped", False:
            return TestOutcome.SKIPPED
        case "failed", _:
            return TestOutcome.FAILED if when == "call" else TestOutcome.ERROR
        case _:
            raise _OddError(f"unknown outcome `{outcome}`")


def _text(record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise _OddError(f"`{name}` isn't text")
    return _printable(value)


def _number(record: dict[str, Any], name: str) -> int:
    value = record.get(name)
    if type(value) is not int:
        raise _OddError(f"`{name}` isn't a number")
    return value


def _texts(record: dict[str, Any], name: str) -> tuple[str, ...]:
    values = record.get(name)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise _OddError(f"`{name}` isn't a list of texts")
    return tuple(_printable(value) for value in values)


def _printable(value: str) -> str:
    """Show bytes that are no UTF-8 (file names, as Python hands them on) in a form that can be stored."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8")
