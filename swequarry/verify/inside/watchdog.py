"""A process beside the run that ends it when one test takes too long.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring.

A thread would be seen by tests (thread counts, the warning about forking a process with threads) and
would starve when C code holds the interpreter lock; an alarm signal belongs to the tests themselves. So it
is a process, no child of the run, in its own session. It is told on a pipe which test runs; when the time
is over it stops the run, says so on the report channel, and kills it.
"""

import json
import os
import select
import signal
import time


def start_watchdog(report_fd, limit_s):
    """Start the watchdog; return a function that tells it which test runs (None: none does)."""
    read_end, write_end = os.pipe()
    run = os.getpid()
    child = os.fork()
    if child == 0:
        _detach_and_watch(run, read_end, write_end, report_fd, limit_s)
    os.waitpid(child, 0)
    os.close(read_end)
    return _teller(write_end)


def _teller(write_end):
    write, encode = os.write, json.JSONEncoder().encode  # bound now: tests replace such functions

    def tell(test):
        try:
            write(write_end, (encode(test) + "\n").encode("ascii"))
        except OSError:  # the watchdog is gone; the limit of the whole run remains
            pass

    return tell


def _detach_and_watch(run, read_end, write_end, report_fd, limit_s):
    try:
        os.setsid()
        if os.fork() == 0:
            os.close(write_end)
            null = os.open(os.devnull, os.O_RDWR)
            for standard in (0, 1, 2):
                os.dup2(null, standard)
            _watch(run, read_end, report_fd, limit_s)
    except BaseException:
        pass
    finally:
        os._exit(0)


def _watch(run, read_end, report_fd, limit_s):
    test, deadline, pending = None, None, b""
    while True:
        wait_s = 1.0 if deadline is None else max(0.0, min(1.0, deadline - time.monotonic()))
        if select.select([read_end], [], [], wait_s)[0]:
            chunk = os.read(read_end, 65536)
            if not chunk:
                return
            *lines, pending = (pending + chunk).split(b"\n")
            if lines:
                test = json.loads(lines[-1].decode("ascii"))
                deadline = None if test is None else time.monotonic() + limit_s
        elif deadline is not None and time.monotonic() >= deadline:
            _end(run, report_fd, test)
            return
        else:
            os.kill(run, 0)  # raises when the run is gone while a child of it still holds the pipe


def _end(run, report_fd, test):
    os.kill(run, signal.SIGSTOP)
    time.sleep(0.05)
    line = json.dumps({"kind": "timeout", "id": test}, ensure_ascii=True)
    os.write(report_fd, ("\n" + line + "\n").encode("ascii"))
    os.kill(run, signal.SIGKILL)
