"""A channel for people and for graders that read logs: one line for each test, as unittest's runner has it.

Runs under Python 3.6 and later; see the package's docstring.

Each line is written whole, at the end of its test, with a line end before it: what the tests print
can't get into it. The words are those of the text runner.
"""
# ruff: noqa: D102, S112

import os
import random
import sys

WORDS = {
    ("passed", False): "ok",
    ("passed", True): "FAIL",  # an unexpected success fails a run of unittest
    ("skipped", False): "skipped %r",
    ("skipped", True): "expected failure",
}


class PrintedChannel:
    """Takes the records that the pipe of a verification would get."""

    def __init__(self):
        self.fd = os.dup(1)
        self.word = ""

    def keep(self, kind, **fields):
        self.send(kind, **fields)

    def send(self, kind, **fields):
        if kind == "begin":
            self.word = ""
        elif kind in ("collect_error", "broken"):
            self.write("ERROR: %s %s" % (fields.get("path") or "runner", fields["detail"]))
        elif kind == "phase":
            self.phase(**fields)

    def phase(self, id, when, outcome, xfail, detail, error):  # noqa: A002, ARG002
        if outcome == "failed" and self.word not in ("FAIL", "ERROR"):
            self.word = "FAIL" if when == "call" else "ERROR"
        elif not self.word and (when == "call" or outcome != "passed"):
            word = WORDS[(outcome, xfail)]
            self.word = word % detail if "%" in word else word
        if when == "teardown":
            self.write("%s ... %s" % (id, self.word or "ERROR"))

    def write(self, line):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                continue
        data = ("\n" + line.replace("\n", " ") + "\n").encode("utf-8", "backslashreplace")
        while data:
            data = data[os.write(self.fd, data) :]


def print_run(config, session_class, adapter):
    """Run the files of the command line with an adapter; never returns."""
    session = session_class(config, PrintedChannel(), lambda _number: None)
    files = [path for path in sys.argv[1:] if os.path.exists(path)]
    sys.path[0] = os.getcwd()
    random.seed(config["seed"])
    session.end(adapter(session, files) if files else 5)
