"""Note which lines of some files the tests run, which test runs which, and where each of some lines leads to.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring.

Only frames of these files are followed line by line. What is found goes out as one marked line of output,
because it is no part of a report: nobody is judged by it. Where tests start processes of their own, or
take the tracing away, more may have run than is seen, which is said.

What runs while a module is imported, or while a test is set up or torn down, may serve other tests too: such
lines are `shared`.
"""
# ruff: noqa: D102

import base64
import json
import os
import sys
import threading
import time
import zlib

ENTRY, EXIT = -1, -2
STARTS = frozenset(["os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system"])
HARMLESS = frozenset(["cc", "file", "gcc", "git", "ld", "ldconfig", "lsb_release", "stty", "tput", "uname"])


class Traced:
    """What was seen so far: arcs by file, as pairs of line numbers, and the tests that ran each line."""

    def __init__(self, wanted):
        self.wanted = {os.path.realpath(path): path for path in wanted}
        self.lines = {path: frozenset(lines) for path, lines in wanted.items()}
        self.arcs = {path: set() for path in wanted}
        self.now = {path: set() for path in wanted}
        self.reach = {path: {} for path in wanted}
        self.shared = {path: set() for path in wanted}
        self.tests = []
        self.seconds = []
        self.clock, self.began = time.perf_counter, 0.0
        self.known = {}
        self.whole = hasattr(sys, "addaudithook")

    def find(self, name):
        path = self.wanted.get(os.path.realpath(name))
        self.known[name] = path
        return path

    def begin(self, frame, event, arg):  # noqa: ARG002
        name = frame.f_code.co_filename
        path = self.known[name] if name in self.known else self.find(name)
        return None if path is None else follow(self.arcs[path], self.now[path])

    def turn(self, test=None, shared=True):  # noqa: FBT002
        """Book what ran since the last turn: on the newest test if one runs, and as shared if it may be."""
        for path, lines in self.now.items():
            kept = lines & self.lines[path]
            lines.clear()
            if shared:
                self.shared[path] |= kept
            for line in kept if self.tests and self.began else ():
                self.reach[path].setdefault(line, set()).add(len(self.tests) - 1)
        if test is not None:
            self.tests.append(test)
            self.began = self.clock()

    def close(self):
        """Book what ran in the tear-down of the newest test, which ends."""
        self.turn()
        self.seconds.append(round(self.clock() - self.began, 3))
        self.began = 0.0

    def hear(self, event, args):
        if event in STARTS:
            self.whole = False
        elif event == "subprocess.Popen":
            program = args[0] or (args[1][0] if args[1] else "")
            if os.path.basename(os.fsdecode(program)) not in HARMLESS:
                self.whole = False

    def start(self):
        if hasattr(sys, "addaudithook"):
            sys.addaudithook(self.hear)
        self.function = self.begin
        threading.settrace(self.function)
        sys.settrace(self.function)

    def stop(self):
        self.whole = self.whole and sys.gettrace() is self.function
        sys.settrace(None)
        threading.settrace(None)


def follow(arcs, lines):
    """Return a function that follows one frame."""
    last, raised = ENTRY, False

    def local(frame, event, arg):  # noqa: ARG001
        nonlocal last, raised
        if event == "line":
            arcs.add((last, frame.f_lineno))
            lines.add(frame.f_lineno)
            last, raised = frame.f_lineno, False
        elif event == "exception":
            raised = True
        elif event == "return" and not raised:
            arcs.add((last, EXIT))
        return local

    return local


def tracing(settings, adapter):
    """Return an adapter that traces the lines of `settings["lines"]`, a list for each file."""
    wanted = settings["lines"]

    def run_tracing(session, files):
        traced, out, begin, phase, end = Traced(wanted), os.dup(1), session.begin, session.phase, session.end

        def tell_begin(test):
            traced.turn(test)
            begin(test)

        def tell_phase(test, when, outcome, xfail=False, detail="", error=""):  # noqa: FBT002
            if when == "teardown":
                traced.close()
            else:
                traced.turn(shared=when == "setup")
            phase(test, when, outcome, xfail, detail, error)

        def tell_end(status):
            traced.stop()
            found = {}
            for path, lines in wanted.items():
                kept = frozenset(lines)
                found[path] = sorted(arc for arc in traced.arcs[path] if kept.intersection(arc))
            told = {"arcs": found, "whole": traced.whole, "tests": traced.tests, "seconds": traced.seconds}
            told["reach"] = {
                path: {line: sorted(tests) for line, tests in lines.items()}
                for path, lines in traced.reach.items()
            }
            told["shared"] = {path: sorted(lines) for path, lines in traced.shared.items()}
            packed = base64.b64encode(zlib.compress(json.dumps(told).encode("ascii")))
            data = b"\n" + settings["mark"].encode("ascii") + packed + b"\n"
            while data:
                data = data[os.write(out, data) :]
            end(status)

        session.begin, session.phase, session.end = tell_begin, tell_phase, tell_end
        try:
            import pytest  # noqa: F401, PLC0415 (following its own modules while they load takes long)
        except BaseException:
            pass
        traced.start()
        return adapter(session, files)

    return run_tracing
