"""Note which tests waited for a processor that others had: a slow machine is no property of a test.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring. Linux counts for each thread
how long it could have run and didn't (the second number of `schedstat`). What is found goes out as one marked
line of output, since nobody is judged by it.
"""

import json
import os

LEAST_NS = 20 * 10**6
"""Shorter waits change nothing that a test could measure."""


class Waits:
    """What the living threads of this process ran and waited, test by test.

    The functions it needs are bound at the start, because tests replace them.
    """

    def __init__(self, share):
        self.share = share
        self.found = []
        self.before = (0, 0)
        self._open, self._read, self._close, self._list = os.open, os.read, os.close, os.listdir

    def now(self):
        """Return (nanoseconds on a processor, nanoseconds without one though ready)."""
        ran = waited = 0
        for thread in self._list("/proc/self/task"):
            try:
                file = self._open("/proc/self/task/" + thread + "/schedstat", os.O_RDONLY)
            except OSError:  # it has just ended
                continue
            try:
                words = self._read(file, 200).split()
            finally:
                self._close(file)
            ran, waited = ran + int(words[0]), waited + int(words[1])
        return ran, waited

    def begin(self):
        """Begin to count."""
        self.before = self.now()

    def end(self, test):
        """Keep a test whose threads waited for more than the share of the time that they could have run."""
        ran, waited = (after - before for after, before in zip(self.now(), self.before))  # noqa: B905 (3.6)
        if waited >= LEAST_NS and waited >= self.share * (max(ran, 0) + waited):
            self.found.append(test)


def waiting(settings, adapter):
    """Return an adapter that notes which tests waited, where Linux tells."""

    def run_waiting(session, files):
        waits, out, begin, phase, end = (
            Waits(settings["share"]),
            os.dup(1),
            session.begin,
            session.phase,
            session.end,
        )
        write = os.write
        try:
            waits.begin()
        except (OSError, ValueError, IndexError):
            return adapter(session, files)

        def tell_begin(test):
            begin(test)
            waits.begin()

        def tell_phase(test, when, outcome, xfail=False, detail="", error=""):  # noqa: FBT002
            if when == "teardown":
                waits.end(test)
            phase(test, when, outcome, xfail, detail, error)

        def tell_end(status):
            data = ("\n" + settings["mark"] + json.dumps(waits.found) + "\n").encode("ascii")
            while data:
                data = data[write(out, data) :]
            end(status)

        session.begin, session.phase, session.end = tell_begin, tell_phase, tell_end
        return adapter(session, files)

    return run_waiting
