"""Note which lines of some files the tests run, and where each of some lines leads to.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring.

Only frames of these files are followed line by line. What is found goes out as one marked line of output,
because it is no part of a report: nobody is judged by it. Where tests start processes of their own, or
take the tracing away, more may have run than is seen, which is said.
"""
# ruff: noqa: D102

import json
import os
import sys
import threading

ENTRY, EXIT = -1, -2
STARTS = frozenset(["os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system"])
HARMLESS = frozenset(["cc", "file", "gcc", "git", "ld", "ldconfig", "lsb_release", "stty", "tput", "uname"])


class Traced:
    """What was seen so far: arcs by file, as pairs of line numbers."""

    def __init__(self, wanted):
        self.wanted = {os.path.realpath(path): path for path in wanted}
        self.arcs = {path: set() for path in wanted}
        self.known = {}
        self.whole = hasattr(sys, "addaudithook")

    def find(self, name):
        path = self.wanted.get(os.path.realpath(name))
        self.known[name] = None if path is None else self.arcs[path]
        return self.known[name]

    def begin(self, frame, event, arg):  # noqa: ARG002
        name = frame.f_code.co_filename
        arcs = self.known[name] if name in self.known else self.find(name)
        return None if arcs is None else follow(arcs)

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


def follow(arcs):
    """Return a function that follows one frame."""
    last, raised = ENTRY, False

    def local(frame, event, arg):  # noqa: ARG001
        nonlocal last, raised
        if event == "line":
            arcs.add((last, frame.f_lineno))
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
        traced, out, end = Traced(wanted), os.dup(1), session.end

        def tell_end(status):
            traced.stop()
            found = {}
            for path, lines in wanted.items():
                kept = frozenset(lines)
                found[path] = sorted(arc for arc in traced.arcs[path] if kept.intersection(arc))
            line = settings["mark"] + json.dumps({"arcs": found, "whole": traced.whole})
            data = ("\n" + line + "\n").encode("ascii")
            while data:
                data = data[os.write(out, data) :]
            end(status)

        session.end = tell_end
        traced.start()
        return adapter(session, files)

    return run_tracing
