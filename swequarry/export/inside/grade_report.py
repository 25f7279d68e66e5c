"""Read the report of a run: which tests passed, which one was running when it ended, whether it is sound.

Shipped in exported tasks beside `grade.py`; runs under Python 3.6 and later. It takes what
`swequarry.verify.inside.channel` writes and accepts less than `swequarry.verify.report`: a test that did
anything but pass has simply not passed.
"""
# ruff: noqa: D102, D103

import json

PHASES = ["setup", "call", "teardown"]
KNOWN = {"addopts", "broken", "collecting", "collect_error", "collect_skip", "origins"}


class UnsoundError(Exception):
    """A record that a proper recorder doesn't write."""


def printable(value):
    if not isinstance(value, str):
        raise UnsoundError("an id that isn't text")
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


class Report:
    """What the records of one process add up to.

    `passed` are ids of tests all of whose runs passed in every phase, `finished` those that ended, `running`
    the one that didn't. `whole` is whether the process reached its end and said so.
    """

    def __init__(self, nonce):
        self.nonce = nonce
        self.known = {}
        self.runs = {}
        self.numbers = {}
        self.running = None
        self.started = self.ended = False
        self.status = None

    def take(self, record):
        kind = record.get("kind")
        if self.ended or (not self.started and kind != "start"):
            raise UnsoundError("%r out of place" % kind)
        if kind in KNOWN:
            return
        handler = getattr(self, "on_%s" % kind, None)
        if handler is None:
            raise UnsoundError("unknown kind %r" % kind)
        handler(record)

    def on_start(self, record):
        if self.started or record.get("nonce") != self.nonce:
            raise UnsoundError("a start that isn't of this run")
        self.started = True

    def on_collected(self, record):
        if self.runs:
            raise UnsoundError("tests collected after the first began")
        for test in record.get("ids") or ():
            self.known[printable(test)] = self.known.get(printable(test), 0) + 1

    def on_begin(self, record):
        test = printable(record.get("id"))
        if self.running is not None or len(self.runs.get(test, ())) >= self.known.get(test, 0):
            raise UnsoundError("%r began out of place" % test)
        self.runs.setdefault(test, []).append([])
        if type(record.get("number")) is not int:
            raise UnsoundError("%r has no number" % test)
        self.numbers[record["number"]] = test
        self.running = test

    def on_phase(self, record):
        done = self._current(record)
        when = record.get("when")
        if record.get("outcome") not in ("passed", "failed", "skipped"):
            raise UnsoundError("%r: unknown outcome" % self.running)
        if when not in PHASES[len(done) and PHASES.index(done[-1][0]) + 1 :]:
            raise UnsoundError("%r: phase %r out of place" % (self.running, when))
        done.append((when, record.get("outcome") == "passed" and record.get("xfail") is False))
        if when == "teardown":
            self.running = None

    def on_rerun(self, record):
        """A plugin runs a failed test again: it failed, whatever comes of that."""
        self._current(record)[:] = []
        self.runs[self.running].insert(0, [])

    def on_subtest(self, record):
        if self._current(record) is not None and record.get("outcome") == "failed":
            self.runs[self.running].insert(0, [])

    def on_timeout(self, record):
        self.running = self.numbers.get(record.get("number"))
        if self.running is None:
            raise UnsoundError("a test timed out without having begun")
        self.ended = True

    def on_end(self, record):
        if record.get("nonce") != self.nonce or self.running is not None:
            raise UnsoundError("an end that isn't of this run")
        self.status, self.ended = record.get("status"), True

    def _current(self, record):
        if self.running is None or printable(record.get("id")) != self.running:
            raise UnsoundError("a report of a test that isn't running")
        return self.runs[self.running][-1]

    @property
    def finished(self):
        return {test for test in self.runs if test != self.running}

    @property
    def passed(self):
        good = [(name, True) for name in PHASES]
        return {test for test in self.finished if all(run == good for run in self.runs[test])}


def read_report(raw, nonce, exit_code):
    """Return the report of a process; raises UnsoundError for what no proper run writes."""
    report = Report(nonce)
    lines = raw.split(b"\n")
    records = []
    for line in lines[:-1]:
        try:
            record = json.loads(line.decode("ascii"))
        except ValueError:
            record = None
        records.append(record if isinstance(record, dict) else None)
    for place, record in enumerate(records):
        following = records[place + 1] if place + 1 < len(records) else None
        if record is None and following and following.get("kind") == "timeout":
            continue  # the watchdog stopped the process while it was writing
        if record is None:
            raise UnsoundError("a line that is no record")
        report.take(record)
    if report.status is not None and report.status != exit_code:
        raise UnsoundError("the process ended with %s and reported %s" % (exit_code, report.status))
    return report
